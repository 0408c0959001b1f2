"""A retriever for LangChain (docs/frameworks.md); needs the extra "langchain"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

from hedgerow import Filters, Hit, Index, Retriever
from hedgerow._extras import imports_of
from hedgerow._retrieval.operations import DEFAULT_LIMIT, IndexOperations
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import InvalidInputError
from hedgerow.ranking import Ranking
from hedgerow.rerankers.base import AnyReranker
from hedgerow.typing import Mode, QuestionDate

from ._shared import both, metadata_of, refused

with imports_of("langchain", needed_by=__name__):
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.structured_query import Comparison, FilterDirective, Operation
    from pydantic import ConfigDict

__all__ = ["HedgerowRetriever"]
__dir__ = partial(sorted, __all__)


# The fields of the class that are options of a search.
_OPTIONS = (
    "question_date",
    "mode",
    "limit",
    "offset",
    "candidates",
    "rerank",
    "rerank_top_n",
    "skip_retry_ladder",
    "filters",
    "group_by",
    "asker",
    "recency",
)


class HedgerowRetriever(BaseRetriever):  # type: ignore[misc]  # no types where it is not installed
    """Documents of a `Retriever`, or of a `RemoteRetriever`, best first.

    The options are those of `Retriever.search`; `invoke` and `ainvoke` take them too, for one
    question. `filter` is a filter as LangChain's vector stores take it, a mapping such as `{"year":
    {"$gte": 2024}}` (spec/filters.md) or a structured query's, and applies in addition to
    `filters`. A document's `page_content` is the chunk's content; its metadata are the chunk's own
    with `path`, `id` and `score`, and, if present, `title`, `summary`, `bm25_rank`,
    `vector_similarity` and `rerank_score`.

    Raises the errors of `Retriever.search`; a failed search is never an empty list.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    retriever: IndexOperations
    question_date: QuestionDate | None = None
    mode: Mode = "auto"
    limit: int | None = DEFAULT_LIMIT
    offset: int = 0
    candidates: int | None = None
    rerank: bool = True
    rerank_top_n: int = 20
    skip_retry_ladder: bool = False
    filters: Filters | Mapping[str, Any] | None = None
    group_by: str | None = None
    asker: str | None = None
    recency: str | None = None
    filter: Mapping[str, Any] | FilterDirective | None = None

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

        `options` are the fields of this class.
        """
        retriever = Retriever(
            index, embedder=embedder, reranker=reranker, ranking=ranking or Ranking.best()
        )
        return cls(retriever=retriever, **options)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        found = self.retriever.search(query, **self._options(options))
        return [_document(hit) for hit in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        found = await self.retriever.asearch(query, **self._options(options))
        return [_document(hit) for hit in found]

    def _options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of one search: those that it was given, and the others of this retriever."""
        own = {name: getattr(self, name) for name in _OPTIONS}
        joined = {**own, **given}
        where = _where(joined.pop("filter", self.filter))
        return {**joined, "filters": both(joined["filters"], where)}


_COMPARATORS = {
    "eq": "$eq",
    "ne": "$ne",
    "gt": "$gt",
    "gte": "$gte",
    "lt": "$lt",
    "lte": "$lte",
    "in": "$in",
    "nin": "$nin",
    "contain": "$contains",
}


def _where(given: Any) -> Mapping[str, Any] | None:
    """A filter of LangChain as hedgerow's."""
    if isinstance(given, Operation):
        parts = [_where(argument) for argument in given.arguments]
        if given.operator.value == "not":
            return {"$nor": parts}
        return {f"${given.operator.value}": parts}
    if isinstance(given, Comparison):
        operator = _COMPARATORS.get(given.comparator.value)
        if operator is None:
            raise refused(
                f'the comparator "{given.comparator.value}"',
                "LangChain",
                "allow those of hedgerow.integrations.langchain alone: " + ", ".join(_COMPARATORS),
            )
        return {given.attribute: {operator: _value(given.value)}}
    if given is None or isinstance(given, Mapping):
        return given
    raise InvalidInputError(
        f"filter must be a mapping or a FilterDirective of langchain_core, "
        f"not {type(given).__name__}",
        code="invalid_option",
    )


def _value(value: Any) -> Any:
    """The value of a comparison; LangChain wraps dates in a mapping, also in lists."""
    if isinstance(value, (list, tuple)):
        return [_value(one) for one in value]
    if isinstance(value, Mapping) and value.get("type") in {"date", "datetime"}:
        return {"$date": value[value["type"]]}
    return value


def _document(hit: Hit) -> Document:
    return Document(id=hit.id, page_content=hit.content, metadata=metadata_of(hit))
