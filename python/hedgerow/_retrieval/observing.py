"""The observer of retrievers, which `hedgerow.otel` can install."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.results import Response
from hedgerow.typing import Searchable


class RunningSearch:
    """A running search."""

    def begin(self) -> None:
        """Record that the engine is called next, which is the start of its stages."""

    def answered(self, answers: Sequence[Response | HedgerowError]) -> None:
        """Record the responses."""


class WatchedCall:
    """A call of an embedder."""

    def embedded(self, rows: Any) -> None:
        """Record the rows of the result."""


class Observer:
    """Observes operations, each of which ends with its context manager.

    This base records nothing.
    """

    def search(
        self, index: Searchable, queries: Sequence[str]
    ) -> AbstractContextManager[RunningSearch | None]:
        """Record a search for these queries."""
        del index, queries
        return _NOTHING

    def embedding(self, embedder: object, texts: int) -> AbstractContextManager[WatchedCall | None]:
        """Record that an embedder is called with a number of texts."""
        del embedder, texts
        return _NOTHING

    def reranking(self, reranker: object, documents: int) -> AbstractContextManager[object]:
        """Record that a reranker is called with a number of documents."""
        del reranker, documents
        return _NOTHING

    def writing(
        self, operation: str, index: Searchable, chunks: int
    ) -> AbstractContextManager[object]:
        """Record that a number of chunks is written."""
        del operation, index, chunks
        return _NOTHING


_NOTHING = nullcontext()
_NOBODY = Observer()

current: Observer | None = None
"""The observer of this process, or None."""


def observer() -> Observer:
    """Return the observer of this process; without one, an observer that records nothing."""
    return current or _NOBODY


def observe(new: Observer | None) -> None:
    """Replace the observer of this process; None removes it."""
    global current  # noqa: PLW0603 - one for the process, as loggers are
    current = new
