"""Reranking by parts of LangChain and LlamaIndex (spec/adapters.md, "Rerankers of frameworks")."""

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


class NodePostprocessor(Protocol):
    """The methods of LlamaIndex' `BaseNodePostprocessor` that are used."""

    def postprocess_nodes(self, nodes: list[Any], *, query_str: str) -> list[Any]:
        """Return the nodes that answer the query, best first, each with a score."""


class _FrameworkReranker:
    def __init__(self, given: Any, part: str, call: str, name: str | None) -> None:
        """`call` is the method that the part must have, with its arguments."""
        if not callable(getattr(given, call.partition("(")[0], None)):
            raise InvalidInputError(
                f"{part} must have a method {call}, not {shown(given)}", code="invalid_option"
            )
        self._part = given
        self.name = name or type(given).__name__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class LangChainReranker(_FrameworkReranker):
    """A `Reranker` over a LangChain document compressor, such as its cross-encoder or Cohere's.

    Scores are the `relevance_score` in the metadata of the results if all have one. Otherwise they
    follow from the order. A document that the compressor drops has no score.

    Threads may share it if they may share the compressor. Raises InvalidInputError for an object
    without `compress_documents`, MissingExtraError without the extra "langchain".
    """

    def __init__(self, compressor: DocumentCompressor, *, name: str | None = None) -> None:
        super().__init__(compressor, "compressor", "compress_documents(documents, query)", name)
        with imports_of("langchain", needed_by=type(self).__name__):
            from langchain_core.documents import Document  # noqa: PLC0415 - the extra
        self._document = Document

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return the scores of the documents that the compressor returns, in its order."""
        given = [
            self._document(
                page_content=one.text,
                metadata={_INDEX: index, "id": one.id, "title": one.title, "score": one.score},
            )
            for index, one in enumerate(documents)
        ]
        found = [one.metadata for one in self._part.compress_documents(given, query)]
        # A result without the key is not one of the given documents.
        found = [one for one in found if isinstance(one.get(_INDEX), int)]
        return _scored([(one[_INDEX], one.get("relevance_score")) for one in found], len(documents))


class LlamaIndexReranker(_FrameworkReranker):
    """A `Reranker` over a LlamaIndex node postprocessor, such as `SentenceTransformerRerank`.

    Scores are those of the results if all have one. Otherwise they follow from the order. A
    document that the postprocessor drops has no score.

    Threads may share it if they may share the postprocessor. Raises InvalidInputError for an object
    without `postprocess_nodes`, MissingExtraError without the extra "llama-index".
    """

    def __init__(self, postprocessor: NodePostprocessor, *, name: str | None = None) -> None:
        super().__init__(
            postprocessor, "postprocessor", "postprocess_nodes(nodes, query_str=...)", name
        )
        with imports_of("llama-index", needed_by=type(self).__name__):
            from llama_index.core.schema import NodeWithScore, TextNode  # noqa: PLC0415 - the extra
        self._node, self._with_score = TextNode, NodeWithScore

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return the scores of the documents that the postprocessor returns, in its order."""
        given = [
            self._with_score(node=self._node(id_=str(index), text=one.text), score=one.score)
            for index, one in enumerate(documents)
        ]
        found = self._part.postprocess_nodes(given, query_str=query)
        known = {str(index): index for index in range(len(documents))}
        # A result with another id is not one of the given documents.
        ours = [one for one in found if one.node.node_id in known]
        return _scored([(known[one.node.node_id], one.score) for one in ours], len(documents))


def _scored(found: Sequence[tuple[int, Any]], documents: int) -> list[RerankScore]:
    """Return the scores by index; if any is missing, scores that follow from the order."""
    if any(score is None for _, score in found):
        return in_order([index for index, _ in found], documents)
    return [RerankScore(index, float(score)) for index, score in found]
