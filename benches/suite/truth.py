"""The true nearest vectors, to measure recall."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import numpy as np

from .contenders import TOP
from .shapes import Vectors, blocks

# A cosine within float32's rounding error of the last place counts as equal.
_EQUAL = 1e-6


class Truth:
    """For each question, the cosine of the last of the 60 nearest vectors, computed as float64."""

    def __init__(self, vectors: Vectors, questions: Vectors) -> None:
        self._vectors = vectors
        self._questions = questions.astype(np.float64)
        self._top = min(TOP, len(vectors))
        best = np.empty((len(questions), 0))
        for block in blocks(len(vectors)):
            cosines = self._questions @ vectors[block].T.astype(np.float64)
            both = np.hstack([best, cosines])
            best = np.partition(both, -min(self._top, both.shape[1]), axis=1)[:, -self._top :]
        self._least = best.min(axis=1) - _EQUAL

    def recall(self, found: Sequence[Sequence[int]]) -> float:
        """Return the share of the nearest vectors among the found rows.

        Ties at the end count as found.
        """
        return mean(map(self._share, range(len(found)), found))

    def _share(self, question: int, rows: Sequence[int]) -> float:
        vectors = self._vectors[[row - 1 for row in set(rows)]].astype(np.float64)
        return int(np.sum(vectors @ self._questions[question] >= self._least[question])) / self._top
