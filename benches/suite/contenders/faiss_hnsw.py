"""faiss HNSW: an approximate graph index."""

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
    """A graph with the same neighbors and effort as hnswlib."""

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
        """Return positions, best first."""
        return self._index.search(vector[np.newaxis], TOP)[1][0]

    def with_effort(self, effort: int) -> Callable[[Any], Any]:
        """Return the search with another effort."""
        parameters = self._parameters(efSearch=effort)
        return lambda vector: self._index.search(vector[np.newaxis], TOP, params=parameters)[1][0]

    def rows(self, answer: Any) -> list[int]:
        """Convert positions, which count from 0. A position of -1 means that no more were found."""
        return [int(place) + 1 for place in answer if place >= 0]

    def close(self) -> None:
        """Free the memory."""
        self._index.reset()
