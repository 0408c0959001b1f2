"""The fields of a hit for a framework."""

from __future__ import annotations

from typing import Any

from hedgerow import Hit

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
