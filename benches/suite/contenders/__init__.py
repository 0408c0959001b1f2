"""The contenders: hedgerow, one module for each peer, and the floors that nothing can beat.

A contender is constructed from a corpus and its own folder, and builds its index. Its other methods
are optional, and a line of the table calls every contender that has the method. Each returns its
native form of results, so conversion is not timed. `rows` converts any result to rows of the
corpus, best first.

    words(text)                 the best 60 chunks for words, any of which will do
    prefixes(text)              the same, one of them a prefix
    operators(text)             the same for a phrase, AND and NOT
    nearest(vector)             the best 60 chunks for a vector
    nearest_many(vectors)       the same for many vectors in one call
    kept(vector)                the same among the chunks whose stamp is below the corpus's `kept`
    hybrid(question)            the best 10 chunks by both, with their texts; by the place of the
                                question in the corpus
    add(content)                write one more chunk, and find it by its first word
    add_with_vector(new)        write one more chunk, a content and its vector, and find it by this
    reopened(vector)            let go of the index, open it again, and find the best 60 chunks
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from suite.corpus import Corpus

TOP = 60
SHOWN = 10
WEIGHTS = {"path": 3.0, "title": 10.0, "summary": 5.0, "tags": 4.0, "content": 1.0}


class Contender(Protocol):
    """The methods that all contenders have."""

    NAME: str
    """The displayed name, at most 20 characters."""
    PACKAGES: tuple[str, ...]
    """The names of its packages, as installed."""
    NOTE: str
    """The differences from hedgerow that a reader must know."""
    LARGEST: int
    """Optional: above this many chunks no index is built, because that would take half an hour."""

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        """Build an index. `shared` has the contenders built before, by name."""

    def rows(self, answer: Any) -> list[int]:
        """Return the rows of a result, counted from 1."""

    def close(self) -> None:
        """Release files, threads and memory."""


def contenders() -> list[type[Contender]]:
    """Return all contenders, hedgerow first."""
    names = {
        "ours": "Hedgerow",
        "fts5": "Fts5",
        "reading": "Reading",
        "ten_lines": "TenLines",
        "tantivy": "Tantivy",
        "bm25s": "Bm25s",
        "faiss": "Flat",
        "faiss_hnsw": "Graph",
        "hnswlib": "Hnswlib",
        "lancedb": "LanceDB",
        "chroma": "Chroma",
        "qdrant": "Qdrant",
    }
    return [getattr(import_module(f".{file}", __name__), name) for file, name in names.items()]


def versions(kind: type[Contender]) -> str:
    """Return the contender's packages and versions. Raises ImportError if one is not installed."""
    return ", ".join(f"{name} {version(name)}" for name in kind.PACKAGES)
