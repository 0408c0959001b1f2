"""The vectors of the last queries of a retriever, so that an equal query is not embedded again."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

_MOST = 256
"""Queries whose vectors are kept: under 1 MB with 768 numbers each."""


class QueryVectors:
    """The rows of an embedder for the last queries. Safe to use from several threads."""

    def __init__(self) -> None:
        self._rows: dict[str, Any] = {}
        self._turn = Lock()

    def known(self, queries: Sequence[str]) -> dict[str, Any]:
        """The rows of those of the queries that have one."""
        with self._turn:
            return {query: self._rows[query] for query in queries if query in self._rows}

    def keep(self, queries: Sequence[str], rows: Any, sound: Sequence[bool]) -> None:
        """Keep the rows of the queries that were searched without an error, at most the last 256."""
        if rows is None or isinstance(rows, str) or len(queries) > _MOST:
            return
        with self._turn:
            for query, row, is_sound in zip(queries, rows, sound, strict=True):
                if is_sound:
                    self._rows.pop(query, None)
                    # A row of an array would keep all of the array in memory.
                    self._rows[query] = row.copy() if hasattr(row, "copy") else row
            while len(self._rows) > _MOST:
                del self._rows[next(iter(self._rows))]
