"""A retriever for LlamaIndex (docs/frameworks.md); needs the extra "llama-index"."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

from hedgerow import Hit, Index, Retriever
from hedgerow._extras import imports_of
from hedgerow._retrieval.operations import IndexOperations
from hedgerow.embedders import AnyEmbedder
from hedgerow.ranking import Ranking
from hedgerow.rerankers.base import AnyReranker

from ._shared import RANKING, metadata_of, refused

with imports_of("llama-index", needed_by=__name__):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores import MetadataFilters

__all__ = ["HedgerowRetriever"]
__dir__ = partial(sorted, __all__)


class HedgerowRetriever(BaseRetriever):  # type: ignore[misc]  # no types where it is not installed
    """Nodes of a `Retriever`, or of a `RemoteRetriever`, best first, each with its score.

    `options` are those of `Retriever.search`; `filters` may be `MetadataFilters` too. A node's text
    is the chunk's content, its id the chunk's; its metadata are the chunk's own with `path`, `id`
    and `score`, and, if present, `title`, `summary`, `bm25_rank`, `vector_similarity` and
    `rerank_score`. A language model or an embedder is not shown the ranks and scores. A vector in a
    query bundle is not used: the retriever uses its own embedder.

    Raises TypeError for unknown options, InvalidInputError for operators of filters that hedgerow
    does not have, and at each search the errors of `Retriever.search`; a failed search is never an
    empty list.
    """

    def __init__(
        self,
        retriever: IndexOperations,
        *,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        inspect.signature(retriever.search).bind("", **options)
        self._retriever = retriever
        if isinstance(options.get("filters"), MetadataFilters):
            options["filters"] = {"where": _where(options["filters"])}
        self._options = options
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    @classmethod
    def from_index(
        cls,
        index: Index | str | PathLike[str],
        *,
        embedder: AnyEmbedder | None = None,
        reranker: AnyReranker | None = None,
        ranking: Ranking | None = None,
        **options: Any,
    ) -> HedgerowRetriever:
        """A retriever for an index or the path of one, with `Ranking.best()` by default (spec/retrieval.md).

        `options` are those of the constructor.
        """
        retriever = Retriever(
            index, embedder=embedder, reranker=reranker, ranking=ranking or Ranking.best()
        )
        return cls(retriever, **options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._retriever.search(query_bundle.query_str, **self._options)
        return [_node(hit) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await self._retriever.asearch(query_bundle.query_str, **self._options)
        return [_node(hit) for hit in found]


def _node(hit: Hit) -> NodeWithScore:
    node = TextNode(
        id_=hit.id,
        text=hit.content,
        metadata=metadata_of(hit),
        excluded_llm_metadata_keys=list(RANKING),
        excluded_embed_metadata_keys=list(RANKING),
    )
    return NodeWithScore(node=node, score=hit.score)


_OPERATORS = {
    "==": "$eq",
    "!=": "$ne",
    ">": "$gt",
    ">=": "$gte",
    "<": "$lt",
    "<=": "$lte",
    "in": "$in",
    "nin": "$nin",
    "any": "$in",
    "all": "$all",
    "contains": "$contains",
}
_CONDITIONS = {"and": "$and", "or": "$or", "not": "$nor"}


def _where(filters: MetadataFilters) -> Mapping[str, Any]:
    """Return filters of LlamaIndex as hedgerow's; an empty list gives no condition."""
    parts = [
        _where(part) if isinstance(part, MetadataFilters) else _comparison(part)
        for part in filters.filters
    ]
    condition = filters.condition.value if filters.condition else "and"
    return {_CONDITIONS[condition]: parts} if parts else {}


def _comparison(part: Any) -> dict[str, Any]:
    operator = part.operator.value
    if operator == "is_empty":
        return {"$or": [{part.key: None}, {part.key: {"$eq": []}}, {part.key: ""}]}
    if operator not in _OPERATORS:
        raise refused(
            f'the operator "{operator}"',
            "LlamaIndex",
            "search for the words instead, or use one of " + ", ".join([*_OPERATORS, "is_empty"]),
        )
    return {part.key: {_OPERATORS[operator]: part.value}}
