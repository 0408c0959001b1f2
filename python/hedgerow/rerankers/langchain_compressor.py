"""Reranking by a LangChain document compressor (spec/adapters.md, "Rerankers of frameworks")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from hedgerow._checks import shown
from hedgerow._extras import imports_of
from hedgerow.errors import InvalidInputError

from .base import RerankDocument, RerankScore, in_order

_INDEX = "hedgerow_index"
"""The metadata key that maps a result to its document."""


class DocumentCompressor(Protocol):
    """The methods of LangChain's `BaseDocumentCompressor` that are used."""

    def compress_documents(self, documents: Sequence[Any], query: str) -> Sequence[Any]:
        """Return the documents that answer the query, best first."""


class LangChainReranker:
    """A `Reranker` over a LangChain document compressor, such as its cross-encoder or Cohere's.

    Scores are the `relevance_score` in the metadata of the results if all have one. Otherwise they
    follow from the order. A document that the compressor drops has no score.

    Threads may share it if they may share the compressor. Raises InvalidInputError for an object
    without `compress_documents`, MissingExtraError without the extra "langchain".
    """

    def __init__(self, compressor: DocumentCompressor, *, name: str | None = None) -> None:
        if not callable(getattr(compressor, "compress_documents", None)):
            raise InvalidInputError(
                "compressor must have a method compress_documents(documents, query), not "
                f"{shown(compressor)}",
                code="invalid_option",
            )
        with imports_of("langchain", needed_by=type(self).__name__):
            from langchain_core.documents import Document  # noqa: PLC0415 - the extra
        self._document = Document
        self._compressor = compressor
        self.name = name or type(compressor).__name__

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return the scores of the documents that the compressor returns, in its order."""
        given = [
            self._document(
                page_content=one.text,
                metadata={_INDEX: index, "id": one.id, "title": one.title, "score": one.score},
            )
            for index, one in enumerate(documents)
        ]
        found = list(self._compressor.compress_documents(given, query))
        # A result without the key is not one of the given documents.
        found = [one for one in found if isinstance(one.metadata.get(_INDEX), int)]
        indices = [one.metadata[_INDEX] for one in found]
        scores = [one.metadata.get("relevance_score") for one in found]
        if any(score is None for score in scores):
            return in_order(indices, len(documents))
        return [
            RerankScore(index, float(score)) for index, score in zip(indices, scores, strict=True)
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
