"""Rerankers: the best of a search, put in order again (spec/adapters.md, docs/embedders.md).

`Reranker` says what a retriever asks for; any object that answers to it will do. The adapters of
this package are imported when named, and all but `LLMReranker` need an extra.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hedgerow._lazy import imported_when_asked_for

if TYPE_CHECKING:
    from ._named import reranker_named
    from .cross_encoder import CrossEncoderReranker
    from .inference_server import TEIReranker
    from .llm import LLMReranker

__all__ = [
    "AsyncReranker",
    "CrossEncoderReranker",
    "LLMReranker",
    "RerankDocument",
    "RerankScore",
    "Reranker",
    "TEIReranker",
    "best_first",
    "reranker_named",
]

_ADAPTERS = {
    "CrossEncoderReranker": "cross_encoder",
    "LLMReranker": "llm",
    "TEIReranker": "inference_server",
}
if not TYPE_CHECKING:
    __getattr__ = imported_when_asked_for(__name__, {**_ADAPTERS, "reranker_named": "_named"})


@dataclass(frozen=True, slots=True)
class RerankDocument:
    """One document for a reranker: the id of the hit, and its text as `rerank_text` makes it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class RerankScore:
    """The score of the document at `index` of those given; more is better, on any scale."""

    index: int
    score: float


class Reranker(Protocol):
    """Scores documents by how well they answer a query (spec/adapters.md, "Rerankers")."""

    @property
    def name(self) -> str:
        """What a trace calls it."""

    def rerank(self, query: str, documents: Sequence[RerankDocument], /) -> Sequence[RerankScore]:
        """The scores, best first. A document that is left out is dropped from the results.

        What it raises leaves the order as it was, and the trace says so.
        """


class AsyncReranker(Protocol):
    """A `Reranker` whose `rerank` is awaited."""

    @property
    def name(self) -> str:
        """What a trace calls it."""

    async def rerank(
        self, query: str, documents: Sequence[RerankDocument], /
    ) -> Sequence[RerankScore]:
        """As `Reranker.rerank`."""


def best_first(scores: Iterable[float]) -> list[RerankScore]:
    """The scores of documents 0, 1, 2, ..., highest first; of equals the earlier document."""
    numbered = [RerankScore(index, score) for index, score in enumerate(scores)]
    return sorted(numbered, key=lambda scored: (-scored.score, scored.index))


def __dir__() -> list[str]:
    return sorted(__all__)
