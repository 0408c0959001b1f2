"""Times as callers have them: Unix seconds, texts, datetimes and dates.

One rule for all: a datetime without a time zone is UTC, as a text without one is, and a date is
the midnight in UTC with which it begins.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

from ._checks import shown
from ._engine import _parse_age
from .errors import InvalidInputError
from .typing import Time

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SECOND = timedelta(seconds=1)
# The range of integers in the file.
_LEAST, _MOST = -(2**63), 2**63 - 1


def aware(value: date) -> datetime | None:
    """A datetime with a time zone; None for pandas' NaT, a datetime that is no time."""
    if value != value:  # noqa: PLR0124 - as NaN
        return None
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    return value if value.utcoffset() is not None else value.replace(tzinfo=timezone.utc)


def utc(value: date) -> datetime | None:
    """Return the date in UTC; None if that lies outside the years 1 to 9999."""
    time = aware(value)
    try:
        return None if time is None else time.astimezone(timezone.utc)
    except OverflowError:
        return None


def seconds_of(value: object) -> int | None:
    """The whole Unix seconds of a datetime or a date, rounded down; None for anything else."""
    time = aware(value) if isinstance(value, date) else None
    return None if time is None else (time - _EPOCH) // _SECOND


def parse_age(value: object) -> timedelta | None:
    """Return an age in days or weeks, such as `30d` or `2w`; None for anything else."""
    days = _parse_age(value)
    return None if days is None else timedelta(days=days)


def checked_half_life(given: str) -> timedelta:
    """Return an age in which a weight halves; InvalidInputError for a text that is none, or no time."""
    found = parse_age(given)
    if not found:
        raise InvalidInputError(
            f"recency must be an age of one day or more, as in 30d or 2w, not {shown(given)}",
            code="invalid_option",
        )
    return found


def checked_time(value: Time, name: str) -> int:
    """The Unix seconds; raises InvalidInputError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        if _LEAST <= value <= _MOST:
            return value
        message = f"{name} is an int of more than 64 bits; give Unix seconds"
        raise InvalidInputError(message, code="invalid_number")
    seconds = seconds_of(value)
    if seconds is None:
        raise InvalidInputError(
            f"{name} must be an int of Unix seconds, a datetime or a date, not "
            f"{type(value).__name__}",
            code="invalid_number",
        )
    return seconds
