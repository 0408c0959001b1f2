"""Reranking by a LlamaIndex node postprocessor (spec/adapters.md, "Rerankers of frameworks")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from hedgerow._checks import shown
from hedgerow._extras import imports_of
from hedgerow.errors import InvalidInputError

from .base import RerankDocument, RerankScore, in_order


class NodePostprocessor(Protocol):
    """The methods of LlamaIndex' `BaseNodePostprocessor` that are used."""

    def postprocess_nodes(self, nodes: list[Any], *, query_str: str) -> list[Any]:
        """Return the nodes that answer the query, best first, each with a score."""


class LlamaIndexReranker:
    """A `Reranker` over a LlamaIndex node postprocessor, such as `SentenceTransformerRerank`.

    Scores are those of the results if all have one. Otherwise they follow from the order. A
    document that the postprocessor drops has no score.

    Threads may share it if they may share the postprocessor. Raises InvalidInputError for an object
    without `postprocess_nodes`, MissingExtraError without the extra "llama-index".
    """

    def __init__(self, postprocessor: NodePostprocessor, *, name: str | None = None) -> None:
        if not callable(getattr(postprocessor, "postprocess_nodes", None)):
            raise InvalidInputError(
                "postprocessor must have a method postprocess_nodes(nodes, query_str=...), not "
                f"{shown(postprocessor)}",
                code="invalid_option",
            )
        with imports_of("llama-index", needed_by=type(self).__name__):
            from llama_index.core.schema import NodeWithScore, TextNode  # noqa: PLC0415 - the extra
        self._node, self._with_score = TextNode, NodeWithScore
        self._postprocessor = postprocessor
        self.name = name or type(postprocessor).__name__

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return the scores of the documents that the postprocessor returns, in its order."""
        given = [
            self._with_score(node=self._node(id_=str(index), text=one.text), score=one.score)
            for index, one in enumerate(documents)
        ]
        answer = list(self._postprocessor.postprocess_nodes(given, query_str=query))
        known = {str(index): index for index in range(len(documents))}
        # A result with another id is not one of the given documents.
        found = [
            (known[one.node.node_id], one.score) for one in answer if one.node.node_id in known
        ]
        if any(score is None for _, score in found):
            return in_order([index for index, _ in found], len(documents))
        return [RerankScore(index, float(score)) for index, score in found]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
