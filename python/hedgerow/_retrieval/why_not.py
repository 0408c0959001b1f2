"""Why a chunk is not among the results of a search (spec/retrieval.md, "Why not")."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from hedgerow._dual import Call, Steps
from hedgerow._engine import Index, Stop, _group
from hedgerow.results import Response
from hedgerow.typing import Cut
from hedgerow.why_not import LegRank, WhyNot

from .operations import DEFAULT_LIMIT, WhyNotRequest
from .searching import Stages


def looking(stages: Stages, request: WhyNotRequest) -> Steps[WhyNot]:
    """Search as requested, search again without limits, then examine the chunk."""
    response, options, embedded = yield from stages.search(request)
    every = replace(request, limit=sys.maxsize, offset=0, rerank=False)
    fused, _, _ = yield from stages.search(every, embedded)
    stop = Stop()
    dated = stages.dated(request.query, request.question_date, request.recency)
    given = (request.query, dated, embedded.vectors, embedded.name, options, request.id, stop)
    looked, _ = yield stages.in_one_state(options, stages.searcher.why_not, given, stop)
    best = yield from _best_of_group(stages, response.trace.group_by, fused, request.id)
    return _compose(looked, request, best=best, response=response, fused=fused)


def _best_of_group(
    stages: Stages,
    group_by: str | None,
    fused: Response,
    id: str,  # noqa: A002 - as everywhere
) -> Steps[str | None]:
    """Return the id of the hit that represents the group of a chunk; None without groups or hits."""
    if group_by is None:
        return None
    chunk = yield Call(stages.index.get, id)
    if chunk is None:
        return None
    if group_by == "path":
        return next((hit.id for hit in fused if hit.path == chunk.path), None)
    if not isinstance(stages.index, Index):
        return None  # a collection groups only by path
    others = yield Call(stages.index.get_many, [hit.id for hit in fused])
    group = _group(group_by, chunk)
    same = (one.id for one in others if one is not None and _group(group_by, one) == group)
    return next(same, None)


def _compose(
    looked: dict[str, Any],
    request: WhyNotRequest,
    *,
    best: str | None,
    response: Response,
    fused: Response,
) -> WhyNot:
    """Build the result from the engine's report, the requested results, and all fused hits."""
    ids, all_ids = [hit.id for hit in response], [hit.id for hit in fused]
    keywords, vectors = (
        None if looked[leg] is None else LegRank(*looked[leg]) for leg in ("keywords", "vectors")
    )
    explanation, id_ = looked["explanation"], request.id
    limit = DEFAULT_LIMIT if request.limit is None else request.limit
    return WhyNot(
        query=request.query,
        id=id_,
        cut=None
        if id_ in ids
        else _cut(looked, best, was_fused=id_ in all_ids, reranked=response.trace.reranked),
        result_rank=ids.index(id_) if id_ in ids else None,
        rank=looked["rank"],
        score=None if explanation is None else explanation["score"],
        needed=response.results[-1].score if len(ids) >= limit else None,
        limit=limit,
        candidates=response.trace.candidate_k,
        held=[phrase for phrase, holds in looked["phrases"] if holds],
        lacking=[phrase for phrase, holds in looked["phrases"] if not holds],
        excluded_by=looked["excluded_by"],
        keywords=keywords,
        vectors=vectors,
        group_best=best if best != id_ else None,
        explanation=explanation,
        not_searched_for=response.not_searched_for,
        by_vectors=response.trace.embedder_used and not response.trace.fell_back_to_bm25,
    )


def _cut(looked: dict[str, Any], best: str | None, *, was_fused: bool, reranked: bool) -> Cut:
    """Return the first reason that excluded a chunk."""
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
