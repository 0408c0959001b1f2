"""What the caller decides for a root, whatever the root's own configuration says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hedgerow._checks import shown

if TYPE_CHECKING:
    from hedgerow.embedders import AnyEmbedder

    from .requests import Request

_logger = logging.getLogger("hedgerow.memory")


@dataclass(frozen=True, slots=True)
class Choices:
    """The arguments of `MemoryRoot.open` that stand above the configuration.

    `trust` allows what the configuration asks for (True), or nothing of it (False); None leaves
    it to what the user allowed. `embedder` replaces that of the configuration. `notify` is called
    with each notice.
    """

    trust: bool | None = None
    embedder: AnyEmbedder | str | None = None
    notify: Callable[[str], object] | None = None
    told: set[Request] = field(default_factory=set, compare=False)

    def __post_init__(self) -> None:
        # A word such as "no" is true.
        if self.trust not in (None, True, False):
            raise TypeError(f"trust must be True, False or None, not {shown(self.trust)}")

    def refused(self, asked: Iterable[Request]) -> tuple[Request, ...]:
        """Return those of the requests of a root that are not allowed."""
        requests = tuple(asked)
        if self.trust is not None:
            return () if self.trust else requests
        if not requests:
            return ()
        from .consents import without_consent  # noqa: PLC0415 - for some roots only

        return without_consent(requests)

    def tell(self, refused: Iterable[Request]) -> None:
        """Tell of what is not allowed, once; without `notify` it is logged."""
        for request in refused:
            if request not in self.told:
                self.told.add(request)
                (self.notify or _logger.warning)(request.notice)

    @property
    def embedder_name(self) -> str | None:
        """How reports call the embedder of the caller; None where there is none."""
        if self.embedder is None or isinstance(self.embedder, str):
            return self.embedder
        return str(getattr(self.embedder, "name", None) or type(self.embedder).__name__)
