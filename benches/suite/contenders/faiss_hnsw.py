"""faiss, HNSW: a graph that finds most of what is near."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suite.corpus import Corpus

from . import TOP

NEIGHBOURS = 32
EFFORT = 256
LARGEST = 100_000


class Graph:
    """With the neighbours and the effort that hnswlib is given too."""

    NAME = "faiss HNSW"
    PACKAGES = ("faiss-cpu",)
    NOTE = f"approximate: {NEIGHBOURS} neighbours, effort {EFFORT}; rows and scores alone"
    LARGEST = LARGEST

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        import faiss

        del folder, shared
        faiss.omp_set_num_threads(2)
        dimensions = corpus.vectors.shape[1]
        self._index = faiss.IndexHNSWFlat(dimensions, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = EFFORT
        self._index.add(corpus.vectors)
        self._index.hnsw.efSearch = EFFORT
        faiss.omp_set_num_threads(1)
        self._parameters = faiss.SearchParametersHNSW

    def nearest(self, vector: Any) -> Any:
        """Places, best first."""
        return self._index.search(vector[np.newaxis], TOP)[1][0]

    def with_effort(self, effort: int) -> Callable[[Any], Any]:
        """The same search with another effort."""
        parameters = self._parameters(efSearch=effort)
        return lambda vector: self._index.search(vector[np.newaxis], TOP, params=parameters)[1][0]

    def rows(self, answer: Any) -> list[int]:
        """Places count from 0; -1 says that it found no more."""
        return [int(place) + 1 for place in answer if place >= 0]

    def close(self) -> None:
        """Let go of the memory."""
        self._index.reset()
