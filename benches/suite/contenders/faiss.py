"""faiss, flat: every vector is compared, as float32."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suite.corpus import Corpus

from . import TOP


class Flat:
    """A full scan by inner product."""

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
        """Return positions, best first."""
        return self._index.search(vector[np.newaxis], TOP)[1][0]

    def nearest_many(self, vectors: Any) -> Any:
        """Search with one call."""
        return self._index.search(vectors, TOP)[1]

    def rows(self, answer: Any) -> list[int]:
        """Convert positions, which count from 0.

        A position of -1 means that there are fewer vectors.
        """
        return [int(place) + 1 for place in answer if place >= 0]

    def close(self) -> None:
        """Free the memory."""
        self._index.reset()
