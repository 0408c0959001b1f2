"""The reranker protocol, and parsing of rerankers' results (spec/adapters.md, "Rerankers")."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol, TypeAlias

from hedgerow._checks import shown
from hedgerow.errors import HedgerowError


@dataclass(frozen=True, slots=True)
class RerankDocument:
    """A document for a reranker: the id, title and text of a hit, and its score from the search.

    `text` is title, summary and content, one per line, up to `rerank_chars` characters. Under the
    profile "spec" it is the result of `rerank_text`, unless `rerank_chars` is given.
    """

    id: str
    title: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class RerankScore:
    """The score of the document at `index`. Higher is better, on any scale."""

    index: int
    score: float


Scores: TypeAlias = Sequence[RerankScore] | Sequence[float] | Sequence[int]
"""The results of a reranker: scores with indices, one number per document, or sorted indices."""


class Reranker(Protocol):
    """Scores documents by how well they answer a query (spec/adapters.md, "Rerankers").

    It may also have `rerank_many(queries, documents)`, which takes a list of documents for each
    query and returns a list of answers. A batch of searches then calls it once.
    """

    @property
    def name(self) -> str:
        """The name in a trace."""

    def rerank(self, query: str, documents: Sequence[RerankDocument], /) -> Scores:
        """Return the scores in any order. A document without a score is dropped, or comes last.

        If the method raises, the order is unchanged and the trace records the error.
        """


class AsyncReranker(Protocol):
    """A `Reranker` whose `rerank` is awaited."""

    @property
    def name(self) -> str:
        """The name in a trace."""

    async def rerank(self, query: str, documents: Sequence[RerankDocument], /) -> Scores:
        """Like `Reranker.rerank`, but asynchronous."""


RerankFunction: TypeAlias = Callable[[str, Sequence[RerankDocument]], Scores | Awaitable[Scores]]
AnyReranker: TypeAlias = Reranker | AsyncReranker | RerankFunction
"""A reranker for a retriever: an object with `rerank`, or a function of query and documents."""


def best_first(scores: Iterable[float]) -> list[RerankScore]:
    """Return the scores of documents 0, 1, 2, ..., highest first.

    Ties keep the order of documents.
    """
    numbered = [RerankScore(index, score) for index, score in enumerate(scores)]
    return sorted(numbered, key=lambda scored: (-scored.score, scored.index))


def in_order(indices: Sequence[int], documents: int) -> list[RerankScore]:
    """Return scores for indices that are best first: from 1 in equal steps down to above 0."""
    return [
        RerankScore(index, (documents - rank) / documents) for rank, index in enumerate(indices)
    ]


def read_scores(answer: Any, documents: int) -> list[RerankScore]:
    """Return the scores in a reranker's result, in its order.

    Integers that are indices of different documents are read as indices, best first. Other numbers
    are the scores of the documents in order. Raises HedgerowError for anything else, and for a
    score that is not finite.
    """
    items = _items(answer)
    if all(hasattr(item, "index") and hasattr(item, "score") for item in items):
        try:
            found = [RerankScore(operator.index(one.index), float(one.score)) for one in items]
        except (TypeError, ValueError):
            raise _unreadable(answer) from None
    elif not all(isinstance(item, Real) and not isinstance(item, bool) for item in items):
        raise _unreadable(answer)
    elif all(isinstance(item, Integral) for item in items) and _are_indices(items, documents):
        return in_order([int(item) for item in items], documents)
    elif len(items) == documents:
        found = [RerankScore(index, float(score)) for index, score in enumerate(items)]
    else:
        raise HedgerowError(
            f"the reranker answered with {len(items)} numbers for {documents} documents; give one "
            "for each document, or RerankScore(index, score) for some",
            code="bad_answer",
        )
    for scored in found:
        if not math.isfinite(scored.score):
            raise HedgerowError(
                f"the reranker answered with the score {scored.score} for document {scored.index}; "
                "scores must be finite",
                code="bad_answer",
            )
    return found


def _items(answer: Any) -> list[Any]:
    if hasattr(answer, "tolist"):  # an array, whose items may not be Python numbers
        answer = answer.tolist()
    if isinstance(answer, (str, bytes, dict)) or not isinstance(answer, Iterable):
        raise _unreadable(answer)
    return list(answer)


def _are_indices(items: list[Any], documents: int) -> bool:
    return all(0 <= item < documents for item in items) and len(set(items)) == len(items)


def _unreadable(answer: Any) -> HedgerowError:
    return HedgerowError(
        f"the reranker answered with {shown(answer)[:100]}; it must return RerankScore objects, a "
        "number for each document, or indices, best first",
        code="bad_answer",
    )


def checked_scores(scores: list[Any], expected: int, source: str) -> list[float]:
    """Return the scores as floats.

    Raises HedgerowError for a wrong count, or for a score that is not finite.
    """
    if len(scores) != expected:
        raise bad_answer(source, f"with {len(scores)} scores for {expected} documents")
    for i, score in enumerate(scores):
        number = isinstance(score, (int, float)) and not isinstance(score, bool)
        # Compared, not converted, because some integers have no float. NaN compares as false.
        if not number or not abs(score) <= sys.float_info.max:
            raise bad_answer(source, f"with something other than a finite score for document {i}")
    return [float(score) for score in scores]


def bad_answer(source: str, what: str) -> HedgerowError:
    """Return the error for a response that does not fit the request."""
    return HedgerowError(
        f"{source} answered {what}; check that it serves a model that reranks, with one label",
        code="bad_answer",
    )
