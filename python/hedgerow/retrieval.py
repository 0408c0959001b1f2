"""Pieces of the ranking, usable on their own (spec/retrieval.md)."""

from __future__ import annotations

from ._engine import (
    Candidate,
    Intent,
    TrigramHit,
    TrigramIndex,
    Unanimity,
    detect_intent,
    query_tokens,
    reciprocal_rank_fusion,
    rerank_text,
    reweight,
    sanitise_query,
    slug_text,
    strongest_term,
    trigrams,
    unanimity,
)

__all__ = [
    "Candidate",
    "Intent",
    "TrigramHit",
    "TrigramIndex",
    "Unanimity",
    "detect_intent",
    "query_tokens",
    "reciprocal_rank_fusion",
    "rerank_text",
    "reweight",
    "sanitise_query",
    "slug_text",
    "strongest_term",
    "trigrams",
    "unanimity",
]
