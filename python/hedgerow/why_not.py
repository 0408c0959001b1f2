"""`WhyNot`: why a chunk is not among the results of a search (spec/retrieval.md, "Why not")."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ._engine import Index, _group
from ._retrieval.batches import only
from ._retrieval.searching import Request, Stages
from ._steps import Call, Steps
from .results import Response
from .typing import Cut

__all__ = ["LegRank", "WhyNot"]


def __dir__() -> list[str]:
    return sorted(__all__)


class LegRank(NamedTuple):
    """Where a leg has a chunk: its rank from 0 in the leg without a limit, and its score there."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class WhyNot:
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
    cut: Cut | None
    result_rank: int | None
    rank: int | None
    score: float | None
    needed: float | None
    limit: int
    candidates: int
    held: list[str]
    lacking: list[str]
    excluded_by: list[str]
    keywords: LegRank | None
    vectors: LegRank | None
    group_best: str | None
    explanation: dict[str, Any] | None
    not_searched_for: list[str]
    by_vectors: bool

    def to_dict(self) -> dict[str, Any]:
        """All attributes, as JSON takes them."""
        found = asdict(self)
        for leg in ("keywords", "vectors"):
            found[leg] = None if found[leg] is None else getattr(self, leg)._asdict()
        return found

    def __str__(self) -> str:
        """The reason in a sentence or two."""
        return " ".join([_SENTENCES[self.cut](self), *_details(self)])


def _found(why: WhyNot) -> str:
    return f"{why.id!r} is among the results: number {(why.result_rank or 0) + 1}."


def _filtered(why: WhyNot) -> str:
    return f"{why.id!r} does not pass the filters."


def _excluded(why: WhyNot) -> str:
    return f"{why.id!r} holds what the query excludes: {', '.join(why.excluded_by)}."


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


def _too_far(why: WhyNot) -> str:
    return f"{why.id!r} was no candidate: each leg keeps the best {why.candidates}."


def _grouped(why: WhyNot) -> str:
    return f"{why.group_best!r} stands for the group of {why.id!r}, as its better chunk."


def _cut_off(why: WhyNot) -> str:
    if why.score is not None and why.score == why.needed:
        return f"{why.id!r} has the score of the last of {why.limit} results, {why.score:.4f}, and comes after it."
    number = "" if why.rank is None else f"number {why.rank + 1}, "
    needed = "" if why.needed is None else f"; the last of {why.limit} results has {why.needed:.4f}"
    return f"{why.id!r} is {number}with a score of {why.score or 0:.4f}{needed}."


def _reranked(why: WhyNot) -> str:
    return f"The reranker dropped {why.id!r}, or put it behind the first {why.limit}."


_SENTENCES = {
    None: _found,
    "not_in_index": lambda why: f"The index has no chunk {why.id!r}.",
    "filters": _filtered,
    "excluded": _excluded,
    "no_match": _unmatched,
    "candidates": _too_far,
    "group": _grouped,
    "limit": _cut_off,
    "reranker": _reranked,
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


def looking(stages: Stages, asked: Request, every: Request, id: str) -> Steps[WhyNot]:  # noqa: A002
    """Search as asked, and for everything that is fused; then look at the chunk."""
    if not isinstance(id, str):
        raise TypeError(f"id must be a str, not {type(id).__name__}")
    asked.embedded = every.embedded = yield from stages.embedded(asked, list(asked.queries))
    response = only((yield from stages.search(asked)))
    fused = only((yield from stages.search(every)))
    looked = yield from stages.why_not(asked, id)
    best = yield from _best_of_group(stages, response.trace.group_by, fused, id)
    return _compose(looked, asked, id, best=best, response=response, fused=fused)


def _best_of_group(
    stages: Stages,
    group_by: str | None,
    fused: Response,
    id: str,  # noqa: A002 - as everywhere
) -> Steps[str | None]:
    """Return the id of the hit that stands for the group of a chunk; None without groups or hits."""
    if group_by is None:
        return None
    chunk = yield Call(stages.index.get, (id,))
    if chunk is None:
        return None
    if group_by == "path":
        return next((hit.id for hit in fused if hit.path == chunk.path), None)
    if not isinstance(stages.index, Index):
        return None  # a collection groups by path alone
    others = yield Call(stages.index.get_many, ([hit.id for hit in fused],))
    group = _group(group_by, chunk)
    same = (one.id for one in others if one is not None and _group(group_by, one) == group)
    return next(same, None)


def _compose(  # noqa: PLR0913 - what was found on three ways
    looked: dict[str, Any],
    asked: Request,
    id: str,  # noqa: A002 - as everywhere
    *,
    best: str | None,
    response: Response,
    fused: Response,
) -> WhyNot:
    """Make one of what the engine saw, the results as asked for, and all of what was fused."""
    ids, all_ids = [hit.id for hit in response], [hit.id for hit in fused]
    keywords, vectors = (
        None if looked[leg] is None else LegRank(*looked[leg]) for leg in ("keywords", "vectors")
    )
    explanation = looked["explanation"]
    return WhyNot(
        query=asked.queries[0],
        id=id,
        cut=None
        if id in ids
        else _cut(looked, best, was_fused=id in all_ids, reranked=response.trace.reranked),
        result_rank=ids.index(id) if id in ids else None,
        rank=looked["rank"],
        score=None if explanation is None else explanation["score"],
        needed=response.results[-1].score if len(ids) >= asked.limit else None,
        limit=asked.limit,
        candidates=response.trace.candidate_k,
        held=[phrase for phrase, holds in looked["phrases"] if holds],
        lacking=[phrase for phrase, holds in looked["phrases"] if not holds],
        excluded_by=looked["excluded_by"],
        keywords=keywords,
        vectors=vectors,
        group_best=best if best != id else None,
        explanation=explanation,
        not_searched_for=response.not_searched_for,
        by_vectors=response.trace.embedder_used and not response.trace.fell_back_to_bm25,
    )


def _cut(looked: dict[str, Any], best: str | None, *, was_fused: bool, reranked: bool) -> Cut:
    """Name the first thing that kept a chunk out."""
    if not looked["exists"]:
        return "not_in_index"
    if not looked["passes"]:
        return "filters"
    if looked["excluded_by"] and looked["vectors"] is None:
        return "excluded"
    if was_fused:
        return "reranker" if reranked else "limit"
    if looked["rank"] is None:
        return "no_match"
    return "group" if best is not None else "candidates"
