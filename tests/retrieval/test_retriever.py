"""`Retriever.search`: calls of its parts, and failures of them."""

from __future__ import annotations

import asyncio
import inspect
import logging
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from counted_collection import CountedCollection
from hedgerow._retrieval.searching import _SHORT
from hedgerow.typing import SearchKeywords
from retrieval_doubles import (
    AsyncFakeReranker,
    AsyncFnvEmbedder,
    BrokenEmbedder,
    FakeReranker,
    FnvEmbedder,
    corpus,
)

NOTES = [
    hr.Chunk("hedge", "garden/hedge.md", "Cut the hawthorn hedge in winter.", title="Hedges"),
    hr.Chunk("pond", "garden/pond.md", "The pond froze over in the winter of 2026-04-04."),
    hr.Chunk("bread", "kitchen/bread.md", "Flour, water, salt.", summary="A sourdough"),
]


@pytest.fixture
def notes_index() -> hr.Index:
    index = hr.Index.in_memory()
    hr.Retriever(index, embedder=FnvEmbedder()).upsert(NOTES)
    return index


def ids(response: hr.Response) -> list[str]:
    return [hit.id for hit in response]


def test_a_response_is_its_results(notes_index: hr.Index) -> None:
    response = hr.Retriever(notes_index).search("hedge winter")
    assert ids(response) == ["hedge", "pond"]
    assert len(response) == 2
    assert response[0] == response.results[0]
    assert not hr.Retriever(notes_index).search("nothing", skip_retry_ladder=True)


def test_results_pickle_and_compare(notes_index: hr.Index) -> None:
    response = hr.Retriever(notes_index, embedder=FnvEmbedder()).search("winter hedge")
    again = pickle.loads(pickle.dumps(response))
    assert again == response
    assert again.trace.to_dict() == response.trace.to_dict()
    assert again.explain() == response.explain()
    assert response != hr.Retriever(notes_index).search("winter hedge")


def test_a_retriever_pickles_with_what_it_was_made_of(tmp_path: Path) -> None:
    with hr.Index.open(tmp_path / "notes.db") as index:
        made = hr.Retriever(index, aliases={"snow": ["winter"]}, trigram_chunks=NOTES)
        made.upsert(NOTES)
        again = pickle.loads(pickle.dumps(made))
        assert ids(again.search("snow")) == ids(made.search("snow")) == ["hedge", "pond"]
        assert repr(made).startswith("Retriever(")
        again.index.close()


def test_the_query_is_embedded_as_it_was_asked(notes_index: hr.Index) -> None:
    embedder = FnvEmbedder()
    retriever = hr.Retriever(notes_index, embedder=embedder)
    retriever.search("Hedge  NOT pond")
    retriever.search("hedge", mode="bm25")
    assert embedder.calls == [["Hedge  NOT pond"]]


def test_dates_are_searched_for_but_not_embedded_or_reranked(notes_index: hr.Index) -> None:
    embedder, reranker = FnvEmbedder(), FakeReranker("len97")
    retriever = hr.Retriever(notes_index, embedder=embedder, reranker=reranker)
    question = "what froze 2 weeks ago?"
    response = retriever.search(question, question_date="2026-04-18", mode="bm25")
    assert ids(response)[0] == "pond"
    trace = response.trace
    assert trace.date_hints == ["2026/04/04"]
    assert trace.augmented_query == hr.augment_query(question, "2026-04-18")
    assert '"2026 04 04"' in trace.match_query
    assert trace.original_query == question
    assert reranker.calls[0][0] == question
    plain = retriever.search(question, question_date="no date").trace
    assert (plain.augmented_query, plain.date_hints) == (None, [])
    assert embedder.calls == [[question]]


def test_a_broken_embedder_leaves_keywords(
    notes_index: hr.Index, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = hr.Retriever(notes_index, embedder=BrokenEmbedder())
    with caplog.at_level(logging.WARNING, "hedgerow"):
        response = retriever.search("hedge", mode="semantic")
    assert ids(response) == ["hedge"]
    trace = response.trace
    assert (trace.error_stage, trace.mode, trace.fell_back_to_bm25) == ("vector", "bm25", True)
    assert "no model for 1 texts" in caplog.text


def test_a_broken_reranker_leaves_the_order(
    notes_index: hr.Index, caplog: pytest.LogCaptureFixture
) -> None:
    class NotANumber(FakeReranker):
        def rerank(self, _query, _documents, /):
            return [hr.RerankScore(0, float("nan"))]

    plain = hr.Retriever(notes_index).search("winter")
    for reranker, said in [
        (FakeReranker("throws"), "no answer"),
        (NotANumber("nan"), "the score nan for document 0; scores must be finite"),
    ]:
        with caplog.at_level(logging.WARNING, "hedgerow"):
            response = hr.Retriever(notes_index, reranker=reranker).search("winter")
        assert response.results == plain.results
        assert (response.trace.error_stage, response.trace.reranked) == ("rerank", False)
        assert said in caplog.text


def test_a_reranker_may_name_what_is_not_there_or_twice(notes_index: hr.Index) -> None:
    class Odd(FakeReranker):
        def rerank(self, _query, _documents, /):
            return [hr.RerankScore(index, 1.0) for index in (7, -1, 2**70, 1, 1, 0)]

    hits = hr.Retriever(notes_index, reranker=Odd("odd")).search("winter")
    assert ids(hits) == ["pond", "hedge"]


def test_no_leg_left_is_an_error_with_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with hr.Index.open(path) as index:
        hr.Retriever(index).upsert(NOTES)
    damage(path)
    with hr.Index.open(path) as index:
        retriever = hr.Retriever(index, embedder=BrokenEmbedder())
        with pytest.raises(hr.RetrievalError, match="no leg of the search could answer: ") as info:
            retriever.search("hedge")
        assert info.value.code == "retrieval_failed"
        assert info.value.trace.error_stage == "bm25"
        assert info.value.trace.attempts == []
        again = pickle.loads(pickle.dumps(info.value))
        assert (str(again), again.trace) == (str(info.value), info.value.trace)
        [returned] = retriever.search_many(["hedge"], on_error="return")
        assert isinstance(returned, hr.RetrievalError)


def test_one_failed_leg_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "notes.db"
    with hr.Index.open(path) as index:
        hr.Retriever(index, embedder=FnvEmbedder()).upsert(NOTES)
    damage(path)
    with hr.Index.open(path) as index, caplog.at_level(logging.WARNING, "hedgerow"):
        response = hr.Retriever(index, embedder=FnvEmbedder()).search("hedge")
        assert ids(response)[0] == "hedge"
        assert response.trace.error_stage == "bm25"
        assert "the bm25 leg failed, the other answers: " in caplog.text


def damage(path: Path) -> None:
    """Delete the data of the full-text index with a separate connection."""
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    program = (
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript("
        "'PRAGMA writable_schema=ON; DELETE FROM knowledge_fts_data;')"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "vector"}, "mode must be one of auto, bm25, semantic, hybrid, not 'vector'"),
        ({"limit": 0}, "limit must be an integer of at least 1, not 0"),
        ({"limit": True}, "limit must be an integer of at least 1, not True"),
        ({"candidates": 0.5}, "candidates must be an integer of at least 1, not 0.5"),
        ({"rerank_top_n": -1}, "rerank_top_n must be an integer of at least 0, not -1"),
        ({"filters": {"folder": {"$is": "x"}}}, 'filters["folder"] has no operator "$is"'),
    ],
)
def test_wrong_options(notes_index: hr.Index, options: dict, message: str) -> None:
    embedder = FnvEmbedder()
    with pytest.raises(hr.InvalidInputError) as info:
        hr.Retriever(notes_index, embedder=embedder).search("hedge", **options)
    assert message in str(info.value)
    assert embedder.calls == []


def test_limits_beyond_any_machine_are_all(notes_index: hr.Index) -> None:
    response = hr.Retriever(notes_index).search("winter", limit=10**30, candidates=10**30)
    assert ids(response) == ["hedge", "pond"]


def test_reranking_nothing_is_switched_off(notes_index: hr.Index) -> None:
    reranker = FakeReranker("reverse")
    response = hr.Retriever(notes_index, reranker=reranker).search("winter", rerank_top_n=0)
    assert response.trace.rerank_skipped_reason == "mode_off"
    assert reranker.calls == []


def test_wrong_parts(notes_index: hr.Index) -> None:
    with pytest.raises(TypeError, match=r"embedder must have a method embed\(texts\), not 3"):
        hr.Retriever(notes_index, embedder=3)
    with pytest.raises(TypeError, match="reranker must have a name and a method rerank"):
        hr.Retriever(notes_index, reranker=FnvEmbedder())
    with pytest.raises(hr.InvalidInputError, match='excludes operator="AND"'):
        hr.Retriever(notes_index, ranking=hr.Ranking("spec", matching="extended", operator="AND"))
    with pytest.raises(hr.InvalidInputError, match=r"trigram_chunks\[0\] must be a Candidate"):
        hr.Retriever(notes_index, trigram_chunks=["a"])
    with pytest.raises(TypeError, match="trigram_chunks must be an iterable, not 3"):
        hr.Retriever(notes_index, trigram_chunks=3)
    with pytest.raises(hr.InvalidInputError, match="query must be a text, not b'hedge'"):
        hr.Retriever(notes_index).search(b"hedge")


def test_vectors_that_do_not_fit(notes_index: hr.Index) -> None:
    class Three(FnvEmbedder):
        def embed(self, texts, /):
            return np.array([self.row] * len(texts))

    embedder = Three()
    for row, message in [
        ([1.0, 2.0, 3.0], "has 3 dimensions and the index has 64"),
        ([1.0, float("nan"), 0.0], "the embeddings of the queries[0] is not finite at position 1"),
        ([], "the embedder answered with 0 rows"),
    ]:
        embedder.row = row
        if not row:
            embedder.embed = lambda _texts: []
        with pytest.raises(hr.HedgerowError) as info:
            hr.Retriever(notes_index, embedder=embedder).search("hedge")
        assert message in str(info.value)


def test_another_embedder_is_refused(notes_index: hr.Index) -> None:
    embedder = FnvEmbedder()
    embedder.name = "other"
    with pytest.raises(hr.InvalidInputError, match=r"fnv64.*other|other.*fnv64") as info:
        hr.Retriever(notes_index, embedder=embedder).search("hedge")
    assert info.value.code == "embedder_mismatch"
    assert embedder.calls == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("x" * 70_000, "query_text_too_large"),
        ("é" * 33_000, "query_text_too_large"),
        ("yyy " * 4_097, "too_many_tokens"),
        ('a"b"' * 2_049, "too_many_tokens"),
        ("half \ud800", "lone_surrogate"),
    ],
)
def test_no_embedder_sees_what_no_search_takes(
    notes_index: hr.Index, query: str, code: str
) -> None:
    embedder = FnvEmbedder()
    for retriever in hr.Retriever(notes_index, embedder=embedder), hr.Retriever(notes_index):
        with pytest.raises(hr.InvalidInputError) as info:
            retriever.search(query)
        assert info.value.code == code
    assert embedder.calls == []


@given(st.text(alphabet='ab "*\u2003\u200bÅ\uac01', min_size=1, max_size=6))
def test_what_is_not_asked_to_be_checked_is_within_the_limits(text: str) -> None:
    hr.parse_query((text * _SHORT)[: _SHORT - 1])


def test_asynchronous_parts_want_the_asynchronous_methods(notes_index: hr.Index) -> None:
    embedded = hr.Retriever(notes_index, embedder=AsyncFnvEmbedder())
    reranked = hr.Retriever(notes_index, reranker=AsyncFakeReranker("reverse"))
    with pytest.raises(hr.InvalidInputError, match=r"await asearch\(...\) instead of search") as e:
        embedded.search("hedge")
    assert e.value.code == "incompatible_options"
    with pytest.raises(hr.InvalidInputError, match="the reranker is asynchronous"):
        reranked.search_many(["hedge"])
    with pytest.raises(hr.InvalidInputError, match=r"await aupsert"):
        embedded.upsert([])
    assert ids(asyncio.run(embedded.asearch("hedge")))[0] == "hedge"
    assert ids(asyncio.run(reranked.asearch("winter"))) == ["pond", "hedge"]


def test_explain_tells_what_happened(notes_index: hr.Index) -> None:
    told = hr.Retriever(
        notes_index, embedder=FnvEmbedder(), reranker=FakeReranker("reverse")
    ).search("hedgge", question_date="2026-04-18")
    text = told.explain()
    assert "Keywords found nothing; then trigram_fuzzy tried 'hedgge': 1 found." in text
    assert "Reranked by fake-reverse." in text
    assert text.count("\n1. ") == 1


@settings(max_examples=60)
@given(st.text(), st.sampled_from(["auto", "bm25", "semantic", "hybrid"]))
def test_any_text_searches(text: str, mode: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
    hr.Retriever(corpus("c"), embedder=FnvEmbedder()).search(text, mode=mode)


QUERIES = st.lists(
    st.sampled_from(
        ["recommend", "tips", "kaas", "huis", "how many", "AND", "OR", "NOT", "café", "日本"]
    ),
    max_size=5,
).map(" ".join)


@settings(max_examples=60)
@given(QUERIES, st.integers(1, 30), st.sampled_from(["bm25", "semantic", "hybrid"]))
def test_fewer_results_are_the_first_of_more(query: str, top_k: int, mode: str) -> None:
    retriever = hr.Retriever(corpus("b"), embedder=FnvEmbedder())
    fewer = retriever.search(query, limit=top_k, mode=mode)
    more = retriever.search(query, limit=top_k + 1, mode=mode)
    assert fewer.results == more.results[:top_k]


@settings(max_examples=25)
@given(QUERIES, st.randoms(use_true_random=False))
def test_the_order_of_writing_decides_nothing_but_equal_bm25(query: str, random) -> None:
    chunks = list(corpus("b").chunks())[::5]
    shuffled = hr.Index.in_memory()
    random.shuffle(chunks)
    shuffled.upsert(chunks)
    ordered = hr.Index.in_memory()
    ordered.upsert(sorted(chunks, key=lambda chunk: chunk.id))
    vectors = [
        hr.Retriever(index, embedder=FnvEmbedder()).search(query, mode="semantic", limit=60)
        for index in (ordered, shuffled)
    ]
    assert [(hit.id, hit.score) for hit in vectors[0]] == [
        (hit.id, hit.score) for hit in vectors[1]
    ]
    keywords = [hr.Retriever(index).search(query, limit=60) for index in (ordered, shuffled)]
    assert len(keywords[0]) == len(keywords[1])


def test_all_methods_that_search_have_the_same_options() -> None:
    def options(method: Callable[..., Any]) -> set[str]:
        others = {
            "self",
            "query",
            "queries",
            "id",
            "question_date",
            "threads",
            "on_error",
            "explain",
        }
        return inspect.signature(method).parameters.keys() - others

    for method in (hr.Retriever.search, hr.Retriever.asearch_many, hr.Retriever.why_not):
        assert options(method) == SearchKeywords.__annotations__.keys()


def test_a_search_passes_few_functions_before_the_engine(notes_index: hr.Index) -> None:
    """A search calls at most six functions of this package: each costs time in every search."""
    passed: list[str] = []

    class Engine:
        """Replaces the searcher, and ends the count."""

        def search(self, *given: Any) -> Any:
            sys.setprofile(None)
            return searcher.search(*given)

    def record(frame: Any, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        # Methods generated by dataclasses have no file.
        if event == "call" and ("hedgerow" in file or file == "<string>"):
            passed.append(frame.f_code.co_name)

    retriever = hr.Retriever(notes_index)
    searcher = retriever._stages.searcher
    retriever._stages.searcher = Engine()  # type: ignore[assignment]
    for query, options in [
        ("hedge", {}),
        ("\u6a39\u7bf1", {}),
        ("hedge", {"limit": 3, "mode": "bm25", "rerank": False}),
    ]:
        retriever.search(query, **options)
        passed.clear()
        sys.setprofile(record)
        try:
            retriever.search(query, **options)
        finally:
            sys.setprofile(None)
        assert len(passed) - 1 <= 6, passed  # the last one is `Engine.search`


def test_slugs_are_shared_by_retrievers_follow_changes_and_are_reported() -> None:
    index = hr.Index.in_memory()
    index.upsert(hr.Chunk(str(n), f"notes/espresso-{n}.md", "oak") for n in range(100))
    assert index.stats().fuzzy_bytes == 0, "no search came to the fuzzy rung"
    first, second = hr.Retriever(index), hr.Retriever(index)
    assert len(first.search("expresso").results) == 10
    read = index.stats().fuzzy_bytes
    assert 100 * 50 < read < 100 * 2000
    assert second.search("expresso") == first.search("expresso")
    assert index.stats().fuzzy_bytes == read
    index.upsert([hr.Chunk("17", "notes/lungo.md", "elm")])
    for retriever in (first, second):
        assert [hit.id for hit in retriever.search("lungoo").results] == ["17"]
    index.close()


def test_a_retriever_has_the_operations_of_the_table(notes_index: hr.Index) -> None:
    retriever = hr.Retriever(notes_index, ranking=hr.Ranking("best"), aliases={"yard": ["garden"]})
    retriever.upsert([{"id": "new", "path": "new.md", "content": "Moles dig."}])
    found = retriever.get("new")
    assert found is not None
    assert found == asyncio.run(retriever.aget("new"))
    assert retriever.stats().chunks == len(notes_index)
    explained = retriever.explain("the yard")
    assert [word.outcome for word in explained.words] == ["dropped", "kept"]
    assert "garden" in explained.match
    assert retriever.delete(paths=["new.md", "nowhere"]) == hr.Deletion(1, [], ["nowhere"])
    assert retriever.delete_path("new.md") == 0
    assert retriever.delete(["new"]) == hr.Deletion(0, [], ["new"])
    assert retriever.get("new") is None


def test_a_collection_has_statistics_of_its_own() -> None:
    elsewhere = hr.Retriever(CountedCollection())
    with pytest.raises(
        hr.InvalidInputError, match="stats is for an index; a collection has its own"
    ):
        elsewhere.stats()
