"""`offset`: results from a given position on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from retrieval_doubles import FakeReranker, FnvEmbedder, corpus

QUERY = "kaas huis café tips"


def ids(response: hr.Response) -> list[str]:
    return [hit.id for hit in response]


OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["bm25", "semantic", "hybrid"]),
        "group_by": st.sampled_from([None, "path"]),
        "candidates": st.just(40),
    }
)


@settings(max_examples=80)
@given(
    st.tuples(st.integers(0, 70), st.integers(1, 30)),
    OPTIONS,
    st.sampled_from([None, "reverse", "drop_odd", "throws"]),
    st.sampled_from(["rrf", "score"]),
    st.sampled_from([QUERY, "recommend tips", "how many kaas", "kasas", ""]),
)
def test_a_page_is_a_slice_of_a_search_without_pages(
    place: tuple[int, int], options, reranker, fusion, query: str
) -> None:
    retriever = hr.Retriever(
        corpus("b"),
        embedder=FnvEmbedder(),
        reranker=FakeReranker(reranker) if reranker else None,
        ranking=hr.Ranking("spec", fusion=fusion),
    )
    offset, top_k = place
    page = retriever.search(query, limit=top_k, offset=offset, **options)
    whole = retriever.search(query, limit=offset + top_k, **options)
    assert page.results == whole.results[offset:]
    assert page.trace == whole.trace
    assert page.offset == offset
    [of_a_batch] = retriever.search_many([query], limit=top_k, offset=offset, **options)
    assert of_a_batch == page


def test_pages_have_everything_once() -> None:
    retriever = hr.Retriever(corpus("b"))
    whole = ids(retriever.search(QUERY, limit=60))
    assert len(whole) > 7
    paged = []
    while page := retriever.search(QUERY, limit=7, offset=len(paged)):
        paged += ids(page)
    assert paged == whole


def test_past_the_last_there_is_nothing_and_the_trace_counts() -> None:
    retriever = hr.Retriever(corpus("b"))
    found = len(retriever.search(QUERY, limit=60))
    for offset in found, found + 1, 10**30:
        page = retriever.search(QUERY, offset=offset)
        assert (page.results, page.trace.fused_count) == ([], found)
        assert "Skipped the first " in page.explain()
        assert page.explain().endswith(", which is past the last.")


def test_candidates_are_where_pages_end() -> None:
    retriever = hr.Retriever(corpus("b"))
    assert len(retriever.search(QUERY, limit=60)) > 5
    assert len(retriever.search(QUERY, candidates=5, offset=3)) == 2
    assert len(retriever.search(QUERY, candidates=5, offset=5)) == 0


def test_results_keep_their_rank_in_words() -> None:
    retriever = hr.Retriever(corpus("b"))
    page = retriever.search(QUERY, limit=2, offset=3)
    lines = page.explain().splitlines()
    assert "Skipped the first 3." in lines
    assert [line.split(" ", 1)[0] for line in lines[-2:]] == ["4.", "5."]
    whole = retriever.search(QUERY, limit=5).explain().splitlines()
    assert lines[-2:] == whole[-2:]
    assert page != retriever.search(QUERY, limit=2)


@pytest.mark.parametrize("offset", [-1, True, 1.0, "2", None])
def test_a_wrong_offset_is_an_error(offset) -> None:
    message = f"offset must be an integer of at least 0, not {offset!r}"
    for search in (
        lambda retriever: retriever.search("kaas", offset=offset),
        lambda retriever: retriever.search_many(["kaas"], offset=offset),
    ):
        with pytest.raises(hr.InvalidInputError) as info:
            search(hr.Retriever(corpus("b")))
        assert (str(info.value), info.value.code) == (message, "invalid_option")
