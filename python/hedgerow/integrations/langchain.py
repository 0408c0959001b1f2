"""A retriever for LangChain (docs/frameworks.md); needs the extra "langchain"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from hedgerow import Filters, Hit, Retriever
from hedgerow._extras import imports_of
from hedgerow.retriever import Mode

from ._fields import metadata_of

with imports_of("langchain", needed_by=__name__):
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict

__all__ = ["HedgerowRetriever"]

# The fields of the class that are options of a search.
_OPTIONS = (
    "question_date",
    "mode",
    "top_k",
    "candidate_k",
    "rerank",
    "rerank_top_n",
    "skip_retry_ladder",
    "filters",
    "group_by",
)


class HedgerowRetriever(BaseRetriever):  # type: ignore[misc]  # no types where it is not installed
    """Documents of a `Retriever`, best first.

    The options are those of `Retriever.search`; `invoke` and `ainvoke` take them too, for one
    question. A document's `page_content` is the chunk's content; its metadata are the chunk's own
    with `path`, `id` and `score`, and where there are any `title`, `summary`, `bm25_rank`,
    `vector_similarity` and `rerank_score`.

    Raises what `Retriever.search` does; a failed search is never an empty list.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    retriever: Retriever
    question_date: str | None = None
    mode: Mode = "auto"
    top_k: int = 10
    candidate_k: int = 60
    rerank: bool = True
    rerank_top_n: int = 20
    skip_retry_ladder: bool = False
    filters: Filters | Mapping[str, Any] | None = None
    group_by: Literal["path"] | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        found = self.retriever.search(query, **{**self._options(), **options})
        return [_document(hit) for hit in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        found = await self.retriever.asearch(query, **{**self._options(), **options})
        return [_document(hit) for hit in found]

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OPTIONS}


def _document(hit: Hit) -> Document:
    return Document(id=hit.id, page_content=hit.content, metadata=metadata_of(hit))
