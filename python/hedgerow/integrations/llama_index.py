"""A retriever for LlamaIndex (docs/frameworks.md); needs the extra "llama-index"."""

from __future__ import annotations

import inspect
from typing import Any

from hedgerow import Hit, Retriever
from hedgerow._extras import imports_of

from ._fields import RANKING, metadata_of

with imports_of("llama-index", needed_by=__name__):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

__all__ = ["HedgerowRetriever"]


class HedgerowRetriever(BaseRetriever):  # type: ignore[misc]  # no types where it is not installed
    """Nodes of a `Retriever`, best first, each with its score.

    `options` are those of `Retriever.search`. A node's text is the chunk's content, its id the
    chunk's; its metadata are the chunk's own with `path`, `id` and `score`, and where there are
    any `title`, `summary`, `bm25_rank`, `vector_similarity` and `rerank_score`. A language model
    or an embedder is not shown the ranks and scores. A vector in a query bundle is not used: the
    retriever embeds by its own embedder.

    Raises TypeError for unknown options, and at each search what `Retriever.search` does; a
    failed search is never an empty list.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        inspect.signature(retriever.search).bind("", **options)
        self._retriever = retriever
        self._options = options
        super().__init__(callback_manager=callback_manager, verbose=verbose)

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
