"""hedgerow itself, asked through its public interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus, Vectors

from . import SHOWN, TOP


class Ready:
    """An embedder that has the vectors of all texts, so that no model is timed."""

    def __init__(self) -> None:
        self.vectors: dict[str, Any] = {}

    def embed(self, texts: Sequence[str]) -> list[Any]:
        """The vector of each text."""
        return [self.vectors[text] for text in texts]


class Hedgerow:
    """Whole calls, ranked from memory."""

    NAME = "hedgerow"
    PACKAGES = ()
    NOTE = "whole calls: from the text of a query to hits that have their texts"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        del shared
        self.path = folder / "hedgerow.db"
        self.index = hr.Index.open(self.path, ranking="memory")
        self.index.upsert(corpus.chunks(with_vectors=True))
        self._rows = len(corpus)
        self.questions = corpus.questions
        self._ready = Ready()
        self._ready.vectors.update(zip(corpus.questions, corpus.question_vectors, strict=True))
        self.retriever = hr.Retriever(self.index, embedder=self._ready)
        # Texts without a word to search for, which leave nothing to do but the vectors.
        self._wordless = [" ".join(pair) for pair in product(sorted(hr.EN_STOPWORDS), repeat=2)]

    def words(self, text: str) -> list[hr.Hit]:
        """By BM25 alone."""
        return self.index.search_bm25(text, TOP)

    prefixes = operators = words

    def nearest(self, vector: Any) -> list[hr.Hit]:
        """Every vector is compared."""
        return self.index.search_vector(vector, TOP)

    def nearest_many(self, vectors: Vectors) -> list[hr.Response]:
        """A batch on one thread."""
        texts = self._wordless[: len(vectors)]
        self._ready.vectors.update(zip(texts, vectors, strict=True))
        return self.retriever.search_many(
            texts, mode="semantic", top_k=TOP, candidate_k=TOP, threads=1, skip_retry_ladder=True
        )

    def hybrid(self, question: int) -> hr.Response:
        """Every stage of the specification, with trace and explanations."""
        return self.retriever.search(self.questions[question], top_k=SHOWN, candidate_k=TOP)

    def add(self, content: str) -> list[hr.Hit]:
        """One transaction, and a search that sees it."""
        self._rows += 1
        self.index.upsert([hr.Chunk(str(self._rows), "new.md", content)])
        return self.index.search_bm25(content.split(" ", 1)[0], 1)

    def rows(self, answer: Iterable[hr.Hit]) -> list[int]:
        """Ids are rows."""
        return [int(hit.id) for hit in answer]

    def close(self) -> None:
        """Close the index."""
        self.index.close()
