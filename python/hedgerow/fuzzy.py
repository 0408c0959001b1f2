"""The fuzzy rung of the retry ladder, on its own (spec/retrieval.md): slugs, trigrams, similarity."""

from __future__ import annotations

from functools import partial

from ._engine import TrigramIndex, query_tokens, sanitise_query, slug_text, strongest_term, trigrams
from .results import TrigramHit

__all__ = [
    "TrigramHit",
    "TrigramIndex",
    "query_tokens",
    "sanitise_query",
    "slug_text",
    "strongest_term",
    "trigrams",
]
__dir__ = partial(sorted, __all__)
