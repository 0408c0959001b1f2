"""Who is told what retrievers do while they do it: nobody, unless `hedgerow.otel` is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.results import Response
from hedgerow.typing import Searchable


class Watched:
    """A search under way. This one tells nobody."""

    def begin(self) -> None:
        """The engine is called next: the times of its stages begin here."""

    def answered(self, answers: Sequence[Response | HedgerowError]) -> None:
        """These are the answers."""


class WatchedCall:
    """A call of an embedder. This one tells nobody."""

    def embedded(self, rows: Any) -> None:
        """It answered with these rows."""


class Observer:
    """Is told what begins, and what ends as its context manager does. This one does nothing."""

    def search(self, index: Searchable, queries: Sequence[str]) -> AbstractContextManager[Watched]:
        """A search for these queries begins."""
        del index, queries
        return _NO_SEARCH

    def embedding(self, embedder: object, texts: int) -> AbstractContextManager[WatchedCall]:
        """An embedder is asked for so many texts."""
        del embedder, texts
        return _NO_CALL

    def reranking(self, reranker: object, documents: int) -> AbstractContextManager[object]:
        """A reranker is asked for the order of so many documents."""
        del reranker, documents
        return _NO_CALL

    def writing(
        self, operation: str, index: Searchable, chunks: int
    ) -> AbstractContextManager[object]:
        """So many chunks are written."""
        del operation, index, chunks
        return _NO_CALL


_NO_SEARCH = nullcontext(Watched())
_NO_CALL = nullcontext(WatchedCall())
_NOBODY = Observer()
_observer = _NOBODY


def observer() -> Observer:
    """Who is told."""
    return _observer


def observe(new: Observer | None) -> None:
    """Tell somebody else from now on; None for nobody."""
    global _observer  # noqa: PLW0603 - one for the process, as loggers are
    _observer = _NOBODY if new is None else new
