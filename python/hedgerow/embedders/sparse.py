"""The protocol of sparse embedders (spec/adapters.md, "Sparse embedders"), and queries by a table of weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from hedgerow._checks import shown
from hedgerow.errors import InvalidInputError

__all__ = ["IdfQueries", "SparseEmbedder", "SparseVector"]


SparseVector: TypeAlias = Mapping[str, float]
"""Tokens with their weights, which are above 0."""


class SparseEmbedder(Protocol):
    """Turns texts into sparse vectors: the weights of tokens, as SPLADE computes them.

    It may have a second method, `sparse_documents(texts)`, with a vector for each text of a document. Without
    it, chunks bring their own vectors (`Chunk.sparse`). Either method may return an awaitable.
    """

    def sparse_queries(self, texts: Sequence[str], /) -> Sequence[SparseVector]:
        """Return the vector of each query, in their order; an empty one for a query that is like nothing."""


_WORD = re.compile(r"\w+|[^\w\s]")


class IdfQueries:
    """Sparse vectors of queries from a table of tokens, without a model.

    For models that read documents alone, whose queries have one weight for each token: its inverse document
    frequency. A query is split at white space and punctuation, in lower case; a word is the longest tokens of the
    table one after the other, of which those after the first are written with `##` in front, as in WordPiece. A
    word that tokens do not cover is left out, and so are weights of 0.

    Raises InvalidInputError for a table that is not a mapping.
    """

    def __init__(self, idf: Mapping[str, float]) -> None:
        if not isinstance(idf, Mapping):
            raise InvalidInputError(
                f"idf must be a mapping of tokens to weights, not {shown(idf)}",
                code="invalid_option",
            )
        self._idf = dict(idf)

    def sparse_queries(self, texts: Sequence[str], /) -> list[dict[str, float]]:
        """Return the weights of the tokens of each query, each token once."""
        return [self._weights(text) for text in texts]

    def _weights(self, text: str) -> dict[str, float]:
        words = _WORD.findall(text.lower())
        tokens = (token for word in words for token in self._tokens(word))
        return {token: self._idf[token] for token in tokens if self._idf[token]}

    def _tokens(self, word: str) -> list[str]:
        """The tokens of a word; empty if they do not cover it."""
        found: list[str] = []
        start = 0
        while start < len(word):
            before = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if before + word[start:end] in self._idf), None)
            if end is None:
                return []
            found.append(before + word[start:end])
            start = end
        return found
