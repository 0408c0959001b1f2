"""The embedded index (spec/index.md)."""

from __future__ import annotations

from ._engine import Chunk, Filters, Index
from .results import Hit, IndexStats

__all__ = ["Chunk", "Filters", "Hit", "Index", "IndexStats"]
