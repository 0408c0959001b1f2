"""Datetimes and dates in all time arguments: without a zone they are UTC."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow._times import checked_time, seconds_of

UTC = timezone.utc
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31))  # noqa: DTZ001
NAIVE = datetime(2026, 4, 18, 9, 30)  # noqa: DTZ001


@given(MOMENTS, ZONES)
def test_a_datetime_is_the_second_it_is_in(moment: datetime, zone: timezone) -> None:
    aware = moment.replace(tzinfo=zone)
    seconds = seconds_of(aware)
    assert seconds is not None
    begins = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    assert begins <= aware < begins + timedelta(seconds=1)
    assert seconds_of(moment) == seconds_of(moment.replace(tzinfo=UTC))
    assert seconds_of(moment.date()) == seconds_of(datetime.combine(moment.date(), time()))


@given(MOMENTS, ZONES)
def test_a_question_date_is_what_its_text_is(moment: datetime, zone: timezone) -> None:
    aware = moment.replace(tzinfo=zone, microsecond=0)
    assert hr.parse_question_date(aware) == hr.parse_question_date(aware.isoformat())
    midnight = datetime.combine(moment.date(), time(), tzinfo=UTC)
    assert hr.parse_question_date(moment.date()) == midnight
    assert hr.parse_question_date(moment) == moment.replace(tzinfo=UTC)


def test_every_temporal_function_takes_them() -> None:
    day, text = date(2026, 4, 18), "2026-04-18"
    assert hr.expand_temporal("last Friday", day) == hr.expand_temporal("last Friday", text)
    assert hr.augment_query("last Friday", NAIVE) == hr.augment_query("last Friday", text)
    assert hr.resolved_hint_line("last Friday", day) == hr.resolved_hint_line("last Friday", text)
    assert hr.reader_today(day) == "2026-04-18 (Saturday)"
    assert hr.date_search_tokens(NAIVE) == hr.date_search_tokens(text)


def test_a_time_outside_the_years_is_no_question_date() -> None:
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    assert hr.parse_question_date(late) is None
    assert hr.reader_today(late) == "unknown"
    assert hr.date_search_tokens(late) == []


class NotATime(datetime):
    """Like pandas' NaT: a datetime without a value, not equal to itself."""

    __hash__ = datetime.__hash__

    def __eq__(self, _: object) -> bool:
        return False

    def __ne__(self, _: object) -> bool:
        return True


def test_what_is_no_time_is_refused() -> None:
    nat = NotATime(2026, 1, 1)
    assert hr.parse_question_date(nat) is None
    for value, given_type in [(nat, "NotATime"), (1.5, "float"), ("2026", "str"), (True, "bool")]:
        with pytest.raises(hr.InvalidInputError) as raised:
            checked_time(value, "now")  # type: ignore[arg-type]
        assert str(raised.value) == (
            f"now must be an int of Unix seconds, a datetime or a date, not {given_type}"
        )
    with pytest.raises(hr.InvalidInputError, match="now is an int of more than 64 bits; give Unix"):
        checked_time(2**63, "now")
    with pytest.raises(TypeError) as wrong:
        hr.parse_question_date(5)  # type: ignore[arg-type]
    assert str(wrong.value) == (
        "a question date must be a str, a datetime, a date or None, not int"
    )


def test_searches_take_them() -> None:
    index = hr.Index.in_memory()
    index.upsert([hr.Chunk("a", "p", "on 2026/04/17 it rained")])
    retriever = hr.Retriever(index)
    text = "what happened last Friday"
    wanted = retriever.search(text, question_date="2026-04-18T09:30").trace
    assert wanted.date_hints == ["2026/04/17"]
    assert retriever.search(text, question_date=NAIVE).trace == wanted
    [one, other] = retriever.search_many([text, text], question_date=date(2026, 4, 18))
    assert one.trace == other.trace == wanted
    each = retriever.search_many([text, text], question_date=[NAIVE, None])
    assert [response.trace.date_hints for response in each] == [["2026/04/17"], []]
    with pytest.raises(
        hr.InvalidInputError, match="question_date must be a date or a text or a list"
    ):
        retriever.search_many([text], question_date=5)  # type: ignore[call-overload]


def test_stores_take_them() -> None:
    at = int(NAIVE.replace(tzinfo=UTC).timestamp())
    with hr.Store.in_memory() as store:
        node = hr.Node("a", updated_at=NAIVE, created_at=date(1970, 1, 2), last_replayed=NAIVE)
        assert (node.updated_at, node.created_at, node.last_replayed) == (at, 86_400, at)
        store.upsert([node])
        store.visit("agent", "a", NAIVE)
        assert store.query("visited:agent,1d", now=date(2026, 4, 19)).keys == ["a"]
        assert store.query("visited:agent,1d", now=date(2026, 4, 21)).keys == []
        with pytest.raises(hr.InvalidInputError, match="now must be an int of Unix seconds, a dat"):
            store.query("all", now="2026-04-18")  # type: ignore[arg-type]


def test_memory_roots_and_their_agents_take_them(tmp_path: Path) -> None:
    with hr.MemoryRoot.init(tmp_path) as root:
        file = root.remember("Oak.", title="Oak").file
        key = root.resolve("Oak")
        root.visit("agent", key, NAIVE)
        assert root.query("visited:agent,1d", now=date(2026, 4, 19)).keys == [key]
        old = root.process("lint", since=date(2200, 1, 1)).summary
        assert old == root.process("lint", since="2200-01-01").summary
        assert file
        agents = root.agents()
        assert agents.statuses(NAIVE) == []
        assert agents.history("nobody", now=NAIVE) == []
        with pytest.raises(hr.InvalidInputError, match="now must be an int of Unix seconds, a dat"):
            agents.statuses("today")  # type: ignore[arg-type]
