"""Hits and filters, as frameworks have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow import Filters, Hit, InvalidInputError

RANKING = ("id", "score", "bm25_rank", "vector_similarity", "rerank_score")
"""Keys that say how a hit was found, which readers of its text do not need."""


def metadata_of(hit: Hit) -> dict[str, Any]:
    """The chunk's metadata, overridden by fields of the hit; fields without a value are left out."""
    own = {
        "path": hit.path,
        "title": hit.title or None,
        "summary": hit.summary or None,
        **{key: getattr(hit, key) for key in RANKING},
    }
    return {**hit.metadata, **{key: value for key, value in own.items() if value is not None}}


def both(
    filters: Filters | Mapping[str, Any] | None, where: Mapping[str, Any] | None
) -> Filters | Mapping[str, Any] | None:
    """Filters that hold where both do."""
    if not where:
        return filters
    if filters is None:
        return Filters(where=where)
    if not isinstance(filters, Filters):
        inner = filters.get("where")
        return {**filters, "where": {"$and": [inner, where]} if inner else where}
    return Filters(
        filters.paths,
        filters.path_prefix,
        filters.tags,
        filters.metadata,
        {"$and": [filters.where, where]} if filters.where else where,
        filters.after,
        filters.before,
        filters.date_key,
    )


def refused(operator: object, framework: str, instead: str) -> InvalidInputError:
    """The error that a framework's operator has no counterpart."""
    return InvalidInputError(
        f"filters of {framework} with {operator} cannot be used; {instead}", code="invalid_filter"
    )
