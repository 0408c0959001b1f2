"""hnswlib: an HNSW graph by the inventors of HNSW."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.corpus import Corpus

from . import TOP
from .faiss_hnsw import EFFORT, LARGEST, NEIGHBOURS


class Hnswlib:
    """A graph built on two threads and searched on one."""

    NAME = "hnswlib"
    PACKAGES = ("hnswlib",)
    NOTE = f"approximate: {NEIGHBOURS} neighbours, effort {EFFORT}; rows and scores alone"
    LARGEST = LARGEST

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        import hnswlib

        del folder, shared
        count, dimensions = corpus.vectors.shape
        self._index = hnswlib.Index(space="ip", dim=dimensions)
        self._index.init_index(max_elements=count, M=NEIGHBOURS, ef_construction=EFFORT)
        self._index.add_items(corpus.vectors, num_threads=2)
        self._index.set_ef(EFFORT)
        self._index.set_num_threads(1)
        self._top = min(TOP, count)

    def nearest(self, vector: Any) -> Any:
        """Return positions, best first."""
        return self._index.knn_query(vector, k=self._top)[0][0]

    def rows(self, answer: Any) -> list[int]:
        """Convert positions, which count from 0."""
        return [int(place) + 1 for place in answer]

    def close(self) -> None:
        """Free the memory."""
        del self._index
