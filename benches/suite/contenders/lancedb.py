"""LanceDB: an embedded vector database with full-text search."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus
from suite.shapes import blocks

from . import SHOWN, TOP


class LanceDB:
    """One text column for all fields, and vectors without an index: exact, like hedgerow."""

    NAME = "LanceDB"
    PACKAGES = ("lancedb", "pyarrow")
    NOTE = "exact vectors, one text field; as many threads as it likes"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.index import FTS
        from lancedb.rerankers import RRFReranker

        del shared
        vector = pa.list_(pa.float32(), corpus.vectors.shape[1])
        columns = {"row": pa.int64(), "content": pa.string(), "stamp": pa.int64(), "vector": vector}
        schema = pa.schema(columns)
        stamps = corpus.stamps()
        batches = (_batch(corpus, block, stamps, schema) for block in blocks(len(corpus)))
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        self._connect = lambda: lancedb.connect(folder)
        self._table = self._connect().create_table("chunks", reader)
        self._rows = len(corpus)
        self._filter = f"stamp < {corpus.kept}"
        self._table.create_index("content", config=FTS())
        self._fuse = RRFReranker(K=60)
        words = (hr.compile_fts(question).replace(" OR ", " ") for question in corpus.questions)
        self._asked = list(zip(words, corpus.question_vectors, strict=True))

    def nearest(self, vector: Any) -> list[dict[str, Any]]:
        """Return rows and distances."""
        found: list[dict[str, Any]] = self._near(vector).limit(TOP).to_list()
        return found

    def _near(self, vector: Any) -> Any:
        return self._table.search(vector).distance_type("dot").select(["row", "_distance"])

    def kept(self, vector: Any) -> list[dict[str, Any]]:
        """Filter before vectors are compared. The column has no index."""
        query = self._near(vector).where(self._filter, prefilter=True)
        found: list[dict[str, Any]] = query.limit(TOP).to_list()
        return found

    def hybrid(self, question: int) -> list[dict[str, Any]]:
        """Search with LanceDB's own fusion, with hedgerow's constant."""
        words, vector = self._asked[question]
        query = self._table.search(query_type="hybrid").vector(vector).text(words)
        query = query.distance_type("dot").select(["row", "content"])
        found: list[dict[str, Any]] = query.rerank(self._fuse).limit(SHOWN).to_list()
        return found

    def add_with_vector(self, new: tuple[str, Any]) -> list[dict[str, Any]]:
        """Add a chunk, which creates a new version of the table, and search for it."""
        self._rows += 1
        content, vector = new
        chunk = {"row": self._rows, "content": content, "stamp": self._rows, "vector": vector}
        self._table.add([chunk])
        found: list[dict[str, Any]] = self._near(vector).limit(1).to_list()
        return found

    def reopened(self, vector: Any) -> list[dict[str, Any]]:
        """Reopen the table and search. A search reads only the data it needs."""
        self._table = self._connect().open_table("chunks")
        return self.nearest(vector)

    def rows(self, answer: list[dict[str, Any]]) -> list[int]:
        """Return the row column."""
        return [one["row"] for one in answer]

    def close(self) -> None:
        """Close the table."""
        del self._table


def _batch(corpus: Corpus, block: slice, stamps: list[int], schema: Any) -> Any:
    """Return a batch of concatenated texts, stamps and vectors."""
    import pyarrow as pa

    texts, vectors = corpus.texts[block], corpus.vectors[block]
    columns = [
        pa.array([text.row for text in texts]),
        pa.array([" ".join(text[1:]) for text in texts]),
        pa.array(stamps[block]),
        pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
