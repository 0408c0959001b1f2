"""Chroma: collections of vectors with metadata, in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.corpus import Corpus, Text

from . import TOP
from .faiss_hnsw import EFFORT, LARGEST, NEIGHBOURS

_GRAPH = {
    "space": "ip",
    "max_neighbors": NEIGHBOURS,
    "ef_construction": EFFORT,
    "ef_search": EFFORT,
    "num_threads": 1,
}


class Chroma:
    """The corpus vectors, documents and a number to filter by.

    The graph has the settings of the others.
    """

    NAME = "Chroma"
    PACKAGES = ("chromadb",)
    NOTE = f"approximate: {NEIGHBOURS} neighbours, effort {EFFORT}; ids and distances alone"
    LARGEST = LARGEST

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        del shared
        self._folder = folder
        self._rows = len(corpus)
        self._filter = {"stamp": {"$lt": corpus.kept}}
        self._open()
        stamps = corpus.stamps()
        most = self._client.get_max_batch_size()
        for first in range(0, len(corpus), most):
            block = slice(first, first + most)
            self._add(corpus.texts[block], corpus.vectors[block], stamps[block])

    def _open(self) -> None:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(self._folder, settings)
        self._collection = self._client.get_or_create_collection(
            "chunks", configuration={"hnsw": _GRAPH}, embedding_function=None
        )
        self._top = min(TOP, self._rows)

    def _add(self, texts: list[Text], vectors: Any, stamps: list[int]) -> None:
        self._collection.add(
            ids=[str(text.row) for text in texts],
            embeddings=vectors,
            documents=[" ".join(text[1:]) for text in texts],
            metadatas=[{"stamp": stamp} for stamp in stamps],
        )

    def nearest(self, vector: Any) -> Any:
        """Return ids and distances."""
        return self._collection.query([vector], n_results=self._top, include=["distances"])

    def kept(self, vector: Any) -> Any:
        """Filter ids in SQLite first, then search the graph."""
        return self._collection.query(
            [vector], n_results=self._top, where=self._filter, include=["distances"]
        )

    def nearest_many(self, vectors: Any) -> Any:
        """Search with one call."""
        return self._collection.query(vectors, n_results=self._top, include=["distances"])

    def add_with_vector(self, new: tuple[str, Any]) -> Any:
        """Add a chunk and search. The chunk is committed when the call returns."""
        self._rows += 1
        content, vector = new
        text = Text(self._rows, "new.md", "", "", "", content)
        self._add([text], vector[None], [self._rows])
        return self._collection.query([vector], n_results=1, include=["distances"])

    def reopened(self, vector: Any) -> Any:
        """Reopen the index and search. The graph is loaded by the first search."""
        self._client.close()
        self._open()
        return self.nearest(vector)

    def rows(self, answer: Any) -> list[int]:
        """Return the rows, which are the ids. Of a batch, those of the first query."""
        return [int(one) for one in answer["ids"][0]]

    def close(self) -> None:
        """Close the files."""
        self._client.close()
