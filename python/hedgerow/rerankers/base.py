"""What a retriever asks of a reranker (spec/adapters.md, "Rerankers"), and checks of answers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hedgerow.errors import HedgerowError


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

        When it raises, the order stays, and the trace records it.
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


def checked_scores(scores: list[Any], expected: int, source: str) -> list[float]:
    """The scores as floats; raises HedgerowError for another count, or for one that is not finite."""
    if len(scores) != expected:
        raise bad_answer(source, f"with {len(scores)} scores for {expected} documents")
    for i, score in enumerate(scores):
        number = isinstance(score, (int, float)) and not isinstance(score, bool)
        # Compared, not converted: not every integer has a float. NaN compares as false.
        if not number or not abs(score) <= sys.float_info.max:
            raise bad_answer(source, f"with something other than a finite score for document {i}")
    return [float(score) for score in scores]


def bad_answer(source: str, what: str) -> HedgerowError:
    """The error for an answer that does not fit what was asked."""
    return HedgerowError(
        f"{source} answered {what}; check that it serves a model that reranks, with one label",
        code="bad_answer",
    )
