"""Whole searches: spec/fixtures/search.jsonl, one by one, in batches and with asyncio."""

from __future__ import annotations

import asyncio

import pytest

import hedgerow as hr
from retrieval_doubles import (
    AsyncFakeReranker,
    AsyncFnvEmbedder,
    FnvEmbedder,
    corpus,
    keywords,
    retriever,
)
from spec_fixtures import jsonl

CASES = jsonl("search")


def check(case: dict, response: hr.Response) -> None:
    expected = case["expected"]
    for hit, wanted in zip(response, expected["results"], strict=True):
        assert (hit.id, hit.path) == (wanted["id"], wanted["path"])
        assert hit.score == pytest.approx(wanted["score"], abs=1e-9)
        assert hit.bm25_rank == wanted["bm25Rank"]
        assert hit.vector_similarity == (
            None
            if wanted["vectorSimilarity"] is None
            else pytest.approx(wanted["vectorSimilarity"], abs=1e-5)
        )
        assert hit.rerank_score == wanted["rerankScore"]
    trace = response.trace.to_dict()
    assert {key: trace.get(key) for key in expected["trace"]} == expected["trace"]
    ours = {"matchQuery", "timings"}
    assert trace.keys() - {"notSearchedFor"} == expected["trace"].keys() | ours


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict) -> None:
    searcher = retriever(case)
    check(case, searcher.search(case["request"]["query"], **keywords(case)))
    reranked = [ids for _, ids in searcher.reranker.calls] if searcher.reranker else []
    assert reranked == ([case["expected"]["rerankedIds"]] if reranked else [])
    assert bool(reranked) == bool(case["expected"]["rerankedIds"])


def test_cases_under_asyncio_with_async_embedder_and_reranker() -> None:
    async def run() -> None:
        for case in CASES:
            embedder = AsyncFnvEmbedder() if case["options"]["embedder"] else None
            kind = case["options"]["reranker"]
            reranker = AsyncFakeReranker(kind) if kind else None
            searcher = retriever(case, embedder=embedder, reranker=reranker)
            check(case, await searcher.asearch(case["request"]["query"], **keywords(case)))

    asyncio.run(run())


@pytest.mark.parametrize("name", ["a", "b", "c"])
@pytest.mark.parametrize("threads", [1, 4, None])
def test_a_batch_is_each_search_bit_by_bit(name: str, threads: int | None) -> None:
    queries = [case["request"]["query"] for case in CASES if case["corpus"] == name]
    searcher = hr.Retriever(corpus(name), embedder=FnvEmbedder())
    batch = searcher.search_many(queries, threads=threads)
    assert batch == [searcher.search(query) for query in queries]
    assert asyncio.run(searcher.asearch_many(queries, threads=threads)) == batch
