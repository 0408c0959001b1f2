"""Temporal expansion against spec/temporal.md: the fixtures and the families."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from datetime import time
from typing import Any

import pytest

from hedgerow import temporal
from hedgerow.temporal import TemporalExpansion
from temporal_cases import (
    ANCHOR,
    CASES,
    EARLIEST,
    MOST_RECENT,
    NOT_SPACES,
    SPACES,
    expanded,
    outcome,
)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_fixture(case: dict[str, Any]) -> None:
    assert outcome(case["question"], case["questionDate"]) == case["expected"]


def test_fixture_file_is_whole() -> None:
    assert len(CASES) == 1271
    assert len({case["id"] for case in CASES}) == len(CASES)


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
        "2026/04/17",  # both 1 day ago and last friday
        "2026/04/11",  # both 1 week ago and 7 days ago
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
        (
            temporal.expand_temporal,
            ("x", 2026),
            "a question date must be a str, a datetime, a date or None, not int",
        ),
        (
            temporal.parse_question_date,
            (b"2026",),
            "a question date must be a str, a datetime, a date or None, not bytes",
        ),
        (
            temporal.reader_today,
            (1.5,),
            "a question date must be a str, a datetime, a date or None, not float",
        ),
        (
            temporal.date_search_tokens,
            (time(9, 30),),
            "a question date must be a str, a datetime, a date or None, not time",
        ),
    ],
)
def test_a_wrong_type_is_named(
    function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        function(*arguments)
