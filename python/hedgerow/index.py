"""The embedded index (spec/index.md)."""

from __future__ import annotations

import os

from . import _engine
from ._engine import Chunk, Filters, Index
from .results import Hit, IndexStats

__all__ = ["Chunk", "Filters", "Hit", "Index", "IndexStats"]

if hasattr(os, "register_at_fork"):
    # A connection that is open in both processes loses what the child writes.
    os.register_at_fork(
        before=_engine._before_fork,  # noqa: SLF001
        after_in_parent=_engine._after_fork,  # noqa: SLF001
        after_in_child=_engine._after_fork,  # noqa: SLF001
    )
