"""What the caller decides for a root, whatever the root's own configuration says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hedgerow._checks import shown

if TYPE_CHECKING:
    from hedgerow.embedders import AnyEmbedder

    from .trust_requests import TrustRequest

_logger = logging.getLogger("hedgerow.memory")


@dataclass(frozen=True, slots=True)
class Choices:
    """The arguments of `MemoryRoot.open` that take precedence over the configuration.

    `trust` allows everything that the configuration asks for (True) or nothing (False); with None
    it is what the user allowed. `embedder` replaces the configured one. `notify` is called with
    each notice; `told` has the requests whose notice was given.
    """

    trust: bool | None = None
    embedder: AnyEmbedder | str | None = None
    notify: Callable[[str], object] | None = None
    told: set[TrustRequest] = field(default_factory=set, compare=False)

    def __post_init__(self) -> None:
        # A word such as "no" is true.
        if self.trust not in (None, True, False):
            raise TypeError(f"trust must be True, False or None, not {shown(self.trust)}")

    def refused(self, asked: Iterable[TrustRequest]) -> tuple[TrustRequest, ...]:
        """Return those of the requests of a root that are not allowed."""
        requests = tuple(asked)
        if self.trust is not None:
            return () if self.trust else requests
        if not requests:
            return ()
        from .consents import without_consent  # noqa: PLC0415 - for some roots only

        return without_consent(requests)

    def tell(self, refused: Iterable[TrustRequest]) -> None:
        """Report each request that is not allowed, once; without `notify` it is logged."""
        for request in refused:
            if request not in self.told:
                self.told.add(request)
                (self.notify or _logger.warning)(request.notice)

    @property
    def embedder_name(self) -> str | None:
        """The name of the caller's embedder in reports; None without one."""
        if self.embedder is None or isinstance(self.embedder, str):
            return self.embedder
        return str(getattr(self.embedder, "name", None) or type(self.embedder).__name__)
