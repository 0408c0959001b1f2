"""Temporal expansion: dates for the phrases of a question that depend on when it was asked.

"What did I watch 2 weeks ago?" finds little, because no memory says "2 weeks ago". Given the
date of the question, `expand_temporal` writes the day it means into the question, and
`augment_query` gives the query to search with. Everything here is a pure function of its
arguments: no clock is read, and neither the time zone nor the locale of the process plays a part.

Three recognisers, English only, run in this order:

- relative time     `2 weeks ago`  ->  `2 weeks ago (around 2026/04/04)`
- last weekday      `last Friday`  ->  `last Friday (2026/04/17)`
- ordering hint     `... first`    ->  `... first [Note: look for the earliest dated event]`

Follows spec/temporal.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any

from hedgerow._dates import (
    MONTHS,
    SPACE,
    SPACES,
    WEEKDAYS,
    day_from_number,
    parse_anchor,
    shift_months,
)
from hedgerow._times import utc
from hedgerow.errors import InvalidInputError
from hedgerow.typing import QuestionDate

__all__ = [
    "TemporalExpansion",
    "augment_query",
    "date_search_tokens",
    "expand_temporal",
    "parse_question_date",
    "reader_today",
    "resolved_hint_line",
]
__dir__ = partial(sorted, __all__)


# The digits must not continue a run to their left. The leftmost match starts a run anyway, and
# without the guard a long run without a match would be tried again from each of its digits.
_RELATIVE_TIME = re.compile(
    rf"(?<!\d)(\d+){SPACE}+(day|week|month)s?{SPACE}+ago", re.ASCII | re.IGNORECASE
)
_LAST_WEEKDAY = re.compile(rf"last{SPACE}+({'|'.join(WEEKDAYS)})", re.ASCII | re.IGNORECASE)
_EARLIEST = re.compile("first|earlier|before", re.ASCII | re.IGNORECASE)
_MOST_RECENT = re.compile("most recent|latest|last time", re.ASCII | re.IGNORECASE)
_ISO_DAY = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b", re.ASCII)

_EARLIEST_NOTE = " [Note: look for the earliest dated event]"
_MOST_RECENT_NOTE = " [Note: look for the most recently dated event]"

# Years 1 to 9999 have 3,652,059 days, so an amount with more digits exceeds them in any unit.
_MOST_DIGITS = 7


@dataclass(frozen=True, slots=True)
class TemporalExpansion:
    """The temporal expansion of a question (spec/temporal.md, "Result").

    Immutable and hashable; compares by value and pickles.
    """

    #: The question as it was given.
    original_query: str
    #: The question with the dates its phrases mean, and at most one ordering note at the end.
    expanded_query: str
    #: The days named, each once, as `YYYY/MM/DD`: relative times first, then last weekdays.
    date_hints: tuple[str, ...]
    #: Whether at least one phrase was given a date; an ordering note alone does not count.
    resolved: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON: originalQuery, expandedQuery, dateHints (list), resolved."""
        return {
            "originalQuery": self.original_query,
            "expandedQuery": self.expanded_query,
            "dateHints": list(self.date_hints),
            "resolved": self.resolved,
        }


def parse_question_date(text: QuestionDate | None) -> datetime | None:
    """Return the date of a question as an aware `datetime` in UTC, or None if it has none.

    Takes a datetime, a date (its midnight), or a text: `2026-04-18` or `2026/04/18`, optionally with
    a weekday in parentheses (ignored) and a time, `2026-04-18 (Sat) 10:30`; ISO 8601; RFC 2822; and
    English dates such as `April 18, 2026`. Without an offset it is in UTC. None, blank text, any
    other form and anything outside the years 1 to 9999 give None.

    Raises InvalidInputError for anything but a str, a date or None. See spec/temporal.md, "Anchor forms".
    """
    return _read_date(text)


def expand_temporal(question: str, question_date: QuestionDate | None) -> TemporalExpansion:
    """Insert into `question` the dates its phrases mean on `question_date`.

    Takes the question and its date as `parse_question_date` reads it. Without a readable date
    the question is returned as it is. A phrase whose date would lie outside the years 1 to 9999
    is left as it is, and gives no hint.

    Raises InvalidInputError for anything but text. See spec/temporal.md, "Recognisers".
    """
    if not isinstance(question, str):
        raise InvalidInputError(
            f"a question must be a str, not {type(question).__name__}", code="invalid_option"
        )
    anchor = _read_date(question_date)
    if anchor is None:
        return TemporalExpansion(question, question, (), resolved=False)

    today = anchor.date()
    days: list[date] = []
    dated = _with_dates(
        question, _RELATIVE_TIME, "around ", lambda found: _ago(today, found[1], found[2]), days
    )
    dated = _with_dates(
        dated, _LAST_WEEKDAY, "", lambda found: _last_weekday(today, found[1]), days
    )
    hints = tuple(dict.fromkeys(_slashed(day) for day in days))
    return TemporalExpansion(question, dated + _ordering_note(question), hints, bool(hints))


def augment_query(question: str, question_date: QuestionDate | None) -> str:
    """Return the query to search with: `question`, then each date as `2026/04/04 2026-04-04`.

    With both spellings, texts in either format are found. A question without dates is returned
    unchanged, without an ordering note.

    Raises InvalidInputError for anything but text. See spec/temporal.md, "Augmented query".
    """
    hints = expand_temporal(question, question_date).date_hints
    return " ".join([question, *(f"{hint} {hint.replace('/', '-')}" for hint in hints)])


def resolved_hint_line(question: str, date: QuestionDate | None) -> str | None:
    """Return a line that lists the dates in `question`, for a reader (a person or a model).

    The line is `[Resolved temporal references: 2026/04/04, 2026/04/17]`. None if no date was found.

    Raises InvalidInputError for anything but text. See spec/temporal.md, "For readers".
    """
    hints = expand_temporal(question, date).date_hints
    return f"[Resolved temporal references: {', '.join(hints)}]" if hints else None


def reader_today(date: QuestionDate | None) -> str:
    """Return the question date as a reader should see it: `2026-04-18 (Saturday)`.

    Text without a valid date is returned trimmed. None and blank text give `unknown`.

    Raises InvalidInputError for anything but a str or None. See spec/temporal.md, "For readers".
    """
    anchor = _read_date(date)
    if anchor is None:
        return date.strip(SPACES) or "unknown" if isinstance(date, str) else "unknown"
    return f"{anchor.date().isoformat()} ({WEEKDAYS[anchor.weekday()]})"


def date_search_tokens(text: QuestionDate | None) -> list[str]:
    """Return the words by which a document may mention the day in `text`.

    `["2026-04-18", "2026/04/18", "2026", "Saturday", "April"]`: the day in two spellings, the
    year without leading zeros, the weekday and the month. Text that is no date but has a day
    `YYYY-MM-DD` somewhere gives the first three, as they stand there; other text gives [].

    Raises InvalidInputError for anything but a str or None. See spec/temporal.md, "Search tokens".
    """
    anchor = _read_date(text)
    if anchor is not None:
        day = anchor.date()
        month, weekday = MONTHS[day.month - 1], WEEKDAYS[day.weekday()]
        return [day.isoformat(), _slashed(day), str(day.year), weekday, month]
    if isinstance(text, str) and (found := _ISO_DAY.search(text)):
        return [found[0], found[0].replace("-", "/"), found[1]]
    return []


def _read_date(value: QuestionDate | None) -> datetime | None:
    """Read a question date. The InvalidInputError names the given type."""
    if value is None:
        return None
    if isinstance(value, date):
        return utc(value)
    if not isinstance(value, str):
        raise InvalidInputError(
            f"a question date must be a str, a datetime, a date or None, not {type(value).__name__}",
            code="invalid_option",
        )
    return parse_anchor(value)


def _with_dates(
    text: str,
    phrases: re.Pattern[str],
    label: str,
    day_meant: Callable[[re.Match[str]], date | None],
    days: list[date],
) -> str:
    """Insert ` (<label><day>)` after each of the `phrases` that means a day, and add the day."""

    def with_date(found: re.Match[str]) -> str:
        day = day_meant(found)
        if day is None:
            return found[0]
        days.append(day)
        return f"{found[0]} ({label}{_slashed(day)})"

    return phrases.sub(with_date, text)


def _ago(today: date, amount: str, unit: str) -> date | None:
    """Return the day `amount` units before `today`. None before year 1."""
    amount = amount.lstrip("0")
    if len(amount) > _MOST_DIGITS:
        return None
    count, unit = int(amount or 0), unit.lower()
    if unit == "month":
        return day_from_number(shift_months(today, -count))
    return day_from_number(today.toordinal() - count * (7 if unit == "week" else 1))


def _last_weekday(today: date, name: str) -> date | None:
    """Return the last day with that name, 1 to 7 days before `today`. None before year 1."""
    back = (today.weekday() - WEEKDAYS.index(name.title())) % 7 or 7
    return day_from_number(today.toordinal() - back)


def _ordering_note(question: str) -> str:
    """Return the note for the question's ordering words. The earliest wins over the latest."""
    if _EARLIEST.search(question):
        return _EARLIEST_NOTE
    return _MOST_RECENT_NOTE if _MOST_RECENT.search(question) else ""


def _slashed(day: date) -> str:
    return day.isoformat().replace("-", "/")
