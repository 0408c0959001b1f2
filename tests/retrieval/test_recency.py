"""A chunk's score is halved for each half-life of its age (spec/retrieval.md, "Recency")."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timedelta, timezone

import pytest

import hedgerow as hr

NEW, MONTH, OLD, NONE = "new", "month", "old", "none"


def _chunk(name: str, day: str | None) -> hr.Chunk:
    metadata = {} if day is None else {"date": day}
    return hr.Chunk(name, f"{name}.md", "frost on the hedge", metadata=metadata)


@pytest.fixture
def diary() -> hr.Index:
    index = hr.Index.in_memory()
    index.upsert(
        [
            _chunk(OLD, "2026-01-01"),
            _chunk(NONE, None),
            _chunk(MONTH, "2026-03-02T23:59:00+02:00"),
            _chunk(NEW, "2026-04-01"),
        ]
    )
    return index


def _parts(hit: hr.Hit) -> dict:
    assert hit.explanation is not None
    return dict(hit.explanation)


@pytest.mark.parametrize("profile", ["best", "spec"])
def test_a_score_is_halved_with_each_half_life(diary: hr.Index, profile: str) -> None:
    retriever = hr.Retriever(diary, ranking=hr.Ranking(profile))  # type: ignore[arg-type]
    plain = {hit.id: hit.score for hit in retriever.search("frost")}
    found = retriever.search("frost", recency="30d", question_date="2026-04-01")
    weights = {hit.id: _parts(hit)["recency"]["weight"] for hit in found}
    assert weights == {NEW: 1.0, MONTH: 0.5, NONE: 0.5, OLD: 0.125}
    for hit in found:
        recency = _parts(hit)["recency"]
        assert hit.score == pytest.approx(plain[hit.id] * weights[hit.id])
        assert recency["contribution"] == pytest.approx(hit.score - plain[hit.id])
    assert found[0].id == NEW
    assert found[3].id == OLD
    ages = {hit.id: (_parts(hit)["recency"]["day"], _parts(hit)["recency"]["age"]) for hit in found}
    assert ages[MONTH] == ("2026-03-02", 30)
    assert ages[NONE] == (None, None)
    assert "from 2026-03-02, 30 days old, so that it counts 0.50" in _of(found, MONTH).explain()
    assert "without a date, so that it counts 0.50" in _of(found, NONE).explain()


def _of(found: hr.Response, name: str) -> hr.Hit:
    return next(hit for hit in found if hit.id == name)


def test_without_it_scores_and_explanations_have_no_age(diary: hr.Index) -> None:
    found = hr.Retriever(diary).search("frost", question_date="2026-04-01")
    assert found.trace.recency is None
    assert "recency" not in found.trace.to_dict()
    assert all("recency" not in _parts(hit) for hit in found)


def test_ages_are_counted_from_today_without_a_question_date() -> None:
    today = datetime.now(timezone.utc).date()
    index = hr.Index.in_memory()
    index.upsert([_chunk("a", (today - timedelta(days=14)).isoformat())])
    found = hr.Retriever(index).search("frost", recency="2w")
    assert _parts(found[0])["recency"]["age"] in {14, 15}  # midnight may pass during the test
    assert found.trace.recency == "14d"
    assert hr.Trace._from_dict(found.trace.to_dict()) == found.trace


def test_each_query_of_a_batch_has_its_own_day(diary: hr.Index) -> None:
    retriever = hr.Retriever(diary)
    days = ["2026-04-01", date(2026, 3, 2), None]
    many = retriever.search_many(["frost"] * 3, recency="30d", question_date=days)
    assert _parts(_of(many[0], MONTH))["recency"]["age"] == 30
    assert _parts(_of(many[1], MONTH))["recency"]["age"] == 0
    assert _parts(_of(many[1], NEW))["recency"]["weight"] == 1.0
    alone = asyncio.run(retriever.asearch("frost", recency="30d", question_date=days[1]))
    assert [hit.to_dict() for hit in alone] == [hit.to_dict() for hit in many[1]]


def test_a_group_is_represented_by_its_best_chunk_after_ageing() -> None:
    index = hr.Index.in_memory()
    old = hr.Chunk("old", "a", "frost frost frost", metadata={"date": "2020-01-01"})
    new = hr.Chunk("new", "a", "frost and more words", metadata={"date": "2026-01-01"}, ordinal=1)
    index.upsert([old, new, hr.Chunk("else", "b", "hedges")])
    retriever = hr.Retriever(index)
    options = {"group_by": "path", "question_date": "2026-01-01"}
    assert [hit.id for hit in retriever.search("frost", **options)] == ["old"]
    assert [hit.id for hit in retriever.search("frost", **options, recency="30d")] == ["new"]


def test_why_not_counts_the_age(diary: hr.Index) -> None:
    retriever = hr.Retriever(diary)
    why = retriever.why_not("frost", OLD, limit=1, recency="30d", question_date="2026-04-01")
    assert why.cut == "limit"
    assert why.explanation is not None
    assert why.explanation["recency"]["weight"] == 0.125


@pytest.mark.parametrize("given", ["0d", "30", "a month", "", "-3d", "1.5d", "30 d"])
def test_anything_but_an_age_is_an_error(diary: hr.Index, given: str) -> None:
    with pytest.raises(hr.InvalidInputError, match="recency must be an age of one day or more"):
        hr.Retriever(diary).search("frost", recency=given)


def test_a_wrong_type_and_an_unreadable_question_date_are_errors(diary: hr.Index) -> None:
    retriever = hr.Retriever(diary)
    with pytest.raises(hr.InvalidInputError, match="recency must be a text, not 30"):
        retriever.search("frost", recency=30)  # type: ignore[arg-type]
    with pytest.raises(
        hr.InvalidInputError, match=r"counts ages from the question date, and 'soon'"
    ):
        retriever.search("frost", recency="30d", question_date="soon")


def test_an_unreadable_question_date_is_an_error_under_best_alone(diary: hr.Index) -> None:
    best = hr.Retriever(diary, ranking=hr.Ranking("best"))
    with pytest.raises(hr.InvalidInputError, match="'soon' is no question date; write it as"):
        best.search("frost", question_date="soon")
    [good, bad] = best.search_many(
        ["frost", "frost"], question_date=["2026-04-01", "soon"], on_error="return"
    )
    assert len(good)
    assert isinstance(bad, hr.InvalidInputError)
    assert len(hr.Retriever(diary).search("frost", question_date="soon"))
