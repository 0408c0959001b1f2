"""Vectors found by a graph, which may miss some (spec/index.md, "Approximate search")."""

from __future__ import annotations

import pickle
import random
import time
from array import array
from pathlib import Path

import pytest

import hedgerow as hr

COUNT = 1200
DIMENSIONS = 8
LIMIT = 20


def vector(seed: object) -> array[float]:
    """A made-up vector, always the same for a seed."""
    dice = random.Random(repr(seed))  # noqa: S311 - test data
    return array("f", [dice.gauss(0, 1) for _ in range(DIMENSIONS)])


def chunk(number: int, seed: object = 0) -> hr.Chunk:
    embedding = vector((number, seed))
    return hr.Chunk(f"c{number}", f"{number % 9}.md", f"text {number}", embedding=embedding)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("approximate") / "index.db"
    with hr.Index.open(path) as index:
        index.upsert(map(chunk, range(COUNT)))
    return path


def wait_for_graph(index: hr.Index) -> float:
    """Search until the graph of what is stored now is there; what it finds of the nearest."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        index.search_vector(vector("any"), LIMIT)
        recall = index.stats().vector_recall
        if recall is not None:
            return recall
        time.sleep(0.01)
    raise AssertionError("the graph was not made")


def test_what_is_found_has_its_exact_cosine_and_place(path: Path) -> None:
    with hr.Index.open(path) as exact, hr.Index.open(path, vectors="hnsw") as index:
        assert index.stats().vector_recall is None
        first = index.search_vector(vector("first"), LIMIT)
        assert first == exact.search_vector(vector("first"), LIMIT), "no graph yet"
        without = index.stats().vector_bytes
        assert 0.95 < wait_for_graph(index) <= 1.0
        assert index.stats().vector_bytes > without
        assert exact.stats().vector_recall is None
        shared = 0
        for number in range(40):
            cosines = {
                hit.id: hit.vector_similarity for hit in exact.search_vector(vector(number), COUNT)
            }
            found = index.search_vector(vector(number), LIMIT)
            assert len(found) == LIMIT
            assert [hit.vector_similarity for hit in found] == [cosines[hit.id] for hit in found]
            order = list(cosines)
            places = [order.index(hit.id) for hit in found]
            assert places == sorted(places)
            shared += sum(place < LIMIT for place in places)
        assert shared > 0.9 * 40 * LIMIT
    assert repr(index).endswith("vectors='hnsw')")


def test_filters_groups_and_long_lists_are_exact(path: Path) -> None:
    filters = hr.Filters(paths=["1.md", "2.md"])
    with hr.Index.open(path) as exact, hr.Index.open(path, vectors="hnsw") as index:
        wait_for_graph(index)
        for number in range(10):
            query = vector(number)
            for options in ({"filters": filters}, {"limit": COUNT // 4}):
                found = index.search_vector(query, **options)  # type: ignore[arg-type]
                assert found == exact.search_vector(query, **options)  # type: ignore[arg-type]


def test_a_graph_follows_what_is_written(path: Path, tmp_path: Path) -> None:
    with hr.Index.open(path) as index:
        index.backup(tmp_path / "copy.db")
    with hr.Index.open(tmp_path / "copy.db", vectors="hnsw") as index:
        wait_for_graph(index)
        index.upsert([chunk(3, "new"), chunk(COUNT), chunk(COUNT + 1)])
        index.delete(["c5"])
        for _ in range(2):
            # At first all are compared, then the graph has followed.
            for number, seed in [(3, "new"), (COUNT, 0), (COUNT + 1, 0)]:
                assert index.search_vector(vector((number, seed)), 1)[0].id == f"c{number}"
            assert "c5" not in {hit.id for hit in index.search_vector(vector((5, 0)), LIMIT)}
            wait_for_graph(index)


def test_few_vectors_are_compared() -> None:
    with hr.Index.in_memory(vectors="hnsw") as index:
        index.upsert(map(chunk, range(999)))
        for _ in range(20):
            index.search_vector(vector("any"))
            time.sleep(0.005)
        assert index.stats().vector_recall is None


def test_a_retriever_searches_through_the_graph(path: Path) -> None:
    class Embedder:
        def embed(self, texts: list[str]) -> list[array[float]]:
            return [vector(text) for text in texts]

    queries = [f"text {number}" for number in range(30)]
    with hr.Index.open(path, vectors="hnsw") as index:
        wait_for_graph(index)
        for fusion in ("rrf", "score"):
            retriever = hr.Retriever(index, embedder=Embedder(), fusion=fusion)  # type: ignore[arg-type]
            batch = retriever.search_many(queries, candidate_k=LIMIT, threads=2)
            single = [retriever.search(query, candidate_k=LIMIT) for query in queries]
            assert [one.results for one in batch] == [one.results for one in single]


def test_closing_does_not_wait_for_the_graph(path: Path) -> None:
    index = hr.Index.open(path, vectors="hnsw")
    index.search_vector(vector("any"), LIMIT)
    index.close()
    with pytest.raises(hr.IndexFileError, match="is closed"):
        index.search_vector(vector("any"), LIMIT)


@pytest.mark.parametrize("wrong", ["", "HNSW", "flat"])
def test_an_unknown_way_is_refused(wrong: str, tmp_path: Path) -> None:
    for make in (
        lambda: hr.Index.open(tmp_path / "index.db", vectors=wrong),  # type: ignore[arg-type]
        lambda: hr.Index.in_memory(vectors=wrong),  # type: ignore[arg-type]
    ):
        with pytest.raises(hr.InvalidInputError) as caught:
            make()
        assert str(caught.value) == f'vectors must be "exact" or "hnsw", not "{wrong}"'
        assert caught.value.code == "invalid_option"
    assert not (tmp_path / "index.db").exists()


def test_a_handle_remembers_how_it_searches(path: Path) -> None:
    with (
        hr.Index.open(path, vectors="hnsw") as index,
        pickle.loads(pickle.dumps(index)) as again,
    ):
        assert repr(again) == repr(index)
    assert repr(hr.Index.in_memory(vectors="hnsw")).endswith(", vectors='hnsw')")
    assert "vectors" not in repr(hr.Index.in_memory(vectors="exact"))
