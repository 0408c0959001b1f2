"""tantivy: a search engine in Rust, like Lucene."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus

from . import TOP, WEIGHTS

_HEAP = 256_000_000


class Tantivy:
    """Five fields with hedgerow's weights. Results are scores and addresses only."""

    NAME = "tantivy"
    PACKAGES = ("tantivy",)
    NOTE = "5 fields with the same weights; its own BM25; scores and addresses alone; no prefixes"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        import tantivy

        del shared
        self._document = tantivy.Document
        schema = tantivy.SchemaBuilder().add_integer_field("row", stored=True)
        for field in WEIGHTS:
            schema.add_text_field(field, stored=True, tokenizer_name="en_stem")
        self._index = tantivy.Index(schema.build(), path=str(folder))
        self._writer = self._index.writer(heap_size=_HEAP, num_threads=1)
        for text in corpus.texts:
            self._writer.add_document(self._document(**text._asdict()))
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()
        self._rows = len(corpus)
        self._fields = list(WEIGHTS)

    def words(self, text: str) -> list[tuple[float, Any]]:
        """Search for the same words with tantivy's own parser, in its own syntax."""
        words = hr.compile_fts(text).replace(" AND NOT ", " -")
        query, _ = self._index.parse_query_lenient(words, self._fields, field_boosts=WEIGHTS)
        found: list[tuple[float, Any]] = self._searcher.search(query, TOP, count=False).hits
        return found

    operators = words

    def add(self, content: str) -> list[tuple[float, Any]]:
        """Commit a chunk, reload, and search for it."""
        self._rows += 1
        self._writer.add_document(self._document(row=self._rows, path="new.md", content=content))
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()
        return self.words(content.split(" ", 1)[0])

    def rows(self, answer: list[tuple[float, Any]]) -> list[int]:
        """Return the rows, which are read from the stored documents."""
        return [self._searcher.doc(address)["row"][0] for _, address in answer]

    def close(self) -> None:
        """Wait for the merge threads."""
        self._writer.wait_merging_threads()
