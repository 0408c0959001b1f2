"""Times in front matter and in queries: valid ISO 8601 dates and date-times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Any

from hedgerow._checks import shown
from hedgerow._times import aware, utc
from hedgerow.errors import InvalidInputError

from .periods import period_in

ISO_TIME = (
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"[ ]?([Zz]|[-+]\d\d:?\d\d)?)?"
)
TIME_FIELDS = ("date", "created_at", "created", "updated_at")
"""The fields that say when a memory is from; the first that holds a time counts."""

_AGE = re.compile(r"(\d{1,5})([dw])\Z")
_WHOLE = re.compile(rf"\s*{ISO_TIME}\s*\Z")
_DAY_IN_NAME = re.compile(r"\d{4}([-_])\d\d\1\d\d(?!\d)")
_DAY_FORMS = re.compile(r"(\d{4})([-/._])(\d{1,2})\2(\d{1,2})(?!\d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})")
_LINK = re.compile(r"\[\[([^\[\]|#]*)(?:[|#][^\[\]]*)?\]\]")
_LONGEST_MONTH = timedelta(days=31)
_HOUR = 4
_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def micros_of(time: datetime) -> int:
    """Return the microseconds since 1970 of a time."""
    return (time - _EPOCH) // _TICK


def parse_time(value: object, day_zone: tzinfo = timezone.utc) -> datetime | None:
    """Parse a date or a date-time, in UTC without a zone; None for anything else.

    A date is its midnight in `day_zone`. It may also be written with slashes, as a month, which means
    its first day, or as a link to the note of a day (spec/memory.md, "Time").
    """
    match = _WHOLE.match(_plain(value))
    time = time_of(match) if match else None
    is_day = match is not None and not match[_HOUR]
    return time if time is None or not is_day else time.replace(tzinfo=day_zone)


def parse_end(value: object) -> datetime | None:
    """Parse a time as an end: a date ends with its day, a month with its last day; None for anything else."""
    text = _plain(value)
    match = _WHOLE.match(text)
    time = time_of(match) if match else None
    if time is None or match is None or match[_HOUR]:
        return time
    if _MONTH.fullmatch(_unlinked(value)):
        return _end_of_day((time + _LONGEST_MONTH).replace(day=1) - _DAY)
    return _end_of_day(time)


def _plain(value: object) -> str:
    """Return a text that is a date in another form as ISO 8601; any other value as it is, or empty."""
    text = _unlinked(value)
    if found := _MONTH.fullmatch(text):
        return f"{found[1]}-{found[2]:0>2}-01"
    if found := _DAY_FORMS.match(text):
        return f"{found[1]}-{found[3]:0>2}-{found[4]:0>2}{text[found.end() :]}"
    return text


def _unlinked(value: object) -> str:
    """Return the text of a value; of a link to a note, the name of the note."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        # YAML reads an unquoted `[[name]]` as a list in a list, whose items are JSON here.
        value = value[0].strip('[]" ')
    if not isinstance(value, str):
        return ""
    found = _LINK.fullmatch(value.strip())
    return (found[1].rpartition("/")[2] if found else value).strip()


def parse_age(value: object) -> timedelta | None:
    """Parse an age in days or weeks, such as `30d` or `2w`; None for anything else."""
    age = _AGE.match(value.strip()) if isinstance(value, str) else None
    return None if age is None else timedelta(days=int(age[1]) * (7 if age[2] == "w" else 1))


def time_of(match: re.Match[str]) -> datetime | None:
    """Return the time of a match that ends in the groups of `ISO_TIME`; None when it does not exist."""
    *numbers, fraction, zone = match.groups()[-8:]
    parts = [int(number or 0) for number in numbers]
    microsecond = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        return datetime(*parts, microsecond, tzinfo=_zone(zone))  # type: ignore[misc, arg-type]
    except ValueError:
        return None


def event_time(
    metadata: Mapping[str, Any], *keys: str, day_zone: tzinfo = timezone.utc
) -> datetime | None:
    """Return the time under the first of the keys that holds one."""
    times = (parse_time(metadata.get(key), day_zone) for key in keys)
    return next((time for time in times if time), None)


def memory_time(
    path: str, metadata: Mapping[str, Any], day_zone: tzinfo = timezone.utc
) -> datetime | None:
    """Return when a memory is from: by its front matter, else by the day its name begins with.

    A day without a time of day is its midnight in `day_zone`. None if neither has a time.
    """
    return event_time(metadata, *TIME_FIELDS, day_zone=day_zone) or day_in_name(path, day_zone)


def day_in_name(path: str, day_zone: tzinfo = timezone.utc) -> datetime | None:
    """Return the day with which the name of a file begins, as in `2026-04-18-slugs.md`."""
    found = _DAY_IN_NAME.match(path.rpartition("/")[2])
    return parse_time(found[0], day_zone) if found else None


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
            time = _end_of_day(time)
    else:
        period = period_of(given, now)
        time = parse_end(given) if period is None else utc(period[1] - _TICK)
    if time is None:
        raise InvalidInputError(
            f"{name} must be a date that exists, as in 2026-04-18 or 2026-04-18T09:30Z, not "
            f"{shown(given)}",
            code="invalid_option",
        )
    return time


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
    if time is None:
        raise InvalidInputError(
            f"{name} must be a date that exists, as in 2026-04-18 or 2026-04-18T09:30Z, or an age "
            f"as in 30d or 2w, not {shown(given)}",
            code="invalid_option",
        )
    return time


def checked_question_date(given: date | str, now: datetime) -> datetime:
    """Return when a question was asked, in its own time zone: UTC if none is given.

    Raises InvalidInputError as `checked_start` does.
    """
    checked_start(given, "question_date", now)
    if isinstance(given, date):
        return aware(given) or now
    return parse_time(given) or checked_start(given, "question_date", now)


def _end_of_day(time: datetime) -> datetime:
    """The last moment of the day that begins at a time."""
    return time + (_DAY - _TICK)


def _zone(zone: str | None) -> timezone:
    if not zone or zone in "Zz":
        return timezone.utc
    sign = -1 if zone[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])))
