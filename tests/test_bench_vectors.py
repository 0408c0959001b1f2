"""The vectors of `make bench`, and what of them is found."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

BENCHES = Path(__file__).parents[1] / "benches"
if not BENCHES.exists():
    pytest.skip("a source distribution has no benches", allow_module_level=True)
sys.path.insert(0, str(BENCHES))

from suite import shapes  # noqa: E402
from suite.contenders import ours  # noqa: E402
from suite.corpus import made_up  # noqa: E402
from suite.truth import Truth  # noqa: E402

CORPUS = made_up(300)


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


def test_chunks_are_written_in_blocks(monkeypatch):
    monkeypatch.setattr(ours, "_BLOCK", 100)
    sizes = []
    index = SimpleNamespace(upsert=lambda block: sizes.append(len(block)))
    ours.write(index, CORPUS.chunks(with_vectors=True))
    ours.write(index, [])
    assert sizes == [100, 100, 100]
