"""Pieces of the ranking, usable on their own (spec/retrieval.md)."""

from __future__ import annotations

from ._engine import query_tokens, sanitise_query, slug_text, strongest_term, trigrams

__all__ = ["query_tokens", "sanitise_query", "slug_text", "strongest_term", "trigrams"]
