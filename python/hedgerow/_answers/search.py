"""The answer to a search of an index or of a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow import Filters, Hit, QueryExplanation, Response, WhyNot

from .highlight import LOOKED_AT, Highlighter, snippet


def search_answer(  # noqa: PLR0913 - what an answer tells
    place: Mapping[str, str],
    query: str,
    response: Response,
    *,
    filters: Filters,
    limit: int,
    offset: int,
    mode: str,
    operator: str,
    chunks: int,
    highlighter: Highlighter,
    notices: Sequence[str] = (),
    explanation: QueryExplanation | None = None,
    why_not: WhyNot | None = None,
) -> dict[str, Any]:
    """Tell of a search; with an `explanation` of the query, of each score too.

    `place` says what was searched, `chunks` how many chunks it has.
    """
    trace = response.trace
    results = [
        _hit(hit, offset + number, highlighter, explain=explanation is not None)
        for number, hit in enumerate(response, start=1)
    ]
    value: dict[str, Any] = {
        "query": query,
        **place,
        "chunks": chunks,
        "limit": limit,
        "offset": offset,
        "candidates": trace.candidates,
        "operator": operator,
        "profile": trace.profile,
        "matching": trace.matching,
        "mode": mode,
        "fusion": trace.fusion,
        "neighbors": trace.neighbors,
        "reweight": trace.reweight,
        "filters": filters_told(filters),
        "match": trace.match_query,
        "trace": trace.to_dict(),
        "count": len(results),
        "results": results,
    }
    if response.error is not None:
        error = response.error
        code = getattr(error, "code", "leg_failed")
        value["error"] = {"error": type(error).__name__, "code": code, "detail": str(error)}
    if notices:
        value["notices"] = list(notices)
    if explanation is not None:
        value["explanation"] = query_told(explanation)
    if why_not is not None:
        value["why_not"] = why_not.to_dict()
    return value


def filters_told(filters: Filters) -> dict[str, Any]:
    """Tell all of the filters, as `Filters` takes them again."""
    return {
        "paths": list(filters.paths),
        "path_prefix": filters.path_prefix,
        "tags": list(filters.tags),
        "metadata": dict(filters.metadata),
        "where": filters.where,
        "after": filters.after,
        "before": filters.before,
        "date_key": filters.date_key,
    }


def _hit(hit: Hit, rank: int, highlighter: Highlighter, *, explain: bool) -> dict[str, Any]:
    metadata = hit.metadata
    cut, in_snippet = snippet(hit.content, hit.title, highlighter)
    value = {
        "rank": rank,
        "score": hit.score,
        "bm25_rank": hit.bm25_rank,
        "vector_similarity": hit.vector_similarity,
        "rerank_score": hit.rerank_score,
        "id": hit.id,
        "path": hit.path,
        "ordinal": hit.ordinal,
        "line": metadata.get("line_start"),
        "title": hit.title,
        "summary": hit.summary,
        "tags": hit.tags,
        "snippet": cut,
        "content": hit.content,
        "metadata": metadata,
    }
    if explain:
        value["explanation"] = hit.explain()
        value["score_parts"] = hit.explanation
        value["highlights"] = {
            "title": highlighter.spans(hit.title),
            "snippet": in_snippet,
            "content": highlighter.spans(hit.content[:LOOKED_AT]),
        }
    return value


def query_told(explanation: QueryExplanation) -> dict[str, Any]:
    """Tell what a query means."""
    return {
        "text": explanation.text,
        "normalised": explanation.normalized,
        "filtered": explanation.filtered,
        "words": [
            {
                "source": word.source,
                "outcome": word.outcome,
                "tokens": [token.to_dict() for token in word.tokens],
                "reason": word.reason,
                "detail": word.detail,
            }
            for word in explanation.words
        ],
        "fts": explanation.fts,
        "match": explanation.match,
    }
