"""Periods that a question names, such as "last week" (spec/memory.md, "Recall")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)
_PERIOD = re.compile(
    rf"""\b(?:
        (?P<day>today|yesterday)
      | (?P<which>this|last|previous)\s(?P<unit>week|month|year)
      | last\s(?P<weekday>{"|".join(_DAYS)})
      | (?:in\s|over\s)?(?:the\s)?(?:last|past)\s(?P<past>[1-9]\d{{0,3}})\s(?P<pastunit>day|week|month)s?
      | (?P<ago>[1-9]\d{{0,3}})\s(?P<agounit>day|week|month)s?\sago
      | (?:in|during)\s(?P<month>{"|".join(_MONTHS)})(?:\s(?P<monthyear>\d{{4}}))?
      | (?:in|during)\s(?P<year>\d{{4}})
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST = 4000
"""The most characters of a question in which a period is looked for."""


@dataclass(frozen=True, slots=True)
class Period:
    """A period that a question names: its words, its beginning, and the first time after it.

    `found` says whether any memory in it was found; if not, the recall was made without it.
    """

    phrase: str
    after: datetime
    before: datetime
    found: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        return {
            "phrase": self.phrase,
            "after": self.after.isoformat(),
            "before": self.before.isoformat(),
            "found": self.found,
        }

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any]) -> Period:
        """Return the period of such a JSON."""
        after, before = (datetime.fromisoformat(keys[name]) for name in ("after", "before"))
        return cls(keys["phrase"], after, before, keys["found"])

    def __str__(self) -> str:
        last = self.before - _TICK
        days = f"{self.after:%Y-%m-%d}"
        if last.date() != self.after.date():
            days += f" to {last:%Y-%m-%d}"
        return f"{self.phrase} ({days})"


def period_in(query: str, asked: datetime) -> Period | None:
    """Return the first period that a question names, by the day on which it was asked, in UTC.

    Weeks begin on Monday. None where it names none, or one outside the calendar.
    """
    found = _PERIOD.search(" ".join(query[:_LONGEST].split()))
    if found is None:
        return None
    today = asked.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        return Period(found[0], *_days(found, today))
    except (OverflowError, ValueError):
        return None


def _days(  # noqa: PLR0911 - one for each kind of phrase
    found: re.Match[str], today: datetime
) -> tuple[datetime, datetime]:
    named = {name: value.lower() for name, value in found.groupdict().items() if value}
    match named:
        case {"day": day}:
            start = today if day == "today" else today - _DAY
            return start, start + _DAY
        case {"which": which, "unit": unit}:
            return _unit(today, unit, 0 if which == "this" else 1)
        case {"weekday": weekday}:
            back = (today.weekday() - _DAYS.index(weekday) - 1) % 7 + 1
            return today - back * _DAY, today - (back - 1) * _DAY
        case {"past": number, "pastunit": unit}:
            return _back(today, unit, int(number)) + _DAY, today + _DAY
        case {"ago": number, "agounit": "day"}:
            start = today - int(number) * _DAY
            return start, start + _DAY
        case {"ago": number, "agounit": unit}:
            return _unit(today, unit, int(number))
        case {"month": name}:
            month = _MONTHS.index(name) + 1
            year = int(named.get("monthyear", today.year - (month > today.month)))
            start = today.replace(year=year, month=month, day=1)
            return start, _months(start, 1)
    start = today.replace(year=int(named["year"]), month=1, day=1)
    return start, _months(start, 12)


def _unit(today: datetime, unit: str, back: int) -> tuple[datetime, datetime]:
    """Return the week, month or year so many before that of today."""
    if unit == "week":
        start = today - (today.weekday() + 7 * back) * _DAY
        return start, start + 7 * _DAY
    months = 12 if unit == "year" else 1
    first = today.replace(day=1, month=1 if unit == "year" else today.month)
    start = _months(first, -months * back)
    return start, _months(start, months)


def _back(today: datetime, unit: str, number: int) -> datetime:
    if unit == "month":
        first = _months(today.replace(day=1), -number)
        return min(first + (today.day - 1) * _DAY, _months(first, 1) - _DAY)
    return today - number * (7 if unit == "week" else 1) * _DAY


def _months(first: datetime, months: int) -> datetime:
    """Return the first of a month so many months from that of another first."""
    years, month = divmod(first.month - 1 + months, 12)
    return first.replace(year=first.year + years, month=month + 1)
