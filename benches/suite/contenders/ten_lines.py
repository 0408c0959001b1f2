"""A minimal search without a library: FTS5, numpy and a dict, in about ten lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suite.corpus import Corpus

from . import SHOWN, TOP, fts5


class TenLines:
    """Searches the file of the bare FTS5 contender."""

    NAME = "ten lines of Python"
    PACKAGES = ("numpy",)
    NOTE = "FTS5 and one product of numpy, fused in a dict; all vectors in memory as float32"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        del folder
        bare: fts5.Fts5 = shared["FTS5"]
        self._db = fts5.connect(bare.path)
        self._vectors = corpus.vectors
        self._asked = [
            (bare.matches[question], vector)
            for question, vector in zip(corpus.questions, corpus.question_vectors, strict=True)
        ]

    def nearest(self, vector: Any) -> Any:
        """Return rows, best first."""
        cosines = self._vectors @ vector
        best = np.argpartition(-cosines, min(TOP, len(cosines) - 1))[:TOP]
        return best[np.argsort(-cosines[best])] + 1

    def nearest_many(self, vectors: Any) -> list[Any]:
        """Compute all queries with one matrix product."""
        cosines = vectors @ self._vectors.T
        best = np.argpartition(-cosines, min(TOP, cosines.shape[1] - 1))[:, :TOP]
        return [
            rows[np.argsort(-cosine[rows])] + 1 for rows, cosine in zip(best, cosines, strict=True)
        ]

    def hybrid(self, question: int) -> list[Any]:
        """Return the texts of the best hits by reciprocal rank fusion."""
        match, vector = self._asked[question]
        words = [row for row, _ in self._db.execute(fts5.SEARCH, (match, TOP))] if match else []
        scores: dict[int, float] = {}
        for ranking in (words, self.nearest(vector).tolist()):
            for place, row in enumerate(ranking, 61):
                scores[row] = scores.get(row, 0.0) + 1 / place
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:SHOWN]
        read = "SELECT * FROM texts WHERE row = ?"
        return [self._db.execute(read, (row,)).fetchone() for row in best]

    def rows(self, answer: Any) -> list[int]:
        """Return the rows. If the results are texts, the row is their first column."""
        return [int(one[0]) if isinstance(one, tuple) else int(one) for one in answer]

    def close(self) -> None:
        """Close the file."""
        self._db.close()
