"""An embedder whose vectors are in a column next to the queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class GivenVectors:
    """Returns the vectors of the rows of the next search.

    It has no name: only the caller knows the embedder that made them.
    """

    def __init__(self) -> None:
        self._rows: Sequence[tuple[str, Any]] = ()

    def expect(self, queries: Sequence[str], vectors: Sequence[Any]) -> None:
        """Take the vectors of these queries, () for a query without one."""
        self._rows = list(zip(queries, vectors, strict=True))

    def embed(self, texts: Sequence[str], /) -> list[Any]:
        """The vectors of the texts, which are those that are expected, less the refused ones.

        A search embeds its queries in their order, without those over a limit, and only its text says
        whether a query is over one. So the next row with a text belongs to it, even where a text
        occurs twice.
        """
        rows = iter(self._rows)
        return [next(vector for query, vector in rows if query == text) for text in texts]
