"""Times in front matter, in options and in questions (spec/memory.md, "Time", "Periods").

A period narrows a recall only if the question means the time at which memories were written. A
question with an expression that this module does not understand is searched as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Any, ClassVar, Literal, NoReturn, cast

from hedgerow._checks import shown
from hedgerow._engine import _memory_time, _parse_end, _parse_time
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow._times import aware, parse_age, utc
from hedgerow.errors import InvalidInputError
from hedgerow.temporal import MONTHS, WEEKDAYS

_MONTHS = tuple(map(str.lower, MONTHS))
_DAYS = tuple(map(str.lower, WEEKDAYS))
_NUMBERS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip
_DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
"""The smallest difference of two times."""

_COUNT = rf"[1-9]\d{{0,3}}|{'|'.join(_NUMBERS)}"
_WRITTEN = "written|noted|recorded|remembered|saved|added|dated"

_PERIOD = re.compile(
    rf"""(?<![\d][.,])(?<!-)\b(?=[^\W\d]{{2}}|(?:a|\d{{1,4}})\s[dwmy])(?:
        (?P<day>(?:the\s)?day\sbefore\syesterday|today|yesterday)
      | the\s(?P<unitbefore>week|month|year)\sbefore\slast(?!\s(?:week|month|year))
      | (?:(?:in|over|within|during|for)\s)?the\spast\s(?P<rolling>week|month|year)
      | (?:in|over|within|during|for)\sthe\slast\s(?P<lately>week|month|year)
      | (?P<which>this|last|previous)\s(?P<unit>week|month|year)
      | last\s(?P<weekday>{"|".join(_DAYS)})
      | (?:in\s|over\s|within\s)?(?:the\s)?(?:last|past)\s(?P<past>{_COUNT})\s(?P<pastunit>day|week|month|year)s?
      | (?P<ago>{_COUNT}|an?)\s(?P<agounit>day|week|month|year)s?\sago
      | (?:from|(?:{_WRITTEN})\s(?:in|during))\s(?P<month>{"|".join(_MONTHS)})(?:\s(?P<monthyear>\d{{4}}))?
      | (?:from|(?:{_WRITTEN})\s(?:in|during))\s(?P<year>(?:19|20)\d\d)
      | (?:in|during)\s(?P<pastmonth>{"|".join(_MONTHS)})\s(?P<pastyear>(?:19|20)\d\d)
    )\b(?!['\u2019]s\b)""",
    re.IGNORECASE | re.VERBOSE,
)

_PREPOSITION = re.compile(
    rf"\A(?:(?:{_WRITTEN})\s)?(?:from|in|during|over|within|for)\s", re.IGNORECASE
)

_TIME = re.compile(
    rf"""\b(?=\w\w|\d[./])(?:
        tomorrow | tonight | yesterday | today | ago
      | {"|".join(_DAYS)} | {"|".join(f"{day}s" for day in _DAYS)}
      | {"|".join(month for month in _MONTHS if month not in {"march", "may"})}
      | (?:in|of|since|from|to|last|next|this|and|or)\s(?:march|may)
      | (?:day|week|weekend|month|quarter|year|decade|century|spring|summer|autumn|winter|night)\s
        (?:of|before|after|from|to)
      | (?:this|last|next|previous|coming|past|following|each|every|first|second|third|half)\s
        (?:\w+\s)?(?:day|week|weekend|month|quarter|half|year|decade|century|spring|summer|autumn
        |winter|night|evening|morning)s?
      | (?:days|weeks|months|years|hours|minutes|fortnights?)
      | (?:19|20)\d\d(?:[-/.]\d\d?){{0,2}} | \d\d?[./]\d\d?[./]\d{{2,4}}
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""What else in a question is about time."""

_BOUND = re.compile(
    r"""\b(?:not|no|nor|never|neither|cannot|without|except|excepting|excluding|exclude|excluded|besides
      |unless|before|after|since|until|till|prior|earlier|older|newer|than|onwards?|between|beyond
      |outside|other\sthan|up\sto|apart\sfrom|aside\sfrom|instead|unlike|compared|but|ignor(?:e|ing)
      |skip(?:ping)?|minus)\b
      |n['\u2019]t\b|\b(?:is|are|was|were|do|does|did|has|have|had|would|could|should|ca|wo)nt\b
      |\b(?:by|through|to|or|over|like|starting|as\s(?:of|in)|(?:early|late|same)\sas)\s\0
      |\b(?:this|that)\stime\s\0|\bsame\s\w+\s\0|\b(?:pre|post)[\s-]\0|[!@\#/~\u2013\u2014]\s?\0
      |\b(?:early|late|end|start|beginning|middle|mid|half|part|rest)(?:\s(?:of|in))?(?:\sthe)?[\s-]\0""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words with which a period says something else than "in it"; NUL is the period."""

_ABOUT = re.compile(
    r"""\b(?:about|around|circa|roughly|approximately|almost|nearly|under|least|most|some)\s\0""",
    re.IGNORECASE,
)
"""Words with which "a year ago" is not that year."""

_PAST = re.compile(r"\b(?:did|was|were|had|happened|done)\b", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:will|shall|due|upcoming|going\sto|deadlines?|expires?)\b|['\u2019]ll\b", re.IGNORECASE
)
"""Words by which a question is about what lies ahead, not about when memories were written."""

_NOW = re.compile(
    r"""\b(?:do|does|is|are|am|can|could|should|must|may|might|need|needs|have\sto|has\sto
      |plan|plans|planned|ends?|begins?|starts?)\b
      |\b(?:what|who|where|when|how|that|there|here|it|he|she)['\u2019]s\b|['\u2019]re\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words by which "today" or "this week" is about what happens then."""

_QUOTED = re.compile(
    r"""["“”„«»][^"“”„«»]*(?:["“”„«»]|\Z) | `[^`]*` | 「[^」]*」 | 『[^』]*』 | (?<!\w)['\u2018][^'\u2018\u2019]*['\u2019](?!\w)""",
    re.VERBOSE,
)
_LONGEST = 4000
"""The most characters of a question in which a period is looked for."""


@dataclass(frozen=True, slots=True)
class Period(Result):
    """A period that a question names: its words, its beginning, and the first time after it.

    `found` says whether any memory in it was found; if not, the recall was made without it. `rest`
    is the question without the words of the period. `is_listed` says whether the memories in it are
    listed, because no memory has the other words.
    """

    phrase: str
    after: datetime
    before: datetime
    found: bool = True
    is_listed: Annotated[bool, Field(local=True)] = field(default=False, compare=False, repr=False)
    rest: Annotated[str, Field(local=True)] = field(default="", compare=False, repr=False)

    @property
    def notice(self) -> str:
        """The effect of the period on the results, and how to search without it."""
        if not self.found:
            return f"Nothing that was found is from {self}. Memories of any time are shown."
        when = _PREPOSITION.sub("", str(self))
        shown = f"Only memories from {when}."
        if self.is_listed:
            why = ": no memory has the other words" if self.rest else ""
            shown = f"The memories from {when}, newest first{why}."
        return f'{shown} To search memories of any time, put the words in quotes: "{self.phrase}".'

    def __str__(self) -> str:
        last = self.before - TICK
        days = f"{self.after:%Y-%m-%d}"
        if last.date() != self.after.date():
            days += f" to {last:%Y-%m-%d}"
        return f"{self.phrase} ({days})"


def period_in(query: str, asked: datetime) -> Period | None:
    """Return the period in which the memories that a question asks for were written.

    Days are those of the time zone of `asked`, weeks begin on Monday. None unless the question names
    one period, outside quotes, and says nothing else about time; also None for a period outside the
    calendar.
    """
    text = " ".join(query.replace("\0", " ").split())
    plain = _QUOTED.sub(lambda quoted: "\1" * len(quoted[0]), text[:_LONGEST])
    periods = list(_PERIOD.finditer(plain))
    if len(periods) != 1:
        return None
    found = periods[0]
    around = f"{plain[: found.start()]}\0{plain[found.end() :]}"
    is_near = found["ago"] and _ABOUT.search(around)
    is_other = is_near or _TIME.search(around) or _BOUND.search(around)
    if is_other or _is_ahead(found, around) or _is_name(found, around):
        return None
    if re.match(r"\s(?:of|to|and|or|on)\b|[-/.:]\w", plain[found.end() :], re.IGNORECASE):
        return None
    today = asked.replace(hour=0, minute=0, second=0, microsecond=0)
    rest = f"{text[: found.start()]} {text[found.end() :]}".strip()
    try:
        after, before = _days(found, today)
    except (OverflowError, ValueError):
        return None
    if found["pastmonth"] and before > asked:
        return None
    return Period(found[0], after, before, rest=rest)


def _is_name(found: re.Match[str], around: str) -> bool:
    """Whether a phrase is a name in a sentence without capitals: "the song Yesterday", "from April Smith"."""
    before, after = around.split("\0")
    before = before.rstrip()
    is_within = bool(before) and before[-1] not in ".?!:;"
    is_capital = is_within and found[0][:1].isupper()
    is_first_name = found["month"] and not found["monthyear"] and re.match(r"\s[A-Z]", after)
    return bool((is_capital or is_first_name) and re.search(r"\b[a-z]", before + after))


def _is_ahead(found: re.Match[str], around: str) -> bool:
    """Whether the question is about events in the period, not about memories written then."""
    before = around[: found.start()].rstrip().lower()
    if found["month"] or found["year"] or before.endswith("from"):
        return False
    is_present = bool(
        found[0].lower() == "today"
        or (found["which"] or "").lower() == "this"
        or found["pastmonth"]
    )
    is_about_then = _AHEAD.search(around) or (is_present and _NOW.search(around))
    return bool(is_about_then) and not _PAST.search(around)


def _days(  # noqa: PLR0911 - one for each kind of phrase
    found: re.Match[str], today: datetime
) -> tuple[datetime, datetime]:
    named = {name: value.lower() for name, value in found.groupdict().items() if value}
    match named:
        case {"day": day}:
            back = 0 if day == "today" else 1 if day == "yesterday" else 2
            return today - back * _DAY, today - (back - 1) * _DAY
        case {"unitbefore": unit}:
            return _unit(today, unit, 2)
        case {"which": which, "unit": unit}:
            return _unit(today, unit, 0 if which == "this" else 1)
        case {"weekday": weekday}:
            back = (today.weekday() - _DAYS.index(weekday) - 1) % 7 + 1
            return today - back * _DAY, today - (back - 1) * _DAY
        case {"pastunit": unit} | {"rolling": unit} | {"lately": unit}:
            return _back(today, unit, _number(named.get("past", "a"))) + _DAY, today + _DAY
        case {"ago": number, "agounit": "day"}:
            start = today - _number(number) * _DAY
            return start, start + _DAY
        case {"ago": number, "agounit": unit}:
            return _unit(today, unit, _number(number))
        case {"pastmonth": name, "pastyear": year}:
            start = today.replace(year=int(year), month=_MONTHS.index(name) + 1, day=1)
            return start, _months(start, 1)
        case {"month": name}:
            month = _MONTHS.index(name) + 1
            year = int(named.get("monthyear", today.year - (month > today.month)))
            start = today.replace(year=year, month=month, day=1)
            return start, _months(start, 1)
    start = today.replace(year=int(named["year"]), month=1, day=1)
    return start, _months(start, 12)


def _number(text: str) -> int:
    if text in {"a", "an"}:
        return 1
    return _NUMBERS.index(text) + 1 if text in _NUMBERS else int(text)


def _unit(today: datetime, unit: str, back: int) -> tuple[datetime, datetime]:
    """Return the week, month or year that is `back` units before that of today."""
    if unit == "week":
        start = today - (today.weekday() + 7 * back) * _DAY
        return start, start + 7 * _DAY
    months = 12 if unit == "year" else 1
    first = today.replace(day=1, month=1 if unit == "year" else today.month)
    start = _months(first, -months * back)
    return start, _months(start, months)


def _back(today: datetime, unit: str, number: int) -> datetime:
    if unit in {"month", "year"}:
        first = _months(today.replace(day=1), -number * (12 if unit == "year" else 1))
        return min(first + (today.day - 1) * _DAY, _months(first, 1) - _DAY)
    return today - number * (7 if unit == "week" else 1) * _DAY


def _months(first: datetime, months: int) -> datetime:
    """Return the first day of the month that is `months` after that of `first`."""
    years, month = divmod(first.month - 1 + months, 12)
    return first.replace(year=first.year + years, month=month + 1)


_YEAR = re.compile(r"(?:19|20)\d\d")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def micros_of(time: datetime) -> int:
    """Return the microseconds since 1970 of a time."""
    return (time - _EPOCH) // TICK


def _time(found: tuple[int, int] | None) -> datetime | None:
    """Return the time of microseconds since 1970 in UTC, and of the minutes its zone is ahead of UTC."""
    if found is None:
        return None
    micros, offset = found
    zone = timezone(timedelta(minutes=offset))
    # Of local time: the same moment in UTC may lie outside the calendar.
    local = _EPOCH + timedelta(microseconds=micros, minutes=offset)
    return local.replace(tzinfo=zone)


def parse_time(value: object) -> datetime | None:
    """Return the time of a date or a date-time, in UTC without a zone; None for anything else.

    A date is its midnight. It may also be written with slashes, as a month, which means its first day,
    or as a link to the note of a day (spec/memory.md, "Time").
    """
    return _time(_parse_time(value))


def parse_end(value: object) -> datetime | None:
    """Return a time as an end: a date ends with its day, a month with its last day; None for anything else."""
    return _time(_parse_end(value))


def memory_time(path: str, metadata: Mapping[str, Any]) -> datetime | None:
    """Return when a memory is from: by its front matter, else by the day its name begins with.

    None if neither has a time.
    """
    return _time(_memory_time(path, metadata))


def period_of(given: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the beginning of a period, and the first time after it; None for any other text.

    It is a year, such as `2025`, in UTC, or words such as `yesterday` or `last week`, in the time zone
    of this machine.
    """
    text = given.strip()
    if _YEAR.fullmatch(text):
        start = datetime(int(text), 1, 1, tzinfo=timezone.utc)
        return start, start.replace(year=start.year + 1)
    found = period_in(text, now.astimezone())
    return None if found is None or found.rest else (found.after, found.before)


def checked_end(given: date | str, name: str, now: datetime) -> datetime:
    """Return a moment that was asked for; a date means the end of its day, in UTC.

    It may be a year, or words such as `yesterday`, which mean the end of that time. Raises
    InvalidInputError for a date that does not exist.
    """
    if isinstance(given, date):
        time = utc(given)
        if time is not None and not isinstance(given, datetime):
            time += _DAY - TICK
    else:
        period = period_of(given, now)
        time = parse_end(given) if period is None else utc(period[1] - TICK)
    return time or _refused(given, name)


def checked_start(given: date | str, name: str, now: datetime) -> datetime:
    """Return a moment that was asked for, in UTC; a date means the beginning of its day.

    It may be an age from `now`, such as `30d` or `2w`, a year, or words such as `yesterday`, which mean
    the beginning of that time. Raises InvalidInputError for anything else.
    """
    if isinstance(given, date):
        time = utc(given)
    else:
        age, period = parse_age(given), period_of(given, now)
        parsed = parse_time(given) if age is None else now - age
        parsed = parsed if period is None else period[0]
        time = None if parsed is None else utc(parsed)
    return time or _refused(given, name, ", or an age as in 30d or 2w")


def _refused(given: date | str, name: str, more: str = "") -> NoReturn:
    raise InvalidInputError(
        f"{name} must be a date that exists, as in 2026-04-18 or 2026-04-18T09:30Z{more}, not "
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
