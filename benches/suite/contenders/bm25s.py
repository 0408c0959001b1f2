"""bm25s: BM25 as a sparse matrix, with numba."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus

from . import TOP


class Bm25s:
    """All fields as one text. Scores are computed when the index is built."""

    NAME = "bm25s"
    PACKAGES = ("bm25s", "numba")
    NOTE = "one field, without stems or weights; its own BM25; words joined by OR alone"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        import bm25s
        import numba  # noqa: F401 - what it is fast with

        del folder, shared
        texts = [" ".join(text[1:]) for text in corpus.texts]
        tokens = bm25s.tokenize(texts, stopwords=None, show_progress=False)
        self._ranking = bm25s.BM25(backend="numba")
        self._ranking.index(tokens, show_progress=False)
        self._top = min(TOP, len(texts))

    def words(self, text: str) -> Any:
        """Search for the words that hedgerow keeps."""
        words = hr.compile_fts(text).lower().split(" or ")
        return self._ranking.retrieve([words], k=self._top, n_threads=1, show_progress=False)

    def rows(self, answer: Any) -> list[int]:
        """Convert positions, which count from 0."""
        return [int(place) + 1 for place in answer.documents[0]]

    def close(self) -> None:
        """Free the memory."""
        del self._ranking
