"""Results of actors equal those of `Retriever.search_many`, to the bit."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
import ray
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import collection_contract as contract
import hedgerow as hr
from counted_collection import CountedCollection
from hedgerow.ray import search_many
from ray_doubles import LockedEmbedder, reversing
from retrieval_doubles import FakeReranker, FnvEmbedder, fnv64

DATES = ["2026-04-18", None, "3 May 2025"]


def rows_of(queries: list[str], **more: list[Any]) -> list[dict[str, Any]]:
    return [
        {"n": n, "query": query, **{name: values[n] for name, values in more.items()}}
        for n, query in enumerate(queries)
    ]


def taken(dataset: ray.data.Dataset) -> list[dict[str, Any]]:
    return sorted(dataset.take_all(), key=lambda row: row["n"])


def check(rows: list[dict[str, Any]], expected: list[hr.Response], *, trace: bool = True) -> None:
    """Check that rows equal responses.

    `==` compares the bits of floats, because none is NaN or -0.0.
    """
    assert len(rows) == len(expected)
    for row, response in zip(rows, expected, strict=True):
        for hit in row["results"]:
            for name in ("metadata", "explanation"):
                hit[name] = json.loads(hit[name])
        hits = [hit.to_dict() for hit in response]
        assert row["results"] == hits, row["query"]
        assert row["error"] is None
        if trace:
            told = response.trace.to_dict()
            told.pop("timings")
            assert json.loads(row["trace"]) == told


OPTIONS: list[dict[str, Any]] = [
    {},
    {"ranking": hr.Ranking("best"), "candidates": 7, "limit": 3, "offset": 1},
    {"mode": "bm25", "ranking": hr.Ranking("spec", operator="AND"), "group_by": "path"},
    {"mode": "semantic", "filters": {"path_prefix": "notes/"}, "aliases": {"kaas": ["cheese"]}},
    {
        "ranking": hr.Ranking("spec", fusion="score", matching="extended"),
        "skip_retry_ladder": True,
        "question_date": "2026-04-18",
    },
]
SEARCHING = (
    "candidates",
    "limit",
    "offset",
    "mode",
    "group_by",
    "filters",
    "skip_retry_ladder",
    "question_date",
)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "none")
def test_answers_of_actors_are_those_of_one_process(
    path: Path, queries: list[str], options: dict[str, Any]
) -> None:
    searching = {name: value for name, value in options.items() if name in SEARCHING}
    retrieving = {name: options[name] for name in options.keys() - {*searching, "threads"}}
    with hr.Retriever(path, embedder=FnvEmbedder(), **retrieving) as retriever:
        expected = retriever.search_many(queries, threads=1, **searching)
    dataset = ray.data.from_items(rows_of(queries), override_num_blocks=5)
    found = search_many(
        path,
        dataset,
        embedder=FnvEmbedder(),
        fields="all",
        trace=True,
        batch_size=17,
        actors=2,
        **options,
    )
    assert found.columns() == ["n", "query", "results", "error", "trace"]
    check(taken(found), expected)


def test_a_retriever_with_its_parts_is_sent_as_it_is(path: Path, queries: list[str]) -> None:
    def embedder(texts: list[str]) -> list[list[float]]:
        return [fnv64(text) for text in texts]

    dataset = ray.data.from_items(rows_of(queries), override_num_blocks=3)
    with hr.Retriever(path, embedder=embedder, reranker=FakeReranker("drop_odd")) as retriever:
        expected = retriever.search_many(queries, threads=1)
        check(taken(search_many(retriever, dataset, fields="all", trace=True)), expected)


def test_parts_are_made_in_actors(path: Path, queries: list[str], tmp_path: Path) -> None:
    dataset = ray.data.from_items(rows_of(queries), override_num_blocks=2)
    make = functools.partial(LockedEmbedder, tmp_path)
    found = search_many(
        path, dataset, make_embedder=make, make_reranker=reversing, fields="all", trace=True
    )
    with hr.Retriever(path, embedder=FnvEmbedder(), reranker=reversing()) as retriever:
        check(taken(found), retriever.search_many(queries, threads=1))
    with pytest.raises(hr.InvalidInputError) as info:
        search_many(path, dataset, embedder=make())
    assert info.value.code == "not_picklable"
    assert str(info.value) == (
        "what actors are to search with cannot be pickled: cannot pickle a model; have what does not "
        "pickle made in each actor, with make_embedder= or make_reranker="
    )


@pytest.mark.parametrize("tensors", [False, True])
def test_vectors_and_dates_of_columns(path: Path, queries: list[str], tensors: bool) -> None:
    queries = [*queries[:40], "last spring", "last spring", "x" * 70_000, "last spring"]
    known = [fnv64(query) or [0.0] * 64 for query in queries]
    vectors: list[Any] = (
        known if tensors else [None if n % 5 == 3 else v for n, v in enumerate(known)]
    )
    dates = [DATES[n % 3] for n in range(len(queries))]
    rows = rows_of(queries, vector=vectors, date=dates)
    dataset = ray.data.from_items(rows, override_num_blocks=2)
    if tensors:
        import numpy as np  # noqa: PLC0415 - Ray makes tensors of arrays

        dataset = ray.data.from_items(
            [{**row, "vector": np.float32(row["vector"])} for row in rows]
        )
    found = taken(
        search_many(
            path, dataset, vector_column="vector", date_column="date", fields="all", trace=True,
            on_error="return", batch_size=9,
        )
    )  # fmt: skip
    refused = found.pop(42)
    assert refused["error"]["code"] == "query_text_too_large"
    assert refused["results"] is None
    assert refused["trace"] is None
    for rest in (queries, vectors, dates):
        del rest[42]
    given = iter([() if vector is None else vector for vector in vectors])
    with hr.Retriever(path, embedder=lambda texts: [next(given) for _ in texts]) as retriever:
        check(found, retriever.search_many(queries, threads=1, question_date=dates))


WORDS = [
    "oak",
    "kaas",
    "fiets",
    "tax",
    "the",
    "NOT",
    "OR",
    '"vet night"',
    "caf*",
    "🌳",
    "ünïcode",
    "2026",
]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=6), max_size=60),
    st.data(),
)
def test_whatever_is_asked_and_however_it_is_cut(
    path: Path, asked: list[list[str]], data: st.DataObject
) -> None:
    queries = [" ".join(words).encode("utf-8", "replace").decode() for words in asked]
    blocks = data.draw(st.integers(1, 4))
    batch_size = data.draw(st.integers(1, 70))
    if not queries:
        return
    dataset = ray.data.from_items(rows_of(queries), override_num_blocks=min(blocks, len(queries)))
    found = search_many(path, dataset, embedder=FnvEmbedder(), fields="all", batch_size=batch_size)
    with hr.Retriever(path, embedder=FnvEmbedder()) as retriever:
        check(taken(found), retriever.search_many(queries, threads=1), trace=False)


def test_a_dataset_that_is_read_meanwhile_leaves_a_cpu_for_that(
    path: Path, queries: list[str], tmp_path: Path
) -> None:
    """A pool that reserved both CPUs would wait for blocks that need one."""
    ray.data.from_items(rows_of(queries), override_num_blocks=6).write_parquet(str(tmp_path / "in"))
    dataset = ray.data.read_parquet(str(tmp_path / "in")).repartition(8)
    found = search_many(path, dataset, prefix="my_")
    found.write_parquet(str(tmp_path / "out"))
    rows = sorted(ray.data.read_parquet(str(tmp_path / "out")).take_all(), key=lambda row: row["n"])
    with hr.Retriever(path) as retriever:
        expected = retriever.search_many(queries, threads=1)
    assert [row["query"] for row in rows] == queries
    assert [[hit["score"] for hit in row["my_results"]] for row in rows] == [
        [hit.score for hit in response] for response in expected
    ]
    hit = next(hit for row in rows for hit in row["my_results"])
    assert list(hit) == [
        "id", "path", "score", "bm25_rank", "vector_similarity", "rerank_score"
    ]  # fmt: skip


def test_blocks_keep_their_order_where_ray_is_asked_to(path: Path, queries: list[str]) -> None:
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    try:
        dataset = ray.data.from_items(rows_of(queries), override_num_blocks=9)
        found = search_many(path, dataset, actors=2, batch_size=4).take_all()
    finally:
        context.execution_options.preserve_order = False
    assert [row["n"] for row in found] == list(range(len(queries)))


def test_of_no_rows_there_are_no_answers(path: Path, queries: list[str]) -> None:
    dataset = ray.data.from_items(rows_of(queries[:4])).filter(lambda row: row["n"] > 9)
    assert search_many(path, dataset).take_all() == []


def test_a_collection_elsewhere_is_searched_as_by_one_process(queries: list[str]) -> None:
    collection = CountedCollection(contract.chunks(40, 1))
    some = queries[:12] + [asked.query for asked in contract.searches(12, 1)]
    expected = hr.Retriever(collection, embedder=FnvEmbedder()).search_many(some, threads=1)
    found = search_many(
        collection,
        ray.data.from_items(rows_of(some), override_num_blocks=3),
        embedder=FnvEmbedder(),
        fields="all",
        trace=True,
        actors=2,
    )
    check(taken(found), expected)
