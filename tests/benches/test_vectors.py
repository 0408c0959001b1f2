"""The vector rows of `make bench`: shapes, contenders and recall."""

from types import SimpleNamespace

import numpy as np
import pytest

import hedgerow as hr
from suite import bench, busy, shapes
from suite.contenders import contenders, ours
from suite.corpus import made_up
from suite.rows import shapes as shaped
from suite.rows import vectors
from suite.truth import Truth

CORPUS = made_up(300)


@pytest.fixture
def bench_with_collection(tmp_path, collection):
    """hedgerow as the only contender, with 300 chunks and a budget of 10 ms per line."""
    one = bench.Bench(CORPUS, tmp_path / "bench", 0.01, collection)
    one.folder.mkdir()
    one.make(contenders()[:1])
    yield one
    one.close()


def test_vectors_in_tight_clusters_are_about_equally_far():
    made, questions = shapes.tight(1_000, 20)
    again = shapes.tight(1_000, 20)
    assert np.array_equal(made, again[0])
    assert np.array_equal(questions, again[1])
    cosines = np.sort(questions @ made.T, axis=1)
    assert np.allclose(np.linalg.norm(made, axis=1), 1)
    assert np.all(cosines[:, 500:] > 0.78)
    assert np.all(cosines[:, 500:] < 0.82)
    assert np.all(cosines[:, :500] < 0.7)


def test_given_vectors_come_before_their_copies(monkeypatch):
    given = shapes.unit(shapes.noise(np.random.default_rng(1), 100))
    made = shapes.tiled(given, 250)
    assert np.array_equal(made[:100], given)
    likeness = np.sum(made[100:200] * given, axis=1)
    assert np.all(likeness > 0.95)
    assert np.all(likeness < 0.99)
    assert np.allclose(np.linalg.norm(made, axis=1), 1)
    assert np.array_equal(shapes.tiled(given, 50), given[:50])
    monkeypatch.setattr(shapes, "_BLOCK", 64)
    assert np.array_equal(shapes.tiled(given, 250)[:100], given)


def test_recall_counts_what_is_as_near(monkeypatch):
    monkeypatch.setattr(shapes, "_BLOCK", 64)
    asked = CORPUS.question_vectors[:5]
    truth = Truth(CORPUS.vectors, asked)
    order = np.argsort(-(asked.astype(float) @ CORPUS.vectors.T.astype(float)), axis=1) + 1
    assert truth.recall(order[:, :60].tolist()) == 1
    assert truth.recall(order[:, 30:90].tolist()) == 0.5
    assert truth.recall([[row] * 60 for row in order[:, 0].tolist()]) == pytest.approx(1 / 60)
    assert truth.recall([[]] * 5) == 0
    equal = Truth(np.repeat(CORPUS.vectors[:1], 100, axis=0), asked)
    assert equal.recall([[*range(n, n + 60)] for n in range(1, 6)]) == 1


def test_other_shapes_have_lines_of_their_own(bench_with_collection):
    rows = list(shaped.measure(bench_with_collection))
    assert [row.key for row in rows] == ["vector-tight", "vector-real"]
    what = "vectors of real texts (collection, 2 and copies that were moved a little), top 60"
    assert rows[1].what == what
    assert rows[0].corpus == rows[1].corpus == "300"
    for row in rows:
        assert "recall of hedgerow 1.0000" in row.checks
        assert "reading int8 once" in row.figures


def test_a_file_is_opened_in_other_ways_and_closed_again(bench_with_collection, monkeypatch):
    monkeypatch.setattr(ours, "VARIANTS", {"hedgerow, plain": {"ranking": "fts5"}})
    with ours.variants(bench_with_collection.path, CORPUS) as there:
        [plain] = there.values()
        assert plain.rows(plain.nearest(CORPUS.vectors[7]))
    with pytest.raises(hr.HedgerowError, match="closed"):
        plain.nearest(CORPUS.vectors[7])


class Graph:
    """A graph that finds the nearest vectors with an effort of 128 or more."""

    def __init__(self, exact):
        self.exact = exact

    def nearest(self, vector):
        return self.exact(vector)

    def with_effort(self, effort):
        return self.exact if effort >= 128 else lambda _: []

    def rows(self, answer):
        return [int(hit.id) for hit in answer]

    def close(self):
        pass


@pytest.mark.parametrize("million", [False, True])
def test_the_targets_of_vectors(million, bench_with_collection, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 300)
    monkeypatch.setattr(bench, "MILLION", 300 if million else 301)
    monkeypatch.setattr(ours, "VARIANTS", {name: {} for name in ours.VARIANTS})
    bench_with_collection.present["faiss HNSW"] = Graph(
        bench_with_collection.present["hedgerow"].nearest
    )
    with ours.variants(bench_with_collection.path, CORPUS) as there:
        row = vectors.nearest(bench_with_collection, there, "vector", "vectors", reading=1.3)
    assert list(row.figures) == [
        *("hedgerow", *ours.VARIANTS, "faiss HNSW", "faiss HNSW, effort 128")
    ]
    recalls = [check for check in row.checks if check.startswith("recall of ")]
    assert recalls == [f"recall of {name} 1.0000" for name in row.figures]
    assert len([check for check in row.checks if check.startswith("memory of ")]) == 3
    aims = {target.aim: target for target in row.targets}
    assert list(aims) == [
        "at most 1.3 times reading int8 once",
        "exact: recall at least 1",
        "fast: recall at least 0.995",
        "fast: at most 0.25 times exact"
        if million
        else "fast: at most 0.6 times faiss HNSW, effort 128 (of equal recall)",
        "codes in memory: at most 1.5 times exact",
        *(["codes in memory: at most 0.35 times the memory of exact"] if million else []),
    ]
    assert aims["exact: recall at least 1"].met
    assert row.targets[0].met is None, "nobody read"
    assert all(target.met is not None for target in row.targets[1:])


def test_what_is_not_measured_is_an_open_target(bench_with_collection, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 300)
    row = vectors.nearest(bench_with_collection, {}, "vector", "vectors")
    assert [(target.aim, target.met) for target in row.targets] == [
        ("exact: recall at least 1", True),
        ("fast: recall at least 0.995", None),
        ("fast: at most 0.6 times faiss HNSW (of equal recall)", None),
        ("codes in memory: at most 1.5 times exact", None),
    ]


def test_memory_is_kept_busy_for_a_while(monkeypatch):
    processes = []

    class Recorded(busy.subprocess.Popen):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            processes.append(self)

    monkeypatch.setattr(busy.subprocess, "Popen", Recorded)
    with busy.busy_memory():
        assert processes[0].poll() is None
    assert processes[0].poll() is not None
    monkeypatch.setattr(busy, "_STREAM", "")
    with pytest.raises(RuntimeError, match="nothing streams through memory"), busy.busy_memory():
        pass


def test_chunks_are_written_in_blocks(monkeypatch):
    monkeypatch.setattr(ours, "_BLOCK", 100)
    sizes = []
    index = SimpleNamespace(upsert=lambda block: sizes.append(len(block)))
    ours.write(index, CORPUS.chunks(with_vectors=True))
    ours.write(index, [])
    assert sizes == [100, 100, 100]
