"""Properties of temporal expansion for any text, machine and size."""

from __future__ import annotations

import locale
import re
import time
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hedgerow import temporal
from temporal_cases import (
    ANCHOR,
    CASES,
    EARLIEST,
    HUGE,
    MOST_RECENT,
    expanded,
    outcome,
)


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
    """Quadratic matching would not finish."""
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
    # In ISO 8601, the years 1 to 99 are literal.
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
