"""`WhyNot`: why a chunk is not among the results of a search (spec/retrieval.md, "Why not")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from ._operations.fields import Field
from ._operations.shapes import Result
from .typing import Cut

__all__ = ["LegRank", "WhyNot"]
__dir__ = partial(sorted, __all__)


T = TypeVar("T")
_OrNull = Annotated[T | None, Field(null=True)]


@dataclass(frozen=True, slots=True)
class LegRank(Result):
    """Where a leg has a chunk: its rank from 0 in the leg without a limit, and its score there."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class WhyNot(Result):
    """Why a chunk is not among the results of a search, or where it is.

    `cut` is what kept it out, None when it is among the results; `result_rank` is its rank there.
    `rank` and `score` are those in the fused ranking of both legs without a limit, before a reranker;
    `needed` is the score of the last result, None while there is room for more. `held` and `lacking`
    are the phrases searched for that it has and has not, `excluded_by` those after NOT that it has.
    `keywords` and `vectors` are its places in both legs, None where they do not have it. `explanation`
    says where the score comes from. Ranks count from 0. `not_searched_for` are the words that were
    dropped from the query, and `by_vectors` says whether vectors were searched.
    """

    query: str
    id: str
    cut: _OrNull[Cut]
    result_rank: _OrNull[int]
    rank: _OrNull[int]
    score: _OrNull[float]
    needed: _OrNull[float]
    limit: int
    candidates: int
    held: list[str]
    lacking: list[str]
    excluded_by: list[str]
    keywords: _OrNull[LegRank]
    vectors: _OrNull[LegRank]
    group_best: _OrNull[str]
    explanation: Annotated[dict[str, Any] | None, Field(null=True, names=True)]
    not_searched_for: list[str]
    by_vectors: bool

    def __str__(self) -> str:
        """The reason in a sentence or two."""
        return " ".join([_SENTENCES[self.cut](self), *_details(self)])


def _unmatched(why: WhyNot) -> str:
    by_vectors = ", and was not found by its vector" if why.by_vectors else ""
    if why.held:
        lacks = f"holds {', '.join(why.held)} and lacks {', '.join(why.lacking)}"
    elif why.lacking:
        lacks = f"holds none of {', '.join(why.lacking)}"
    else:
        vector = f", and {why.id!r} has no vector to be near by" if why.by_vectors else ""
        return f"No word was searched for{vector}."
    return f"{why.id!r} {lacks}{by_vectors}."


def _cut_off(why: WhyNot) -> str:
    if why.score is not None and why.score == why.needed:
        return f"{why.id!r} has the score of the last of {why.limit} results, {why.score:.4f}, and comes after it."
    number = "" if why.rank is None else f"number {why.rank + 1}, "
    needed = "" if why.needed is None else f"; the last of {why.limit} results has {why.needed:.4f}"
    return f"{why.id!r} is {number}with a score of {why.score or 0:.4f}{needed}."


_SENTENCES: dict[Cut | None, Callable[[WhyNot], str]] = {
    None: lambda why: f"{why.id!r} is among the results: number {(why.result_rank or 0) + 1}.",
    "not_in_index": lambda why: f"The index has no chunk {why.id!r}.",
    "filters": lambda why: f"{why.id!r} does not pass the filters.",
    "excluded": lambda why: (
        f"{why.id!r} holds what the query excludes: {', '.join(why.excluded_by)}."
    ),
    "no_match": _unmatched,
    "candidates": lambda why: (
        f"{why.id!r} was no candidate: each leg keeps the best {why.candidates}."
    ),
    "group": lambda why: (
        f"{why.group_best!r} represents the group of {why.id!r}, as its better chunk."
    ),
    "limit": _cut_off,
    "reranker": lambda why: (
        f"The reranker dropped {why.id!r}, or put it behind the first {why.limit}."
    ),
}


def _details(why: WhyNot) -> list[str]:
    if why.cut == "not_in_index":
        return []
    if why.cut == "no_match":
        dropped = ", ".join(why.not_searched_for)
        return [f"Not searched for: {dropped}."] if dropped else []
    places = [
        f"number {leg.rank + 1} by {name} ({what} {leg.score:.4f})"
        for name, what, leg in [
            ("keywords", "BM25", why.keywords),
            ("vectors", "cosine", why.vectors),
        ]
        if leg is not None
    ]
    details = [f"It is {' and '.join(places)}."] if places else []
    if why.lacking:
        details.append(f"It lacks {', '.join(why.lacking)}.")
    return details
