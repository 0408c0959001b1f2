"""Temporal expansion: dates for the phrases of a question that depend on when it was asked.

"What did I watch 2 weeks ago?" finds little, because no memory says "2 weeks ago". Given the
date of the question, `expand_temporal` writes the day it means into the question, and
`augment_query` gives the query to search with. Everything here is a pure function of its
arguments: no clock is read, and neither the time zone nor the locale of the process plays a part.

Three recognisers, English only, run in this order:

- relative time     `2 weeks ago`  ->  `2 weeks ago (around 2026/04/04)`
- last weekday      `last Friday`  ->  `last Friday (2026/04/17)`
- ordering hint     `... first`    ->  `... first [Note: look for the earliest dated event]`

A question date is read from the forms callers write to one UTC instant.

The text is matched against a few closed grammars, tried in order, without guessing and without
a locale. The meaning of every form is that of an ECMAScript `Date` whose local time zone is UTC,
so callers in JavaScript and in Python get the same day: white space is the ECMAScript set,
fields that overflow move on to the next month or day, digits and letters are ASCII.

1. Anchor    2026-04-18, 2026/04/18 (Sat), 2026-04-18 (Sat) 10:30:45
             No field has a limit: all roll over. Years 0 to 99 mean 1900 to 1999.
2. ISO 8601  2026, 2026-04, 2026-04-18T10:30:45.123+02:00
             Fields have limits, except that a day up to 31 may roll over. Years are literal.
3. Prose     2026-04-18 10:30 UTC; Sat, 18 Apr 2026 10:30:45 +0200; April 18, 2026 10:30 PM;
             Sat Apr 18 10:30:45 2026
             Limits as in ISO 8601. Two-digit years mean 1950 to 2049.

Deliberately not read: a date without a year or, with a month's name, without a day; 4/18/2026 and
18.4.2026 (which is the month?); ordinals such as 18th; week dates; epoch numbers; zone names other
than those of RFC 2822.

Follows spec/temporal.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import cache, partial
from typing import Any

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

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""ECMAScript white space: what its `\\s` matches and its `trim` removes. Unlike Python's own set it
has U+FEFF, and has neither U+0085 nor U+001C to U+001F.
"""
SPACE = f"[{SPACES}]"
"""`SPACES` as a regular expression. Our patterns are compiled with `re.ASCII`, which makes `\\d`,
`\\b` and the letter case ASCII as in ECMAScript, and would make `\\s` too narrow.
"""

_LAST_DAY = date.max.toordinal()
_DAYS_IN_400_YEARS = 146_097


# ---------------------------------------------------------------------------- arithmetic


def day_number(year: int, month: int, day: int) -> int:
    """The day as an ordinal, 1 being 0001-01-01, where any month and day roll over.

    Month 13 is January of the next year, day 0 the last day of the month before. The calendar
    is the proleptic Gregorian one; the year may be any integer, so the result may lie outside
    the years `datetime` can hold.
    """
    carry, month_index = divmod(month - 1, 12)
    # `date` has no year 0: look the month up in the same year of the cycle that it does have.
    cycle, year_of_cycle = divmod(year + carry, 400)
    first = date(400 + year_of_cycle, month_index + 1, 1).toordinal()
    return first + (cycle - 1) * _DAYS_IN_400_YEARS + day - 1


def day_from_number(number: int) -> date | None:
    """The day with that ordinal; None outside years 1 to 9999."""
    return date.fromordinal(number) if 1 <= number <= _LAST_DAY else None


def shift_months(start: date, months: int) -> int:
    """The ordinal of `start` moved by `months`; a day the new month lacks rolls forward."""
    return day_number(start.year, start.month + months, start.day)


def _instant(days: int, milliseconds: int) -> datetime | None:
    """The instant `milliseconds` into day `days`; None outside years 1 to 9999."""
    whole, rest = divmod(milliseconds, 86_400_000)
    day = day_from_number(days + whole)
    if day is None:
        return None
    midnight = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
    return midnight + timedelta(milliseconds=rest)


def _clock(hour: int, minute: int, second: int = 0, millisecond: int = 0) -> int:
    return ((hour * 60 + minute) * 60 + second) * 1000 + millisecond


# ---------------------------------------------------------------------------- grammars


@cache
def _grammar(pattern: str) -> re.Pattern[str]:
    r"""Compile one form; in it white space and `#` mean nothing and `\s` is `SPACE`.

    Done when a form is first tried: all at once they would be a quarter of the time of an import.
    """
    return re.compile(pattern.replace(r"\s", SPACE), re.ASCII | re.IGNORECASE | re.VERBOSE)


# The date ends where the text does, at white space, or at a parenthesis, unlike in 2026-04-1810:30.
_ANCHOR = r"""(?P<year>\d{4}) [-/] (?P<month>\d{2}) [-/] (?P<day>\d{2})
        (?: \s*\([^()]*\) | (?=\s) | \Z )
        (?: \s*(?P<hour>\d{2}) : (?P<minute>\d{2}) (?: :(?P<second>\d{2}) )? )?"""

_ISO = r"""(?!-000000) (?P<year>\d{4}|[+-]\d{6}) (?: -(?P<month>\d{2}) (?: -(?P<day>\d{2}) )? )?
        (?: T (?P<hour>\d{2}) : (?P<minute>\d{2})
            (?: :(?P<second>\d{2}) (?: \.(?P<fraction>\d+) )? )?
            (?: Z | (?P<sign>[+-])(?P<zone_hour>\d{2}):?(?P<zone_minute>\d{2}) )?
        )?"""


def _any_of(names: tuple[str, ...]) -> str:
    """Any of the names, whole or cut to three letters."""
    return "|".join(f"{name[:3]}(?:{name[3:]})?" for name in names)


_TIME = r"""(?P<hour>\d{1,2}) : (?P<minute>\d{2})
            (?: :(?P<second>\d{2}) (?: \.(?P<fraction>\d+) )? )?
            (?: \s+(?P<half>[ap])m\b )?"""
_OFFSET = r"(?P<sign>[+-])(?P<zone_hour>\d{2}):?(?P<zone_minute>\d{2})"
_ZONE = rf"(?: \s*Z | \s+(?P<us_zone>[ECMP][SD]T) | (?:\s+(?:UTC?|GMT))? (?:\s*{_OFFSET})? )"
# Text in parentheses is a comment, as in `Date.prototype.toString`: GMT+0200 (CEST).
_TIME_AND_ZONE = rf"(?: (?:,\s*|\s+) {_TIME} {_ZONE} )? (?: \s+\([^()]*\) )?"

_WEEKDAY = rf"(?: (?:{_any_of(WEEKDAYS)}) (?:,\s*|\s+) )?"
_MONTH = rf"(?P<month>{_any_of(MONTHS)}|Sept)(?:\.(?!-))?"
_DAY = r"(?P<day>\d{1,2})"
_YEAR = r"(?P<year>\d{4}|\d{2})"

_PROSE = (
    # 2026-04-18 10:30:45.123 +0200; years before 100 would be taken for a day or a month.
    r"(?P<year>[1-9]\d{3}|0[1-9]\d{2}) [-/] (?P<month>\d{2}) [-/] (?P<day>\d{2})" + _TIME_AND_ZONE,
    # Sat, 18 Apr 2026 10:30:45 GMT; 18-Apr-26
    rf"{_WEEKDAY} {_DAY} (?:\s+|-) {_MONTH} (?:,\s*|\s+|-) {_YEAR} {_TIME_AND_ZONE}",
    # April 18, 2026 10:30 PM; Sat Apr 18 2026 10:30:45 GMT+0200 (CEST)
    rf"{_WEEKDAY} {_MONTH} (?:\s+|-) {_DAY} (?:,\s*|\s+|-) {_YEAR} {_TIME_AND_ZONE}",
    # Sat Apr 18 10:30:45 2026; Sat Apr 18 10:30:45 UTC 2026
    rf"{_WEEKDAY} {_MONTH} \s+ {_DAY} \s+ {_TIME} {_ZONE} \s+ {_YEAR}",
)

_US_ZONES = {"e": -5, "c": -6, "m": -7, "p": -8}


# ---------------------------------------------------------------------------- reading


def parse_anchor(text: str, *, local: bool = False) -> datetime | None:
    """The instant a question date names, aware and in UTC; None when it names none.

    A form without a time means midnight, one without an offset UTC. Fractions of a second are
    cut to milliseconds. An instant outside the years 1 to 9999 counts as unreadable. With `local` the
    offset is ignored, so that the result has the day of the zone in which the date is written.
    """
    text = text.strip(SPACES)
    if found := _grammar(_ANCHOR).fullmatch(text):
        return _rolled_over(found.groupdict())
    if found := _grammar(_ISO).fullmatch(text):
        return _checked(int(found["year"]), found.groupdict(), local=local)
    for form in _PROSE:
        if found := _grammar(form).fullmatch(text):
            return _checked(_full_year(int(found["year"])), found.groupdict(), local=local)
    return None


def _rolled_over(fields: Mapping[str, str | None]) -> datetime | None:
    """Read the anchor form, in which 2026-02-30 99:00 is as good as 2026-03-06 03:00."""
    year, month, day = (int(fields[name] or 0) for name in ("year", "month", "day"))
    if year < 100:
        year += 1900
    time = _clock(*(int(fields[name] or 0) for name in ("hour", "minute", "second")))
    return _instant(day_number(year, month, day), time)


def _checked(year: int, fields: Mapping[str, str | None], *, local: bool) -> datetime | None:
    """Read a form whose fields have limits; only a day up to 31 may exceed its month."""
    month, day = _month_number(fields["month"] or "01"), int(fields["day"] or 1)
    time, offset = _time_of_day(fields), _utc_offset(fields)
    if not (1 <= month <= 12 and 1 <= day <= 31) or time is None or offset is None:
        return None
    return _instant(day_number(year, month, day), time if local else time - offset)


def _full_year(year: int) -> int:
    """The year of two digits: 00 to 49 are 2000 to 2049, 50 to 99 are 1950 to 1999."""
    return year + (2000 if year < 50 else 1900) if year < 100 else year


def _month_number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    prefix = text[:3].title()
    return next(number for number, name in enumerate(MONTHS, 1) if name.startswith(prefix))


def _time_of_day(fields: Mapping[str, str | None]) -> int | None:
    """Milliseconds since midnight; None for a time no clock shows. 24:00 is the day's end."""
    hour, minute, second = (int(fields[name] or 0) for name in ("hour", "minute", "second"))
    if half := fields.get("half"):
        if hour > 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    time = _clock(hour, minute, second, int(f"{fields['fraction'] or ''}000"[:3]))
    if minute > 59 or second > 59 or time > _clock(24, 0):
        return None
    return time


def _utc_offset(fields: Mapping[str, str | None]) -> int | None:
    """Milliseconds that local time is ahead of UTC, 0 without an offset; None past 23:59."""
    if name := fields.get("us_zone"):
        summer = name[1] in "dD"
        return _clock(_US_ZONES[name[0].lower()] + summer, 0)
    hours, minutes = (int(fields[name] or 0) for name in ("zone_hour", "zone_minute"))
    if hours > 23 or minutes > 59:
        return None
    return _clock(hours, minutes) * (-1 if fields["sign"] == "-" else 1)


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


def question_day(value: QuestionDate) -> date | None:
    """Return the day of a question date in the time zone in which it is written; None if it cannot be read."""
    if _read_date(value) is None:
        return None
    return parse_anchor(value, local=True) if isinstance(value, str) else value


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
