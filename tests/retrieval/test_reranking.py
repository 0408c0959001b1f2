"""The rerank step: input of rerankers, formats of their output, and blending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from counted_collection import CountedCollection
from hedgerow.rerankers.base import read_scores
from retrieval_doubles import FnvEmbedder, corpus

TEXTS = {"a": "oak oak oak", "b": "oak oak", "c": "oak and more words", "d": "oak again and again"}


@pytest.fixture
def index() -> hr.Index:
    index = hr.Index.in_memory()
    index.upsert(
        [hr.Chunk(one, f"{one}.md", text, title=one.upper()) for one, text in TEXTS.items()]
    )
    return index


class Answering:
    """Returns the same answer for every query, and records its documents."""

    name = "answering"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.given: list[Sequence[hr.RerankDocument]] = []

    def rerank(self, query: str, documents: Sequence[hr.RerankDocument], /) -> Any:
        assert query == "oak"
        self.given.append(documents)
        return self.answer


def found(index: hr.Index, answer: Any, ranking: hr.Ranking | None = None) -> list[str]:
    retriever = hr.Retriever(index, reranker=Answering(answer), ranking=ranking)
    return [hit.id for hit in retriever.search("oak")]


def scores(*pairs: tuple[int, float]) -> list[hr.RerankScore]:
    return [hr.RerankScore(index, score) for index, score in pairs]


def test_a_reranker_reads_the_whole_text_under_best(index: hr.Index) -> None:
    long = "x" * 3_000 + " oak " + "y" * 3_000
    index.upsert([hr.Chunk("long", "long.md", long, title="Long", summary="A summary.")])
    for ranking, expected in [
        (hr.Ranking("best"), f"Long\nA summary.\n{long}"[:4_000]),
        (hr.Ranking("best", rerank_chars=20), "Long\nA summary.\nxxxx"),
        (hr.Ranking("spec", rerank_chars=9_000), f"Long\nA summary.\n{long}"),
        (hr.Ranking("spec"), "Long\nA summary."),
    ]:
        reranker = Answering([])
        response = hr.Retriever(index, reranker=reranker, ranking=ranking).search(
            "oak", rerank_top_n=9
        )
        assert response.error is None
        [document] = [one for one in reranker.given[0] if one.id == "long"]
        assert (document.title, document.text) == ("Long", expected)


def test_a_reranker_knows_the_scores_of_the_search(index: hr.Index) -> None:
    reranker = Answering([])
    hits = hr.Retriever(index, reranker=reranker, ranking=hr.Ranking("best")).search(
        "oak", rerank_top_n=3
    )
    without = hr.Retriever(index, ranking=hr.Ranking("best")).search("oak")
    given = {document.id: document.score for document in reranker.given[0]}
    assert given == {hit.id: hit.score for hit in without[:3]}
    assert [hit.id for hit in hits] == [hit.id for hit in without], "no answer leaves the order"


def test_scores_sort_and_replace_the_order_under_spec(index: hr.Index) -> None:
    order = [hit.id for hit in hr.Retriever(index).search("oak")]
    sorted_by = [order[2], order[0], order[1]]
    assert found(index, scores((1, 0.1), (2, 9.0), (0, 0.5))) == sorted_by
    assert found(index, scores((1, 7.0), (0, 7.0))) == [order[1], order[0]], "equals as answered"


@pytest.mark.parametrize(
    "answer",
    [
        [2, 0, 1, 3],
        [0.4, 0.2, 0.9, 0.1],
        np.array([0.4, 0.2, 0.9, 0.1], np.float32),
        np.array([2, 0, 1, 3]),
        [40, 20, 90, 10],
        scores((0, 0.4), (1, 0.2), (2, 0.9), (3, 0.1)),
        (score for score in scores((2, 4), (0, 3), (1, 2), (3, 1))),
    ],
    ids=["indices", "numbers", "array", "array of indices", "grades", "scores", "generator"],
)
def test_answers_of_every_form_are_read(index: hr.Index, answer: Any) -> None:
    order = [hit.id for hit in hr.Retriever(index).search("oak")]
    assert found(index, answer) == [order[2], order[0], order[1], order[3]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("0123", "the reranker answered with '0123'; it must return RerankScore objects, a number"),
        (None, "the reranker answered with None"),
        ({"a": 1.0}, "the reranker answered with {'a': 1.0}"),
        ([True, False, True, False], "it must return RerankScore objects"),
        ([0.5, 0.25], "answered with 2 numbers for 4 documents; give one for each document"),
        ([1.0, float("nan"), 1.0, 1.0], "the score nan for document 1; scores must be finite"),
        (scores((0, float("inf"))), "the score inf for document 0"),
    ],
)  # fmt: skip
def test_other_answers_are_errors_and_the_order_stays(
    index: hr.Index, answer: Any, message: str
) -> None:
    response = hr.Retriever(index, reranker=Answering(answer)).search("oak")
    assert message in str(response.error)
    assert response.trace.error_stage == "rerank"
    assert [hit.id for hit in response] == [hit.id for hit in hr.Retriever(index).search("oak")]


def test_functions_rerank_too(index: hr.Index) -> None:
    def by_length(query: str, documents: Sequence[hr.RerankDocument]) -> list[float]:
        assert query == "oak"
        return [float(len(document.text)) for document in documents]

    for reranker, name in [(by_length, "by_length"), (partial(by_length), "by_length")]:
        retriever = hr.Retriever(
            index, reranker=reranker, ranking=hr.Ranking("spec", rerank_chars=100)
        )
        response = retriever.search("oak")
        assert [hit.id for hit in response] == ["d", "c", "a", "b"]
        assert response.trace.rerank_provider == name
        assert retriever.reranker is reranker


def test_a_blend_weighs_deviations_of_both_scores(index: hr.Index) -> None:
    before = hr.Retriever(index, ranking=hr.Ranking("best")).search("oak").results
    given = [0.1, 0.9, 0.5, 0.3]
    response = hr.Retriever(index, ranking=hr.Ranking("best"), reranker=Answering(given)).search(
        "oak"
    )
    assert response.trace.rerank_weight == 0.3
    assert response.trace.to_dict()["rerankWeight"] == 0.3

    def deviations(numbers: list[float]) -> list[float]:
        return [(number - fmean(numbers)) / pstdev(numbers) for number in numbers]

    fused = deviations([hit.score for hit in before])
    blend = {
        hit.id: 0.7 * z + 0.3 * r
        for hit, z, r in zip(before, fused, deviations(given), strict=True)
    }
    assert [hit.id for hit in response] == sorted(blend, key=blend.__getitem__, reverse=True)
    for hit in response:
        parts = hit.explanation["rerank_blend"]
        assert parts["weight"] == 0.3
        assert parts["total"] == pytest.approx(blend[hit.id])
        assert "counts 30 %, and the score of the search" in hit.explain()
    assert {hit.id: hit.score for hit in response} == {hit.id: hit.score for hit in before}


def test_equal_scores_leave_the_order_of_the_search(index: hr.Index) -> None:
    order = [hit.id for hit in hr.Retriever(index, ranking=hr.Ranking("best")).search("oak")]
    assert found(index, [5.0] * 4, hr.Ranking("best")) == order
    assert found(index, [5.0] * 4, hr.Ranking("best", rerank_weight=0)) == order


def test_a_document_without_a_score_is_dropped_or_the_lowest(index: hr.Index) -> None:
    order = [hit.id for hit in hr.Retriever(index).search("oak")]
    assert found(index, scores((3, 1.0), (1, 0.5))) == [order[3], order[1]]
    best = [hit.id for hit in hr.Retriever(index, ranking=hr.Ranking("best")).search("oak")]
    ranking = hr.Ranking("best", rerank_weight=1.0)
    assert found(index, scores((3, 1.0), (1, 0.5)), ranking) == [
        best[3],
        best[1],
        best[0],
        best[2],
    ]
    response = hr.Retriever(
        index, ranking=hr.Ranking("best"), reranker=Answering(scores((0, 1.0), (1, 0.5)))
    ).search("oak")
    lowest = response[-1].explanation
    assert (lowest["rerank_score"], lowest["rerank_blend"]["rerank_deviations"]) == (None, -1.0)
    assert "no score of the reranker" in response[-1].explain()


def test_the_tail_follows_unchanged(index: hr.Index) -> None:
    order = [hit.id for hit in hr.Retriever(index, ranking=hr.Ranking("best")).search("oak")]
    retriever = hr.Retriever(
        index, ranking=hr.Ranking("best", rerank_weight=1), reranker=Answering([0.0, 9.0])
    )
    hits = [hit.id for hit in retriever.search("oak", rerank_top_n=2)]
    assert hits == [order[1], order[0], *order[2:]]


@pytest.mark.parametrize("weight", [-0.1, 1.1, True, "0.3", float("nan")])
def test_weights_are_from_0_to_1(index: hr.Index, weight: Any) -> None:
    with pytest.raises(hr.InvalidInputError, match="rerank_weight must be a number from 0 to 1"):
        hr.Retriever(index, ranking=hr.Ranking("spec", rerank_weight=weight))


def test_at_least_one_character_is_read(index: hr.Index) -> None:
    with pytest.raises(hr.InvalidInputError, match="rerank_chars must be an integer of at least 1"):
        hr.Retriever(index, ranking=hr.Ranking("spec", rerank_chars=0))


class Meeting:
    """Returns once a given number of threads wait in it, so that fewer calls would fail."""

    name = "meeting"

    def __init__(self, calls: int) -> None:
        self.barrier = threading.Barrier(calls, timeout=30)

    def rerank(self, _query: str, documents: Sequence[hr.RerankDocument], /) -> list[float]:
        self.barrier.wait()
        return [float(-len(document.text)) for document in documents]


QUERIES = ["kaas", "huis", "fiets", "tuin"]


def test_a_batch_is_reranked_on_threads() -> None:
    alone = hr.Retriever(corpus("b"), reranker=Meeting(1))
    together = hr.Retriever(corpus("b"), reranker=Meeting(4))
    assert together.search_many(QUERIES, threads=4) == [alone.search(query) for query in QUERIES]


def test_asynchronous_rerankers_run_at_the_same_time() -> None:
    class Awaited(Meeting):
        waiting = 0
        all_wait = asyncio.Event()

        async def rerank(self, _query: str, documents: Any, /) -> Any:  # type: ignore[override]
            self.waiting += 1
            if self.waiting == len(QUERIES):
                self.all_wait.set()
            await asyncio.wait_for(self.all_wait.wait(), 30)
            return [float(-len(document.text)) for document in documents]

    retriever = hr.Retriever(corpus("b"), reranker=Awaited(1))
    found = asyncio.run(retriever.asearch_many(QUERIES, threads=4))
    alone = hr.Retriever(corpus("b"), reranker=Meeting(1))
    assert found == [alone.search(query) for query in QUERIES]


class Many(Meeting):
    def __init__(self) -> None:
        super().__init__(1)
        self.calls: list[tuple[Any, Any]] = []
        self.answer: Any = None

    def rerank_many(self, queries: Any, documents: Any) -> Any:
        self.calls.append((queries, documents))
        if self.answer is not None:
            return self.answer
        return [self.rerank(query, found) for query, found in zip(queries, documents, strict=True)]


def test_a_batch_is_one_call_of_rerank_many() -> None:
    reranker = Many()
    retriever = hr.Retriever(corpus("b"), reranker=reranker)
    many = retriever.search_many(QUERIES)
    [(queries, documents)] = reranker.calls
    assert queries == QUERIES
    assert [len(found) for found in documents] == [min(20, len(one)) for one in many]
    assert many == [retriever.search(query) for query in QUERIES]
    assert len(reranker.calls) == 1


def test_a_bad_answer_costs_its_query_alone() -> None:
    reranker = Many()
    retriever = hr.Retriever(corpus("b"), reranker=reranker)
    reranker.answer = [[], "x", [], []]
    responses = retriever.search_many(QUERIES)
    assert [response.error is None for response in responses] == [True, False, True, True]
    reranker.answer = [[]]
    responses = retriever.search_many(QUERIES)
    assert {str(response.error) for response in responses} == {
        "rerank_many answered with 1 lists of scores for 4 queries; it must return one for each "
        "query, in their order"
    }


def test_an_asynchronous_reranker_does_not_stop_writing() -> None:
    class Awaited:
        name = "awaited"

        async def rerank(self, _query: str, documents: Any, /) -> Any:
            return list(range(len(documents)))

    retriever = hr.Retriever(hr.Index.in_memory(), embedder=FnvEmbedder(), reranker=Awaited())
    assert retriever.upsert([hr.Chunk("a", "a.md", "oak")]) == 1
    assert retriever.reembed() == 1
    with pytest.raises(hr.InvalidInputError, match="the reranker is asynchronous"):
        retriever.search("oak")


@pytest.mark.parametrize(
    ("reranker", "hint"),
    [
        (type("Compressor", (), {"compress_documents": None})(), "hr.rerankers.LangChainReranker(...)"),
        (type("Rerank", (), {"postprocess_nodes": None})(), "hr.rerankers.LlamaIndexReranker(...)"),
        (Answering, "that is a class: pass an object of it, Answering(...)"),
        (3, "or be a function of both, not 3"),
    ],
)  # fmt: skip
def test_what_is_no_reranker_says_what_is(index: hr.Index, reranker: Any, hint: str) -> None:
    with pytest.raises(TypeError, match="reranker must have a name and a method rerank") as raised:
        hr.Retriever(index, reranker=reranker)
    assert hint in str(raised.value)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_any_finite_numbers_are_scores(numbers: list[float]) -> None:
    found = read_scores(numbers, len(numbers))
    assert [(one.index, one.score) for one in found] == list(enumerate(numbers))


def test_a_collection_elsewhere_is_reranked_alike(index: hr.Index) -> None:
    class Numbered(Answering):
        def rerank(self, _query: str, documents: Sequence[hr.RerankDocument], /) -> Any:
            self.given.append(documents)
            return [float(n) for n, _ in enumerate(documents)]

    one, other = Numbered(None), Numbered(None)
    collection = CountedCollection(list(index.chunks()))
    elsewhere = hr.Retriever(collection, reranker=one, ranking=hr.Ranking("best")).search("oak")
    here = hr.Retriever(index, reranker=other, ranking=hr.Ranking("best")).search("oak")
    assert [hit.id for hit in elsewhere] == [hit.id for hit in here]
    assert one.given == other.given
    assert elsewhere.trace.rerank_weight == 0.3


@pytest.mark.parametrize("option", ["rerank", "skip_retry_ladder"])
def test_words_are_no_flags(index: hr.Index, option: str) -> None:
    options: Any = {option: "no"}
    with pytest.raises(hr.InvalidInputError, match=f"{option} must be true or false, not 'no'"):
        hr.Retriever(index).search("oak", **options)


def test_scores_with_ids_instead_of_indices_are_a_bad_answer(index: hr.Index) -> None:
    def rerank(_: str, documents: Any) -> list[Any]:
        return [hr.RerankScore(document.id, 1.0) for document in documents]

    response = hr.Retriever(index, reranker=rerank).search("oak")
    assert isinstance(response.error, hr.HedgerowError)
    assert response.error.code == "bad_answer"
