"""Memory roots: memories as Markdown files, indexed, recalled and tidied (spec/memory.md).

What is written and read as Markdown (`note`, `documents`, `writer`, `config`)
knows nothing of the index; `sync` and `recall` know the index; `root` puts them together.
"""

from __future__ import annotations

from .root import MemoryRoot

__all__ = ["MemoryRoot"]
