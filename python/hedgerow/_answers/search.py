"""The answer to a search of an index or of a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow import Filters, Hit, QueryExplanation, Response, WhyNot

from .highlight import Highlighter, Span
from .names import named, told


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
    """The answer to a search; with an `explanation` of the query, each score is explained too.

    `place` says what was searched, `chunks` how many chunks it has.
    """
    trace = response.trace
    cuts = highlighter.snippets([hit.content for hit in response], [hit.title for hit in response])
    results = [
        _hit(hit, offset + number, cut)
        for number, (hit, (cut, _)) in enumerate(zip(response, cuts, strict=True), start=1)
    ]
    if explanation is not None:
        for result, hit, (_, spans) in zip(results, response, cuts, strict=True):
            result.update(_explained(hit, spans, highlighter))
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
        "speakers": trace.speakers,
        "dates": trace.dates,
        "reweight": trace.reweight,
        "filters": named(filters_asked(filters)),
        "match": trace.match_query,
        "trace": trace.to_dict(),
        "count": len(results),
        "results": results,
    }
    if response.error is not None:
        error = response.error
        code = getattr(error, "code", "leg_failed")
        value["error"] = {"error": type(error).__name__, "code": code, "detail": str(error)}
    if notices or trace.notices:
        value["notices"] = [*notices, *trace.notices]
    if explanation is not None:
        value["explanation"] = query_told(explanation)
    if why_not is not None:
        value["whyNot"] = told(why_not.to_dict())
    return value


def filters_asked(filters: Filters) -> dict[str, Any]:
    """All of the filters, as `Filters` takes them again."""
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


def _hit(hit: Hit, rank: int, cut: str) -> dict[str, Any]:
    metadata = hit.metadata
    return {
        "rank": rank,
        "score": hit.score,
        "bm25Rank": hit.bm25_rank,
        "vectorSimilarity": hit.vector_similarity,
        "rerankScore": hit.rerank_score,
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


def _explained(hit: Hit, in_snippet: Sequence[Span], highlighter: Highlighter) -> dict[str, Any]:
    in_title, in_content = highlighter.spans(hit.title, hit.content)
    return {
        "explanation": hit.explain(),
        "scoreParts": told(hit.explanation),
        "highlights": {"title": in_title, "snippet": in_snippet, "content": in_content},
    }


def query_told(explanation: QueryExplanation) -> dict[str, Any]:
    """What each word of a query became, and the expressions it was compiled to."""
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
