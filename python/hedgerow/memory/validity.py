"""Whether a memory holds, and why not (spec/memory.md, "What holds")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, ClassVar, Literal, cast

from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result

REASONS: Mapping[str, str] = {
    "retracted": "retracted",
    "superseded": "superseded",
    "expired": "no longer valid",
    "not_yet_valid": "not valid yet",
}
"""Why a memory does not hold, each in words for people; the first that applies counts."""

FILTERED = "filtered"
LEFT_OUT: Mapping[str, str] = {
    **REASONS,
    FILTERED: "filtered out by type, tag or date",
}
"""Why a file that was found is no result, each in words for people."""

Why = Literal["retracted", "superseded", "expired", "not_yet_valid"]


@dataclass(frozen=True, slots=True)
class Validity(Result):
    """Whether a memory holds at a time (spec/memory.md, "What holds").

    `why` it does not is retracted, superseded, expired or not_yet_valid; None if it holds. `since`
    is when that began, if it is known, `by` are the memories that supersede it, and `reason` is why
    it was retracted. `doubtful` are the memories it is derived from, through any number of steps,
    that no longer hold. `stale_since` is when it should have been reviewed, if that is past.
    """

    why: Why | None = None
    since: datetime | None = None
    by: Annotated[tuple[str, ...], Field(omit_default=True)] = ()
    reason: str | None = None
    doubtful: Annotated[tuple[str, ...], Field(omit_default=True)] = ()
    stale_since: datetime | None = None

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"holds": "holds"}

    def seen(self, is_visible: Callable[[str], bool]) -> Validity:
        """Return the validity without the names of memories that are not visible."""
        by, doubtful = filter(is_visible, self.by), filter(is_visible, self.doubtful)
        return replace(self, by=tuple(by), doubtful=tuple(doubtful))

    @property
    def holds(self) -> bool:
        """Whether the memory holds."""
        return self.why is None

    @classmethod
    def of_texts(  # noqa: PLR0913, PLR0917 - each field
        cls,
        why: str | None,
        since: str | None,
        by: tuple[str, ...],
        reason: str | None,
        doubtful: tuple[str, ...],
        stale_since: str | None,
    ) -> Validity:
        """Return the validity of fields whose times are ISO texts."""
        return cls(cast("Why | None", why), _time(since), by, reason, doubtful, _time(stale_since))

    def __str__(self) -> str:
        """Return the validity in words; empty for a memory that holds without doubt."""
        parts = [] if self.why is None else [self._why()]
        if self.doubtful:
            parts.append(f"in doubt: derived from {_listed(self.doubtful)}")
        if self.stale_since is not None:
            parts.append(f"review due since {self.stale_since:%Y-%m-%d}")
        return "; ".join(parts)

    def _why(self) -> str:
        by = f" by {_listed(self.by)}" if self.by else ""
        since = "" if self.since is None else f" since {self.since:%Y-%m-%d}"
        if self.why == "not_yet_valid":
            since = since.replace("since", "until")
        reason = "" if self.reason is None else f": {self.reason}"
        return f"{REASONS[self.why or '']}{by}{since}{reason}"


HOLDS = Validity()
"""The validity of a memory without marks that count."""

_SHOWN = 3


def _listed(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
