"""faiss, flat: every vector is compared, as float32."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suite.corpus import Corpus

from . import TOP


class Flat:
    """An inner product of each."""

    NAME = "faiss flat"
    PACKAGES = ("faiss-cpu",)
    NOTE = "exact, float32; rows and scores alone"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        import faiss

        del folder, shared
        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexFlatIP(corpus.vectors.shape[1])
        self._index.add(corpus.vectors)

    def nearest(self, vector: Any) -> Any:
        """Places, best first."""
        return self._index.search(vector[np.newaxis], TOP)[1][0]

    def nearest_many(self, vectors: Any) -> Any:
        """One call."""
        return self._index.search(vectors, TOP)[1]

    def rows(self, answer: Any) -> list[int]:
        """Places count from 0; -1 says that there are not so many."""
        return [int(place) + 1 for place in answer if place >= 0]

    def close(self) -> None:
        """Let go of the memory."""
        self._index.reset()
