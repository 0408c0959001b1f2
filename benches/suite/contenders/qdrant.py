"""Qdrant without a server: the client's local engine in Python and NumPy, in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus

from . import SHOWN, TOP

_NAME = "chunks"
_BLOCK = 1_000


class Qdrant:
    """The corpus vectors, one text field ranked by BM25, and a number to filter by."""

    NAME = "Qdrant local"
    PACKAGES = ("qdrant-client",)
    NOTE = (
        "exact, float32; one text field, without stems or weights; its own BM25, words joined by OR "
        "alone; ids and scores, and the payload where hybrid"
    )
    LARGEST = 20_000
    """Above this, Qdrant warns that local mode is not meant for so much data.

    It commits each point separately.
    """

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        from qdrant_client import models

        del shared
        self._models = models
        self._folder = folder
        self._rows = len(corpus)
        kept = models.FieldCondition(key="stamp", range=models.Range(lt=corpus.kept))
        self._filter = models.Filter(must=[kept])
        words = map(self._words, corpus.questions)
        self._asked = list(zip(words, corpus.question_vectors, strict=True))
        self._open()
        self._make(corpus)

    def _open(self) -> None:
        from qdrant_client import QdrantClient

        self._client = QdrantClient(path=str(self._folder))

    def _make(self, corpus: Corpus) -> None:
        """Create the text index before the points, as its documentation recommends."""
        models, dimensions = self._models, corpus.vectors.shape[1]
        vectors = models.VectorParams(size=dimensions, distance=models.Distance.DOT)
        self._client.create_collection(_NAME, vectors_config=vectors)
        scoring = models.TextScoringParams(type=models.TextScoringType.BM25)
        index = models.TextIndexParams(type="text", scoring=scoring)
        self._client.create_payload_index(_NAME, "content", index)
        stamps = corpus.stamps()
        for first in range(0, len(corpus), _BLOCK):
            block = slice(first, first + _BLOCK)
            texts = [" ".join(text[1:]) for text in corpus.texts[block]]
            payloads = [
                {"content": text, "stamp": stamp}
                for text, stamp in zip(texts, stamps[block], strict=True)
            ]
            rows = [text.row for text in corpus.texts[block]]
            batch = models.Batch(
                ids=rows, vectors=corpus.vectors[block].tolist(), payloads=payloads
            )
            self._client.upsert(_NAME, batch)

    def _query(self, query: Any, limit: int = TOP, **more: Any) -> list[Any]:
        answer = self._client.query_points(
            _NAME, query, limit=limit, **{"with_payload": False, **more}
        )
        points: list[Any] = answer.points
        return points

    def _words(self, text: str) -> Any:
        """Return a query of the words that hedgerow keeps."""
        return self._models.TextQuery(text=hr.compile_fts(text).replace(" OR ", " "))

    def words(self, text: str) -> list[Any]:
        """Search by words. The local engine tokenizes all texts again for each query."""
        return self._query(self._words(text), using="content")

    def nearest(self, vector: Any) -> list[Any]:
        """Return ids and scores."""
        return self._query(vector)

    def kept(self, vector: Any) -> list[Any]:
        """Search with a filter, which checks all payloads."""
        return self._query(vector, query_filter=self._filter)

    def hybrid(self, question: int) -> list[Any]:
        """Search with Qdrant's own rank fusion, with hedgerow's constant."""
        models = self._models
        words, vector = self._asked[question]
        return self._query(
            models.RrfQuery(rrf=models.Rrf(k=60)),
            SHOWN,
            prefetch=[
                models.Prefetch(query=words, using="content", limit=TOP),
                models.Prefetch(query=vector.tolist(), limit=TOP),
            ],
            with_payload=True,
        )

    def add_with_vector(self, new: tuple[str, Any]) -> list[Any]:
        """Add a point and search. The point is committed when the call returns."""
        self._rows += 1
        content, vector = new
        payload = {"content": content, "stamp": self._rows}
        point = self._models.PointStruct(id=self._rows, vector=vector.tolist(), payload=payload)
        self._client.upsert(_NAME, [point])
        return self._query(vector, 1)

    def reopened(self, vector: Any) -> list[Any]:
        """Reopen the collection, which reads everything, and search."""
        self._client.close()
        self._open()
        return self.nearest(vector)

    def rows(self, answer: list[Any]) -> list[int]:
        """Return the rows, which are the ids."""
        return [one.id for one in answer]

    def close(self) -> None:
        """Release the lock of the folder."""
        self._client.close()
