"""Memory roots for the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow import MemoryRoot
from memory_doubles import put


@pytest.fixture
def slugs_root(tmp_path: Path) -> Path:
    root = MemoryRoot.init(tmp_path / "memory").path
    put(root, "decisions/a.md", "---\ndate: 2026-04-18\n---\n# Slugs\n\nNo pellets: beer.\n")
    return root
