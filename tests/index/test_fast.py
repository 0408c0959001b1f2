"""Vector search with one bit per number first, and vectors kept in the file (spec/index.md)."""

from __future__ import annotations

import pickle
import random
from array import array
from pathlib import Path

import pytest

import hedgerow as hr

COUNT = 3000
DIMENSIONS = 96
LIMIT = 20


def vector(seed: object) -> array[float]:
    """Return a pseudo-random vector for a seed."""
    dice = random.Random(repr(seed))  # noqa: S311 - test data
    return array("f", [dice.gauss(0.3, 1) for _ in range(DIMENSIONS)])


def near(number: int) -> array[float]:
    """Return a vector near a stored one."""
    return array("f", map(lambda x, y: x + y / 2, vector((number, 0)), vector(("off", number))))


def chunk(number: int, seed: object = 0) -> hr.Chunk:
    embedding = vector((number, seed))
    return hr.Chunk(f"c{number}", f"{number % 90}.md", f"text {number}", embedding=embedding)


@pytest.fixture(scope="module")
def vectors_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fast") / "index.db"
    with hr.Index.open(path) as index:
        index.upsert(map(chunk, range(COUNT)))
    return path


def test_what_is_found_has_its_exact_cosine_and_rank(vectors_file: Path) -> None:
    with hr.Index.open(vectors_file) as exact, hr.Index.open(vectors_file, vectors="fast") as index:
        assert index.stats().vector_recall is None, "not before vectors are searched"
        shared = 0
        for number in range(40):
            expected = exact.search_vector(near(number), COUNT)
            cosines = {hit.id: hit.vector_similarity for hit in expected}
            found = index.search_vector(near(number), LIMIT)
            assert len(found) == LIMIT
            assert [hit.vector_similarity for hit in found] == [cosines[hit.id] for hit in found]
            order = list(cosines)
            ranks = [order.index(hit.id) for hit in found]
            assert ranks == sorted(ranks)
            shared += sum(rank < LIMIT for rank in ranks)
        assert shared >= 0.98 * 40 * LIMIT
        recall = index.stats().vector_recall
        assert recall is not None
        assert 0.98 <= recall <= 1
        assert exact.stats().vector_recall is None
        assert index.stats().vector_bytes > exact.stats().vector_bytes
    assert repr(index).endswith("vectors='fast')")


def test_two_handles_find_the_same_whatever_they_saw_before(
    vectors_file: Path, tmp_path: Path
) -> None:
    with hr.Index.open(vectors_file) as index:
        index.backup(tmp_path / "copy.db")
    with hr.Index.open(tmp_path / "copy.db", vectors="fast") as index:
        index.search_vector(near(1), LIMIT)
        for number in range(0, COUNT, 7):
            index.upsert([chunk(number, "new"), chunk(COUNT + number)])
            index.delete([f"c{number + 1}"])
        queries = [near(number) for number in range(30)]
        found = [index.search_vector(query, LIMIT) for query in queries]
        with hr.Index.open(tmp_path / "copy.db", vectors="fast") as other:
            assert [other.search_vector(query, LIMIT) for query in queries] == found


def test_filters_hold_before_the_first_look(vectors_file: Path) -> None:
    filters = hr.Filters(paths=[f"{number}.md" for number in range(0, 90, 2)])
    with hr.Index.open(vectors_file) as exact, hr.Index.open(vectors_file, vectors="fast") as index:
        shared = 0
        for number in range(20):
            found = index.search_vector(near(number), LIMIT, filters=filters)
            expected = exact.search_vector(near(number), LIMIT, filters=filters)
            assert len(found) == LIMIT
            assert {int(hit.path.removesuffix(".md")) % 2 for hit in found} == {0}
            shared += len({hit.id for hit in found} & {hit.id for hit in expected})
        assert shared >= 0.98 * 20 * LIMIT


def test_a_write_is_seen_by_the_next_search(vectors_file: Path, tmp_path: Path) -> None:
    with hr.Index.open(vectors_file) as index:
        index.backup(tmp_path / "copy.db")
    with hr.Index.open(tmp_path / "copy.db", vectors="fast") as index:
        index.search_vector(vector("any"), LIMIT)
        index.upsert([chunk(3, "new"), chunk(COUNT), chunk(COUNT + 1)])
        index.delete(["c5"])
        for number, seed in [(3, "new"), (COUNT, 0), (COUNT + 1, 0)]:
            assert index.search_vector(vector((number, seed)), 1)[0].id == f"c{number}"
        assert "c5" not in {hit.id for hit in index.search_vector(vector((5, 0)), LIMIT)}


@pytest.mark.parametrize("vectors", ["exact", "fast"])
def test_vectors_left_in_the_file_change_no_result(vectors_file: Path, vectors: str) -> None:
    with (
        hr.Index.open(vectors_file, vectors=vectors) as index,  # type: ignore[arg-type]
        hr.Index.open(vectors_file, vectors=vectors, resident="codes") as codes,  # type: ignore[arg-type]
    ):
        filters = hr.Filters(paths=["1.md"])
        for number in range(20):
            query = near(number)
            assert codes.search_vector(query, LIMIT) == index.search_vector(query, LIMIT)
            found = codes.search_vector(query, LIMIT, filters=filters)
            assert found == index.search_vector(query, LIMIT, filters=filters)
        assert codes.stats().vector_bytes < 0.45 * index.stats().vector_bytes
        assert codes.stats().vector_recall == index.stats().vector_recall
        assert repr(codes).endswith("resident='codes')")
        codes.close()


def test_a_retriever_searches_fast_and_with_codes(vectors_file: Path) -> None:
    class Embedder:
        def embed(self, texts: list[str]) -> list[array[float]]:
            return [vector(text) for text in texts]

    queries = [f"text {number}" for number in range(30)]
    answers = []
    for resident in ("all", "codes"):
        with hr.Index.open(vectors_file, vectors="fast", resident=resident) as index:  # type: ignore[arg-type]
            for fusion in ("rrf", "score"):
                retriever = hr.Retriever(
                    index, embedder=Embedder(), ranking=hr.Ranking("spec", fusion=fusion)
                )  # type: ignore[arg-type]
                for group_by in (None, "path"):
                    options = {"candidates": LIMIT, "group_by": group_by}
                    batch = retriever.search_many(queries, threads=2, **options)  # type: ignore[arg-type]
                    single = [retriever.search(query, **options) for query in queries]  # type: ignore[arg-type]
                    assert [one.results for one in batch] == [one.results for one in single]
                    answers.append([one.results for one in batch])
    assert answers[:4] == answers[4:]


@pytest.mark.parametrize(
    ("option", "wrong", "message"),
    [
        ("vectors", "", 'vectors must be "exact" or "fast", not ""'),
        ("vectors", "FAST", 'vectors must be "exact" or "fast", not "FAST"'),
        (
            "vectors",
            "hnsw",
            'vectors="hnsw" was removed, since every write made its graph useless; '
            'use vectors="fast"',
        ),
        ("resident", "float32", 'resident must be "all" or "codes", not "float32"'),
    ],
)
def test_an_unknown_way_is_refused(option: str, wrong: str, message: str, tmp_path: Path) -> None:
    for make in (
        lambda: hr.Index.open(tmp_path / "index.db", **{option: wrong}),  # type: ignore[arg-type]
        lambda: hr.Index.in_memory(**{option: wrong}),  # type: ignore[arg-type]
    ):
        with pytest.raises(hr.InvalidInputError) as caught:
            make()
        assert str(caught.value) == message
        assert caught.value.code == "invalid_option"
    assert not (tmp_path / "index.db").exists()


def test_a_handle_remembers_how_it_searches(vectors_file: Path) -> None:
    with (
        hr.Index.open(vectors_file, vectors="fast", resident="codes") as index,
        pickle.loads(pickle.dumps(index)) as again,
    ):
        assert repr(again) == repr(index)
    assert repr(hr.Index.in_memory(vectors="fast")).endswith(", vectors='fast')")
    assert "vectors" not in repr(hr.Index.in_memory(vectors="exact", resident="all"))
