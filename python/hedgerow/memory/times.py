"""Times in front matter and in options (spec/memory.md, "Time"). The engine reads them (spec/dates.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Any, ClassVar, Literal, NoReturn, cast

from hedgerow._checks import shown
from hedgerow._engine import _memory_time, _moment, _parse_end, _parse_time
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow._times import aware, utc
from hedgerow.errors import InvalidInputError

_DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
"""The smallest difference of two times."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def micros_of(time: datetime) -> int:
    """Return the microseconds since 1970 of a time."""
    return (time - _EPOCH) // TICK


def local_micros(time: datetime) -> tuple[int, int]:
    """Return the microseconds since 1970 of a time, and the seconds that its zone is ahead of UTC."""
    offset = time.utcoffset()
    return micros_of(time), 0 if offset is None else offset // timedelta(seconds=1)


def _time(found: tuple[int, int] | None) -> datetime | None:
    """Return the time of microseconds since 1970 in UTC, and of the seconds its zone is ahead of UTC."""
    if found is None:
        return None
    micros, offset = found
    zone = timezone(timedelta(seconds=offset))
    # Of local time: the same moment in UTC may lie outside the calendar.
    local = _EPOCH + timedelta(microseconds=micros, seconds=offset)
    return local.replace(tzinfo=zone)


def parse_time(value: object) -> datetime | None:
    """Return the time of a date or a date-time, in UTC without a zone; None for anything else.

    A date is its midnight, a month or a year its first day. It may also be a link to the note of a day
    (spec/memory.md, "Time").
    """
    return _time(_parse_time(value))


def parse_end(value: object) -> datetime | None:
    """Return a time as an end: a date ends with its day, a month or a year with its last day.

    None for anything else.
    """
    return _time(_parse_end(value))


def memory_time(path: str, metadata: Mapping[str, Any]) -> datetime | None:
    """Return when a memory is from: by its front matter, else by the day its name begins with.

    None if neither has a time.
    """
    return _time(_memory_time(path, metadata))


def checked_end(given: date | str, name: str, now: datetime) -> datetime:
    """Return the moment that an option means, in UTC; a date means the end of its day.

    It may be a year, or words such as `yesterday`, which mean the end of that time. Raises
    InvalidInputError for a date that does not exist.
    """
    if isinstance(given, date):
        time = utc(given)
        if time is not None and not isinstance(given, datetime):
            time += _DAY - TICK
    else:
        time = _of_text(given, now, is_end=True)
    return time or _refused(given, name, "or words such as last week")


def checked_start(given: date | str, name: str, now: datetime) -> datetime:
    """Return the moment that an option means, in UTC; a date means the beginning of its day.

    It may be an age from `now`, such as `30d` or `2w`, a year, or words such as `yesterday`, which mean
    the beginning of that time. Raises InvalidInputError for anything else.
    """
    time = utc(given) if isinstance(given, date) else _of_text(given, now, is_end=False)
    return time or _refused(given, name, "words such as last week, or an age as in 30d or 2w")


def _of_text(given: str, now: datetime, *, is_end: bool) -> datetime | None:
    """Return the moment that a text means in UTC, with words in the time zone of this machine."""
    time = _time(_moment(given, local_micros(now.astimezone()), is_end))
    return None if time is None else utc(time)


def _refused(given: date | str, name: str, others: str) -> NoReturn:
    raise InvalidInputError(
        f"{name} must be a date that exists, as in 2026-04-18 or 2026-04-18T09:30Z, {others}, not "
        f"{shown(given)}",
        code="invalid_option",
    )


def checked_question_date(given: date | str, now: datetime) -> datetime:
    """Return when a question was asked, in its own time zone: UTC if none is given.

    Raises InvalidInputError as `checked_start` does.
    """
    checked_start(given, "question_date", now)
    if isinstance(given, date):
        return aware(given) or now
    return parse_time(given) or checked_start(given, "question_date", now)


# Whether a memory holds, and why not (spec/memory.md, "What holds").


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
        return cls(
            cast("Why | None", why),
            None if since is None else datetime.fromisoformat(since),
            by,
            reason,
            doubtful,
            None if stale_since is None else datetime.fromisoformat(stale_since),
        )

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
