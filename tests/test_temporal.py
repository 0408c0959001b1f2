"""Temporal expansion against spec/temporal.md: the fixtures, the families, the properties."""

from __future__ import annotations

import json
import locale
import pickle
import re
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hedgerow import temporal
from hedgerow.temporal import TemporalExpansion

FIXTURES = Path(__file__).parents[1] / "spec" / "fixtures" / "temporal.jsonl"
# The strings hold U+2028, U+2029 and U+0085 raw: `splitlines` would cut lines in two.
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in FIXTURES.read_bytes().decode().split("\n") if line
]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ANCHOR = "2026-04-18 (Sat)"
HUGE = 1_000_000

EARLIEST = " [Note: look for the earliest dated event]"
MOST_RECENT = " [Note: look for the most recently dated event]"

SPACES = "\t\n\v\f\r \xa0\u1680\u2000\u2004\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NOT_SPACES = "\x1c\x1d\x1e\x1f\x7f\x85\u180e\u200b\u200c\u200d\u2060\u2800\u3164\x00"


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[arg-type,misc]


def expanded(question: str, question_date: str | None = ANCHOR) -> str:
    return temporal.expand_temporal(question, question_date).expanded_query


# ---------------------------------------------------------------------------- fixtures


def outcome(question: str, question_date: str | None) -> dict[str, Any]:
    """Everything the module says about one case, in the shape of the fixture file."""
    anchor = temporal.parse_question_date(question_date)
    return {
        "expansion": temporal.expand_temporal(question, question_date).to_dict(),
        "augmented": temporal.augment_query(question, question_date),
        "hintLine": temporal.resolved_hint_line(question, question_date),
        "readerToday": temporal.reader_today(question_date),
        "dateSearchTokens": temporal.date_search_tokens(question_date),
        "parsedEpochMs": anchor and (anchor - EPOCH) // timedelta(milliseconds=1),
    }


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_fixture(case: dict[str, Any]) -> None:
    assert outcome(case["question"], case["questionDate"]) == case["expected"]


def test_fixture_file_is_whole() -> None:
    assert len(CASES) == 1271
    assert len({case["id"] for case in CASES}) == len(CASES)


# ---------------------------------------------------------------------------- anchor forms


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-04-18", utc(2026, 4, 18)),
        ("2026/04/18", utc(2026, 4, 18)),
        ("2026-04/18", utc(2026, 4, 18)),
        ("2026-04-18 (Sat)", utc(2026, 4, 18)),
        ("2026-04-18(Sat)", utc(2026, 4, 18)),
        ("2026-04-18 (Saturday)", utc(2026, 4, 18)),
        ("2026-04-18 (zaterdag, of niet)", utc(2026, 4, 18)),
        ("2026-04-18 ()", utc(2026, 4, 18)),
        ("2026-04-18 (Sat) 10:30", utc(2026, 4, 18, 10, 30)),
        ("2026-04-18 (Sat)10:30", utc(2026, 4, 18, 10, 30)),
        ("2026-04-18\u00a010:30:45", utc(2026, 4, 18, 10, 30, 45)),
        ("\ufeff 2026-04-18\u2028", utc(2026, 4, 18)),
        # roll-over: nothing is out of range
        ("2026-02-30", utc(2026, 3, 2)),
        ("2024-02-30", utc(2024, 3, 1)),
        ("2026-13-10", utc(2027, 1, 10)),
        ("2026-00-00", utc(2025, 11, 30)),
        ("2026-99-99", utc(2034, 6, 7)),
        ("2026-04-18 24:00", utc(2026, 4, 19)),
        ("2026-04-18 99:99:99", utc(2026, 4, 22, 4, 40, 39)),
        # years 0 to 99
        ("0000-02-29", utc(1900, 3, 1)),
        ("0099-12-31 24:00", utc(2000, 1, 1)),
        ("0100-01-01", utc(100, 1, 1)),
        # the ends of the calendar
        ("9999-12-31 23:59:59", utc(9999, 12, 31, 23, 59, 59)),
        ("9999-12-31 24:00", None),
        ("9999-12-32", None),
        ("9999-13-01", None),
        # not the form
        ("2026-04-1810:30", None),
        ("2026-04-18 10", None),
        ("2026-04-18 1:3", None),
        ("2026-4-18", None),
        ("2026-04-18 (Sat", None),
        ("2026-04-18 (Sat) (Sun)", None),
        ("2026-04-18 (Sat) 10:30 extra", None),
        ("2026-04-18x", None),
        ("on 2026-04-18", None),
        ("٢٠٢٦-٠٤-١٨", None),
        ("2026\u221204\u221218", None),
        ("\x852026-04-18", None),
    ],
)
def test_anchor_form(text: str, instant: datetime | None) -> None:
    assert temporal.parse_question_date(text) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026", utc(2026, 1, 1)),
        ("2026-04", utc(2026, 4, 1)),
        ("0050", utc(50, 1, 1)),
        ("+002026-04-18", utc(2026, 4, 18)),
        ("2026-04-18T10:30", utc(2026, 4, 18, 10, 30)),
        ("2026-04-18t10:30z", utc(2026, 4, 18, 10, 30)),
        ("2026-04T10:30", utc(2026, 4, 1, 10, 30)),
        ("2026-04-18T10:30:45.1Z", utc(2026, 4, 18, 10, 30, 45, 100_000)),
        ("2026-04-18T10:30:45.123999Z", utc(2026, 4, 18, 10, 30, 45, 123_000)),
        ("2026-04-18T10:30:45+02:00", utc(2026, 4, 18, 8, 30, 45)),
        ("2026-04-18T10:30:45-1130", utc(2026, 4, 18, 22, 0, 45)),
        ("2026-04-18T00:30:00+05:45", utc(2026, 4, 17, 18, 45)),
        ("2026-04-18T24:00:00.000Z", utc(2026, 4, 19)),
        ("2026-02-30T00:00Z", utc(2026, 3, 2)),
        ("0001-01-01T00:00Z", utc(1, 1, 1)),
        ("0000-12-31T23:00-01:00", utc(1, 1, 1)),
        ("9999-12-31T23:59:59.999Z", utc(9999, 12, 31, 23, 59, 59, 999_000)),
        ("0001-01-01T00:00+00:01", None),
        ("9999-12-31T23:59-00:01", None),
        ("0000", None),
        ("-000001", None),
        ("-000000-12-31T23:00-01:00", None),
        ("+010000", None),
        ("+275760-09-13", None),
        ("2026-13", None),
        ("2026-00", None),
        ("2026-04-32T00:00Z", None),
        ("2026-04-00T00:00Z", None),
        ("2026-04-18T24:00:01Z", None),
        ("2026-04-18T24:00:00.001Z", None),
        ("2026-04-18T24:01Z", None),
        ("2026-04-18T25:00Z", None),
        ("2026-04-18T10:60Z", None),
        ("2026-04-18T10:30:60Z", None),
        ("2026-04-18T10:30:45.Z", None),
        ("2026-04-18T10:30:45,123Z", None),
        ("2026-04-18T10:30:45+02", None),
        ("2026-04-18T10:30:45+24:00", None),
        ("2026-04-18T10:30:45+02:60", None),
        ("2026-04-18T10:30:45 Z", None),
        ("2026-04-18T10:30:45Z[UTC]", None),
        ("2026-04-18T10", None),
        ("2026-04-18T", None),
        ("2026/04/18T10:30", None),
        ("20260418", None),
        ("20260418T103000Z", None),
        ("2026-W16-6", None),
        ("1776508800", None),
    ],
)
def test_iso_8601(text: str, instant: datetime | None) -> None:
    assert temporal.parse_question_date(text) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("April 18, 2026", utc(2026, 4, 18)),
        ("APRIL 18,2026", utc(2026, 4, 18)),
        ("Apr. 18 2026", utc(2026, 4, 18)),
        ("18 april 2026", utc(2026, 4, 18)),
        ("18-Apr-26", utc(2026, 4, 18)),
        ("Sept 5, 1999", utc(1999, 9, 5)),
        ("Saturday, April 18, 2026, 10:30 PM", utc(2026, 4, 18, 22, 30)),
        ("April 18, 2026 12:00 AM", utc(2026, 4, 18)),
        ("April 18, 2026 0:15 PM EST", utc(2026, 4, 18, 17, 15)),
        ("Sat, 18 Apr 2026 10:30:45 GMT", utc(2026, 4, 18, 10, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 +0200", utc(2026, 4, 18, 8, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 EST", utc(2026, 4, 18, 15, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 pdt", utc(2026, 4, 18, 17, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 (no zone)", utc(2026, 4, 18, 10, 30, 45)),
        ("Sat Apr 18 2026 10:30:45 GMT+0200 (CEST)", utc(2026, 4, 18, 8, 30, 45)),
        ("Sat Apr 18 10:30:45 2026", utc(2026, 4, 18, 10, 30, 45)),
        ("Wed Apr  8 10:30:45 UTC 2026", utc(2026, 4, 8, 10, 30, 45)),
        ("Mon, 18 Apr 2026", utc(2026, 4, 18)),  # a Saturday: weekdays are ignored
        ("2026-04-18 10:30:45.123+02:00", utc(2026, 4, 18, 8, 30, 45, 123_000)),
        ("2026/04/18 10:30 PM PST", utc(2026, 4, 19, 6, 30)),
        # a day of up to 31 rolls over, two digits are a year near now
        ("31 April 2026", utc(2026, 5, 1)),
        ("February 30, 2026", utc(2026, 3, 2)),
        ("18 Apr 49", utc(2049, 4, 18)),
        ("18 Apr 50", utc(1950, 4, 18)),
        ("18 Apr 2026 24:00", utc(2026, 4, 19)),
        ("32 April 2026", None),
        ("0 April 2026", None),
        ("18 Apr 126", None),
        ("18 Apr 2026 24:01", None),
        ("18 Apr 2026 10:60", None),
        ("18 Apr 2026 13:00 PM", None),
        ("18 Apr 2026 10:30 +24:00", None),
        ("31 Dec 9999 23:59 EST", None),
        ("2026-13-18 10:30 UTC", None),
        ("0050-04-18 10:30 UTC", None),
        ("Sat, 18 Apr 2026 10:30:45 CET", None),
        ("Sat, 18 Apr 2026 10:30:45 A", None),
        ("Sat, 18 Apr 2026 10:30:45 Europe/Amsterdam", None),
        ("April 18, 2026 10 PM", None),
        ("April 18, 2026 10:30PM", None),
        ("April 18th, 2026", None),
        ("April 18, 2026 to May 1, 2026", None),
        ("April 18", None),
        ("April 2026", None),
        ("April", None),
        ("18 avril 2026", None),
        ("4/18/2026", None),
        ("18.4.2026", None),
        ("Saturday", None),
        ("today", None),
        ("Invalid Date", None),
        ("2026年4月18日", None),
        ("Augu\u017ft 18, 2026", None),
        ("", None),
        (" \ufeff", None),
    ],
)
def test_prose(text: str, instant: datetime | None) -> None:
    assert temporal.parse_question_date(text) == instant


@pytest.mark.parametrize("month", range(1, 13))
def test_every_month_has_its_name(month: int) -> None:
    name = date(2026, month, 9).ctime()[4:7]
    assert temporal.parse_question_date(f"9 {name} 2026") == utc(2026, month, 9)


def test_an_absent_date_is_no_date() -> None:
    assert temporal.parse_question_date(None) is None


def test_the_anchor_is_aware_and_in_utc() -> None:
    anchor = temporal.parse_question_date("2026-04-18T10:30+02:00")
    assert anchor is not None
    assert anchor.tzinfo is timezone.utc


@pytest.mark.parametrize("moment", [utc(2026, 4, 18), utc(2026, 4, 18, 10, 30, 45, 123_000)])
def test_isoformat_is_read_back(moment: datetime) -> None:
    assert temporal.parse_question_date(moment.isoformat()) == moment
    assert temporal.parse_question_date(str(moment)) == moment


# ---------------------------------------------------------------------------- recognisers


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("2 days ago", "2 days ago (around 2026/04/16)"),
        ("1 day ago", "1 day ago (around 2026/04/17)"),
        ("2 wEeKs aGo", "2 wEeKs aGo (around 2026/04/04)"),
        ("0 months ago", "0 months ago (around 2026/04/18)"),
        ("007 week ago", "007 week ago (around 2026/02/28)"),
        ("2\n months\u3000ago", "2\n months\u3000ago (around 2026/02/18)"),
        # no word boundaries
        ("trip2 days agone", "trip2 days ago (around 2026/04/16)ne"),
        ("1,000 days ago", "1,000 days ago (around 2026/04/18)"),
        ("1.5 months ago", "1.5 months ago (around 2025/11/18)"),
        ("-3 weeks ago", "-3 weeks ago (around 2026/03/28)"),
        ("12 34 days ago", "12 34 days ago (around 2026/03/15)"),
        # not the phrase
        ("2days ago", "2days ago"),
        ("2 daysago", "2 daysago"),
        ("2 day\u017f ago", "2 day\u017f ago"),
        ("two days ago", "two days ago"),
        ("\uff12 days ago", "\uff12 days ago"),
        ("2 years ago", "2 years ago"),
        ("2 dagen geleden", "2 dagen geleden"),
        ("yesterday, today, last month, 2026-04-01", "yesterday, today, last month, 2026-04-01"),
    ],
)
def test_relative_time(question: str, expected: str) -> None:
    assert expanded(question) == expected


@pytest.mark.parametrize(
    ("anchor", "months", "day"),
    [
        ("2026-03-31", 1, "2026/03/03"),
        ("2024-03-31", 1, "2024/03/02"),
        ("2026-05-31", 1, "2026/05/01"),
        ("2024-02-29", 12, "2023/03/01"),
        ("2024-02-29", 48, "2020/02/29"),
        ("2026-01-31", 11, "2025/03/03"),
        ("2026-01-15", 1, "2025/12/15"),
        ("2026-12-31", 12, "2025/12/31"),
    ],
)
def test_a_day_the_month_lacks_rolls_forward(anchor: str, months: int, day: str) -> None:
    assert temporal.expand_temporal(f"{months} months ago", anchor).date_hints == (day,)


@pytest.mark.parametrize(
    ("anchor", "question", "hints"),
    [
        ("0001-01-02T00:00Z", "1 day ago", ("0001/01/01",)),
        ("0001-01-02T00:00Z", "2 days ago", ()),
        ("0001-01-31T00:00Z", "1 month ago", ()),
        ("0001-01-01T00:00Z", "last monday", ()),
        ("9999-12-31", "3652058 days ago", ("0001/01/01",)),
        ("9999-12-31", "3652059 days ago", ()),
        ("9999-12-31", "119987 months ago", ("0001/01/31",)),
        ("9999-12-31", "119988 months ago", ()),
        ("2026-04-18", "99999999 weeks ago or 1 day ago", ("2026/04/17",)),
        ("2026-04-18", f"{'9' * 5000} days ago", ()),
        ("2026-04-18", f"{'0' * 5000}3 days ago", ("2026/04/15",)),
    ],
)
def test_days_outside_the_calendar_are_left_alone(
    anchor: str, question: str, hints: tuple[str, ...]
) -> None:
    expansion = temporal.expand_temporal(question, anchor)
    assert expansion.date_hints == hints
    assert expansion.resolved == bool(hints)
    if not hints:
        assert expansion.expanded_query == question


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("last Friday", "last Friday (2026/04/17)"),
        ("LAST saturday", "LAST saturday (2026/04/11)"),
        ("last sunday", "last sunday (2026/04/12)"),
        ("last\u00a0\tmonday's walk", "last\u00a0\tmonday (2026/04/13)'s walk"),
        ("blast fridays", "blast friday (2026/04/17)s"),
        ("last last friday", "last last friday (2026/04/17)"),
        ("lastfriday last-friday", "lastfriday last-friday"),
        ("la\u017ft friday", "la\u017ft friday"),
        ("last fri", "last fri"),
        ("this friday, next friday", "this friday, next friday"),
    ],
)
def test_last_weekday(question: str, expected: str) -> None:
    assert expanded(question) == expected


@pytest.mark.parametrize("space", SPACES)
def test_every_ecmascript_space_separates(space: str) -> None:
    assert temporal.expand_temporal(f"2{space}days{space}ago, last{space}friday", ANCHOR).resolved
    assert temporal.parse_question_date(f"{space}2026-04-18{space}10:30{space}") is not None
    assert temporal.reader_today(space) == "unknown"


@pytest.mark.parametrize("character", NOT_SPACES)
def test_nothing_else_separates(character: str) -> None:
    question = f"2{character}days{character}ago, last{character}friday"
    assert expanded(question) == question
    assert temporal.parse_question_date(f"2026-04-18{character}10:30") is None
    assert temporal.reader_today(character) == character


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("the first time", EARLIEST),
        ("EARLIER", EARLIEST),
        ("beforehand", EARLIEST),
        ("headfirst", EARLIEST),
        ("almost recent", MOST_RECENT),
        ("the Latest", MOST_RECENT),
        ("last times", MOST_RECENT),
        ("first and latest", EARLIEST),
        ("latest and first", EARLIEST),
        ("earliest, recent, last, prior", ""),
        ("most  recent", ""),
        ("most\u00a0recent", ""),
        ("f\u0130rst", ""),
        ("f\u0131rst", ""),
        ("late\u017ft", ""),
        ("", ""),
    ],
)
def test_ordering_note(question: str, note: str) -> None:
    expansion = temporal.expand_temporal(question, ANCHOR)
    assert expansion == TemporalExpansion(question, question + note, (), resolved=False)
    assert temporal.augment_query(question, ANCHOR) == question
    assert expanded(question, "someday") == question


def test_hints_are_relative_times_first_and_each_once() -> None:
    question = "last friday, 1 day ago, 1 week ago, 7 days ago, last monday, LAST FRIDAY"
    assert temporal.expand_temporal(question, ANCHOR).date_hints == (
        "2026/04/17",  # 1 day ago and last friday
        "2026/04/11",  # 1 week ago and 7 days ago
        "2026/04/13",
    )


def test_text_that_looks_like_a_replacement_pattern_is_text() -> None:
    assert expanded(r"$1 \1 \g<1> 2 days ago $&") == (
        r"$1 \1 \g<1> 2 days ago (around 2026/04/16) $&"
    )


def test_the_day_is_the_day_in_utc() -> None:
    assert expanded("1 day ago", "2026-04-18T23:30-08:00") == "1 day ago (around 2026/04/18)"


# ---------------------------------------------------------------------------- results


def test_worked_example() -> None:
    question = "what did I watch 2 weeks ago last Friday?"
    assert temporal.expand_temporal(question, ANCHOR).to_dict() == {
        "originalQuery": question,
        "expandedQuery": "what did I watch 2 weeks ago (around 2026/04/04) "
        "last Friday (2026/04/17)?",
        "dateHints": ["2026/04/04", "2026/04/17"],
        "resolved": True,
    }
    assert temporal.augment_query(question, ANCHOR) == (
        f"{question} 2026/04/04 2026-04-04 2026/04/17 2026-04-17"
    )
    assert temporal.resolved_hint_line(question, ANCHOR) == (
        "[Resolved temporal references: 2026/04/04, 2026/04/17]"
    )


def test_without_dates_there_is_no_hint_line() -> None:
    assert temporal.resolved_hint_line("the first walk", ANCHOR) is None
    assert temporal.resolved_hint_line("2 days ago", None) is None


@pytest.mark.parametrize(
    ("text", "today"),
    [
        ("2026/04/18 10:30", "2026-04-18 (Saturday)"),
        ("0050", "0050-01-01 (Saturday)"),
        ("  some day \n", "some day"),
        ("9999-13-01", "9999-13-01"),
        (" \t", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_reader_today(text: str | None, today: str) -> None:
    assert temporal.reader_today(text) == today


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("2026/04/18", ["2026-04-18", "2026/04/18", "2026", "Saturday", "April"]),
        ("0100-01-01", ["0100-01-01", "0100/01/01", "100", "Friday", "January"]),
        ("2026-04-18 to 2026-05-01", ["2026-04-18", "2026/04/18", "2026"]),
        ("about 2026-04-18?", ["2026-04-18", "2026/04/18", "2026"]),
        ("9999-13-01", ["9999-13-01", "9999/13/01", "9999"]),
        ("é0050-04-18é", ["0050-04-18", "0050/04/18", "0050"]),
        ("x2026-04-18", []),
        ("2026-04-180", []),
        ("about 2026/04/18?", []),
        ("someday", []),
        ("", []),
        (None, []),
    ],
)
def test_date_search_tokens(text: str | None, tokens: list[str]) -> None:
    assert temporal.date_search_tokens(text) == tokens


def test_an_expansion_is_plain_data() -> None:
    expansion = temporal.expand_temporal("2 days ago", ANCHOR)
    assert pickle.loads(pickle.dumps(expansion)) == expansion
    assert hash(expansion) == hash(temporal.expand_temporal("2 days ago", "2026-04-18"))
    assert expansion != temporal.expand_temporal("2 days ago", "2026-04-19")
    assert repr(expansion) == (
        "TemporalExpansion(original_query='2 days ago', "
        "expanded_query='2 days ago (around 2026/04/16)', "
        "date_hints=('2026/04/16',), resolved=True)"
    )
    with pytest.raises(AttributeError):
        expansion.resolved = False  # type: ignore[misc]


# ---------------------------------------------------------------------------- wrong types


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (temporal.expand_temporal, (None, ANCHOR), "a question must be a str, not NoneType"),
        (temporal.augment_query, (b"x", ANCHOR), "a question must be a str, not bytes"),
        (temporal.resolved_hint_line, (1, None), "a question must be a str, not int"),
        (temporal.expand_temporal, ("x", 2026), "a question date must be a str or None, not int"),
        (
            temporal.parse_question_date,
            (b"2026",),
            "a question date must be a str or None, not bytes",
        ),
        (temporal.reader_today, (1.5,), "a question date must be a str or None, not float"),
        (
            temporal.date_search_tokens,
            (date(2026, 4, 18),),
            "a question date must be a str or None, not date; pass its .isoformat()",
        ),
        (
            temporal.augment_query,
            ("x", utc(2026, 4, 18)),
            "a question date must be a str or None, not datetime; pass its .isoformat()",
        ),
    ],
)
def test_a_wrong_type_is_named(
    function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        function(*arguments)


# ---------------------------------------------------------------------------- hostile input


@pytest.mark.parametrize(
    "question",
    [
        "1" * HUGE,
        "1" * HUGE + " days ago",
        "0" * HUGE + "1 days ago",
        "1" + " " * HUGE,
        "1 day" + " " * HUGE,
        "last" + " " * HUGE,
        "1 " * (HUGE // 2),
        "last " * (HUGE // 5),
        "1 day " * (HUGE // 6),
    ],
    ids=lambda question: f"{question[:6]}...{question[-9:]}",
)
def test_a_million_characters_of_question_take_linear_time(question: str) -> None:
    """Quadratic matching would not come to an end here."""
    expansion = temporal.expand_temporal(question, ANCHOR)
    assert expansion.resolved == (question.startswith("0"))


@pytest.mark.parametrize(
    "text",
    [
        "1" * HUGE,
        " " * HUGE + "x",
        "2026-04-18" + " " * HUGE + "x",
        "2026-04-18 (" + "a" * HUGE,
        "2026-04-18 " + "(" * HUGE,
        "2026-04-18T10:30:45." + "1" * HUGE,
        "18 Apr 2026 10:30" + " " * HUGE + "x",
        "18 Apr 2026 10:30 GMT" + " " * HUGE + "(",
        "Sat" + " " * HUGE + "18",
        "1234-" * (HUGE // 5),
    ],
    ids=lambda text: f"{text[:24].strip()}...{text[-4:]}",
)
def test_a_million_characters_of_date_take_linear_time(text: str) -> None:
    temporal.reader_today(text)
    temporal.date_search_tokens(text)


# ---------------------------------------------------------------------------- properties

PIECES = [
    *("2", "10", "0", "007", " ", "\n", "day", "days", " week", "weeks ", "MONTH", "months"),
    *(" ago", "ago", "last ", "LAST ", "friday", "Monday", "sunday", "first", "before", "latest"),
    *("most recent", "last time", "é", "\u017f", "(", "3 days ago", "1 month ago", "last tuesday"),
]
questions = st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
days = st.dates().map(date.isoformat)
date_pieces = [
    *(
        "2026",
        "04",
        "18",
        "99",
        "0",
        "-",
        "/",
        ":",
        "T",
        "Z",
        " ",
        "+02:00",
        "10:30",
        ".5",
        "(Sat)",
    ),
    *("Sat, ", "Apr", "April", "18, ", "GMT", "EST", "PM", "2026-04-18", "\u00a0", "x"),
]
dates = (
    st.none() | st.text() | days | st.lists(st.sampled_from(date_pieces), max_size=8).map("".join)
)
many = settings(max_examples=300)


@many
@given(questions, dates)
def test_any_text_is_answered_and_the_answers_agree(
    question: str, question_date: str | None
) -> None:
    expansion = temporal.expand_temporal(question, question_date)
    hints = expansion.date_hints

    assert expansion.original_query == question
    assert expansion.resolved == bool(hints)
    assert len(set(hints)) == len(hints)
    assert all(re.fullmatch(r"[0-9]{4}/[0-9]{2}/[0-9]{2}", hint) for hint in hints)
    assert all(hint in expansion.expanded_query for hint in hints)
    assert temporal.augment_query(question, question_date) == question + "".join(
        f" {hint} {hint.replace('/', '-')}" for hint in hints
    )
    line = temporal.resolved_hint_line(question, question_date)
    assert (line is not None) == expansion.resolved
    if not expansion.resolved:
        assert expansion.expanded_query in {question, question + EARLIEST, question + MOST_RECENT}
    if temporal.parse_question_date(question_date) is None:
        assert expansion.expanded_query == question


@many
@given(questions, days)
def test_taking_the_additions_out_gives_the_question_back(question: str, day: str) -> None:
    addition = re.compile(r" \((?:around )?[0-9]{4}/[0-9]{2}/[0-9]{2}\)| \[Note: [^]]*\]$")
    assume(not addition.search(question))
    assert addition.sub("", expanded(question, day)) == question


@many
@given(dates)
def test_a_date_means_the_same_wherever_it_is_read(text: str | None) -> None:
    anchor = temporal.parse_question_date(text)
    today, tokens = temporal.reader_today(text), temporal.date_search_tokens(text)
    if anchor is None:
        assert len(tokens) in {0, 3}
        return
    assert anchor.utcoffset() == timedelta(0)
    assert today.startswith(tokens[0])
    assert tokens[3] in today
    assert temporal.parse_question_date(anchor.isoformat()) == anchor


@many
@given(st.dates(), st.integers(0, 5_000_000), st.sampled_from([("days", 1), ("week", 7)]))
def test_days_and_weeks_are_counted(day: date, amount: int, unit: tuple[str, int]) -> None:
    name, length = unit
    # In ISO 8601 the years 1 to 99 are themselves.
    expansion = temporal.expand_temporal(f"{amount} {name} ago", f"{day.isoformat()}T00:00Z")
    number = day.toordinal() - amount * length
    if number < 1:
        assert not expansion.resolved
    else:
        expected = date.fromordinal(number).isoformat().replace("-", "/")
        assert expansion.date_hints == (expected,)


@many
@given(st.dates(min_value=date(1, 1, 8)), st.integers(min_value=0, max_value=6))
def test_last_weekday_is_the_nearest_one_before(day: date, weekday: int) -> None:
    name = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"][weekday]
    (hint,) = temporal.expand_temporal(f"last {name}", f"{day.isoformat()}T12:00Z").date_hints
    found = date.fromisoformat(hint.replace("/", "-"))
    assert found.weekday() == weekday
    assert 1 <= (day - found).days <= 7


@many
@given(st.dates(min_value=date(201, 1, 1)), st.integers(min_value=0, max_value=2400))
def test_months_keep_the_day_or_roll_it_forward(day: date, months: int) -> None:
    (hint,) = temporal.expand_temporal(f"{months} months ago", day.isoformat()).date_hints
    found = date.fromisoformat(hint.replace("/", "-"))
    moved = (day.year * 12 + day.month) - (found.year * 12 + found.month)
    if found.day == day.day:
        assert moved == months
    else:
        assert moved == months - 1
        assert found.day <= 3
        assert day.day >= 29


# ---------------------------------------------------------------------------- no hidden state

SAMPLE = CASES[::25] + [
    {"question": "1 day ago", "questionDate": text}
    for text in ("April 18, 2026", "2026-04-18T10:30", "18 Apr 2026 23:30", "0050", "9999-12-31")
]


def sample_outcomes() -> list[dict[str, Any]]:
    return [outcome(case["question"], case["questionDate"]) for case in SAMPLE]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the platform cannot change its time zone")
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles", "XYZ+11:30"])
def test_the_time_zone_plays_no_part(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sample_outcomes()
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        assert sample_outcomes() == expected
    time.tzset()


@pytest.mark.parametrize("name", ["C", "de_DE.UTF-8", "tr_TR.UTF-8", "nl_NL.UTF-8"])
def test_the_locale_plays_no_part(name: str) -> None:
    expected, before = sample_outcomes(), locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        pytest.skip(f"the locale {name} is not installed")
    try:
        assert sample_outcomes() == expected
    finally:
        locale.setlocale(locale.LC_ALL, before)
