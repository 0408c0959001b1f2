"""Searches with a failing part: `on_leg_failure`, `on_error`."""

from __future__ import annotations

import asyncio
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from index_doubles import without_its_full_text
from retrieval_doubles import (
    AsyncFakeReranker,
    AsyncFnvEmbedder,
    BrokenEmbedder,
    FakeReranker,
    FnvEmbedder,
    corpus,
)


def strict(index: hr.Index, **parts: Any) -> hr.Retriever:
    return hr.Retriever(index, on_leg_failure="raise", **parts)


def test_nothing_changes_while_nothing_fails() -> None:
    parts = {"embedder": FnvEmbedder(), "reranker": FakeReranker("reverse")}
    lenient = hr.Retriever(corpus("b"), **parts)
    for query in ["kaas", "nothing of the kind", ""]:
        assert strict(corpus("b"), **parts).search(query) == lenient.search(query)


def test_an_embedder_that_fails_is_raised(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(hr.RetrievalError) as info:
        strict(corpus("b"), embedder=BrokenEmbedder()).search("kaas")
    assert str(info.value) == (
        "search by meaning failed: no model for 1 texts; "
        'to answer without it: on_leg_failure="degrade"'
    )
    assert info.value.code == "leg_failed"
    assert isinstance(info.value.__cause__, ConnectionError)
    assert (info.value.trace.error_stage, info.value.trace.bm25_count > 0) == ("vector", True)
    again = pickle.loads(pickle.dumps(info.value))
    assert (str(again), again.code, again.trace) == (str(info.value), "leg_failed", again.trace)
    assert caplog.records == [], "the caller is told, and the log need not be"


def test_keywords_that_fail_are_raised(tmp_path: Path) -> None:
    chunks = list(corpus("b").chunks())
    path = without_its_full_text(tmp_path / "notes.db", chunks)
    with (
        hr.Index.open(path) as index,
        pytest.raises(hr.RetrievalError, match="search by keywords failed: ") as info,
    ):
        strict(index, embedder=FnvEmbedder()).search("kaas")
    assert (info.value.code, info.value.trace.error_stage) == ("leg_failed", "bm25")
    assert isinstance(info.value.__cause__, hr.IndexFileError)


def test_no_leg_left_is_the_same_error_as_ever(tmp_path: Path) -> None:
    path = without_its_full_text(tmp_path / "notes.db", [hr.Chunk("a", "a.md", "kaas")])
    with (
        hr.Index.open(path) as index,
        pytest.raises(hr.RetrievalError, match="no leg of the search could answer") as info,
    ):
        strict(index, embedder=BrokenEmbedder()).search("kaas")
    assert info.value.code == "retrieval_failed"


@pytest.mark.parametrize("kind", [FakeReranker, AsyncFakeReranker])
def test_a_reranker_that_fails_is_raised(kind: type[FakeReranker]) -> None:
    retriever = strict(corpus("b"), reranker=kind("throws"))
    with pytest.raises(hr.RetrievalError, match="the reranker failed: no answer; ") as info:
        asyncio.run(retriever.asearch("kaas"))
    assert info.value.trace.error_stage == "rerank"


def test_each_query_of_a_batch_has_its_error() -> None:
    retriever = strict(corpus("b"), embedder=BrokenEmbedder())
    first, second = retriever.search_many(["kaas", "huis"], on_error="return")
    assert (first.code, second.code) == ("leg_failed", "leg_failed")
    assert [error.trace.original_query for error in (first, second)] == ["kaas", "huis"]
    with pytest.raises(hr.RetrievalError, match="no model for 2 texts"):
        retriever.search_many(["kaas", "huis"])


def test_without_raising_the_response_has_what_failed() -> None:
    first, second = hr.Retriever(corpus("b"), embedder=BrokenEmbedder()).search_many(
        ["kaas", "huis"]
    )
    for response, query in [(first, "kaas"), (second, "huis")]:
        error = response.error
        assert isinstance(error, hr.RetrievalError)
        assert (str(error), error.code) == (
            "search by meaning failed: no model for 2 texts",
            "leg_failed",
        )
        assert (error.trace.original_query, error.trace.error_stage) == (query, "vector")
        assert isinstance(error.__cause__, ConnectionError)
        assert response.to_dict()["error"] == {"type": "RetrievalError", "code": "leg_failed"}
        assert str(pickle.loads(pickle.dumps(response)).error) == str(error)


def test_an_error_of_ours_is_given_as_it_is() -> None:
    class Unreachable:
        def embed(self, _: object) -> object:
            raise hr.HedgerowError("nobody answers", code="endpoint_unreachable")

    response = hr.Retriever(corpus("b"), embedder=Unreachable()).search("kaas")
    assert isinstance(response.error, hr.HedgerowError)
    assert response.error.code == "endpoint_unreachable"


def test_a_reranker_that_failed_is_told_of_after_an_embedder() -> None:
    reranker = FakeReranker("throws")
    response = hr.Retriever(corpus("b"), reranker=reranker).search("kaas")
    assert str(response.error) == "the reranker failed: no answer"
    both = hr.Retriever(corpus("b"), embedder=BrokenEmbedder(), reranker=reranker).search("kaas")
    assert str(both.error).startswith("search by meaning failed: ")
    assert both.trace.error_stage == "vector"
    failed = "failed; these are the results without it."
    assert both.notices == [f"Search by meaning {failed}"]
    assert both.to_dict()["notices"] == both.notices
    assert response.notices == [f"The reranker {failed}"]


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_leg_that_was_asked_for_and_cannot_be_is_raised(mode: Any) -> None:
    with pytest.raises(hr.InvalidInputError) as info:
        strict(corpus("b")).search("kaas", mode=mode)
    assert info.value.code == "incompatible_options"
    assert str(info.value).startswith(
        f'mode="{mode}" needs an embedder, and on_leg_failure="raise" leaves no leg out; pass'
    )
    assert strict(corpus("b")).search("kaas").trace.mode == "bm25"
    response = hr.Retriever(corpus("b")).search("kaas", mode=mode)
    assert response.trace.fell_back_to_bm25
    assert response.notices == ["Searched by keywords alone: no embedder was given."]


def test_the_best_profile_searches_by_meaning_alone_only_with_an_embedder() -> None:
    best = hr.Retriever(corpus("b"), ranking=hr.Ranking("best"))
    with pytest.raises(
        hr.InvalidInputError, match='mode="semantic" needs an embedder; pass'
    ) as info:
        best.search("kaas", mode="semantic")
    assert info.value.code == "incompatible_options"
    assert "no embedder was given" in best.search("kaas", mode="hybrid").explain()


def test_an_index_without_vectors_is_said_to_have_none() -> None:
    with hr.Index.in_memory() as index:
        index.upsert([hr.Chunk("a", "a.md", "kaas")])
        retriever = hr.Retriever(index, embedder=FnvEmbedder())
        notice = "Searched by keywords alone: none of the chunks has a vector."
        assert retriever.search("kaas").notices == [notice]
        assert retriever.search("huis").notices == []


def test_there_are_two_ways() -> None:
    for wrong in ("ignore", None, []):
        with pytest.raises(hr.InvalidInputError) as info:
            hr.Retriever(corpus("b"), on_leg_failure=wrong)
        assert str(info.value) == f'on_leg_failure must be "degrade" or "raise", not {wrong!r}'
    assert "on_leg_failure='raise'" in repr(strict(corpus("b")))


class WrongRows(FnvEmbedder):
    """Returns `rows` instead of one row for each text."""

    def __init__(self, rows: Any) -> None:
        super().__init__()
        self.rows = rows

    def embed(self, texts: Any, /) -> Any:
        super().embed(texts)
        return self.rows


class AsyncWrongRows(AsyncFnvEmbedder):
    async def embed(self, _texts: Any, /) -> Any:
        return []


@pytest.mark.parametrize(
    ("rows", "answered"),
    [([], "0 rows"), ([[1.0] * 64] * 3, "3 rows"), (None, "something without rows"), ("ab", "something without rows")],
)  # fmt: skip
@pytest.mark.parametrize("on_leg_failure", ["degrade", "raise"])
def test_a_wrong_number_of_rows_is_every_querys_error(
    rows: Any, answered: str, on_leg_failure: Any
) -> None:
    retriever = hr.Retriever(corpus("b"), embedder=WrongRows(rows), on_leg_failure=on_leg_failure)
    queries = ["kaas", "\ud800", "huis"]
    first, bad, last = retriever.search_many(queries, on_error="return")
    assert (
        str(first)
        == str(last)
        == (
            f"the embedder answered with {answered} for 2 texts; it must return one row for each text, "
            "in their order"
        )
    )
    assert (first.code, bad.code, last.code) == ("bad_answer", "lone_surrogate", "bad_answer")
    assert first is not last
    with pytest.raises(hr.HedgerowError, match=f"the embedder answered with {answered}"):
        retriever.search_many(["kaas", "huis"])


def test_a_wrong_number_of_rows_under_asyncio() -> None:
    retriever = hr.Retriever(corpus("b"), embedder=AsyncWrongRows())
    [error] = asyncio.run(retriever.asearch_many(["kaas"], on_error="return"))
    assert error.code == "bad_answer"
    with pytest.raises(hr.HedgerowError, match="answered with 0 rows for 1 texts"):
        asyncio.run(retriever.asearch("kaas"))


def test_what_degrades_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hedgerow"):
        hr.Retriever(corpus("b"), embedder=BrokenEmbedder()).search("kaas")
    assert [record.getMessage() for record in caplog.records] == [
        "the embedder failed, keywords answer alone: no model for 1 texts"
    ]
