"""Dates in ISO 8601 as instants, to the nanosecond (spec/filters.md, "Dates")."""

from __future__ import annotations

import re
from datetime import date

_DATE = re.compile(
    r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?"
    r"(?:[Zz]|([+-])(\d{2})(?::?(\d{2})|:(\d{2}):(\d{2}))?)?)?)?)?",
    re.ASCII,
)
_EPOCH = date(1970, 1, 1).toordinal()
_HOUR, _MINUTE = 3600, 60


def instant(text: str) -> tuple[int, int] | None:
    """Seconds since 1970 in UTC and nanoseconds; None for anything that is not a date.

    Parts that are missing are the first ones, and without an offset a time is UTC.
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction = found.groups()[:7]
    try:
        days = date(int(year), int(month or 1), int(day or 1)).toordinal() - _EPOCH
    except ValueError:
        return None
    ahead = _ahead(found)
    if int(hour or 0) >= 24 or int(minute or 0) >= 60 or int(second or 0) >= 60 or ahead is None:  # noqa: PLR2004 - of a day
        return None
    time = int(hour or 0) * _HOUR + int(minute or 0) * _MINUTE + int(second or 0)
    return days * 24 * _HOUR + time - ahead, int((fraction or "0")[:9].ljust(9, "0"))


def _ahead(found: re.Match[str]) -> int | None:
    """Return the seconds by which local time is ahead of UTC; None without a clock time."""
    sign, hours, short, minutes, seconds = found.groups()[7:]
    hours, minutes, seconds = int(hours or 0), int(short or minutes or 0), int(seconds or 0)
    if hours >= 24 or minutes >= 60 or seconds >= 60:  # noqa: PLR2004 - of a day
        return None
    ahead = hours * _HOUR + minutes * _MINUTE + seconds
    return -ahead if sign == "-" else ahead
