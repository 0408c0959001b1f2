"""Helpers that write files of a memory root and read its store."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from hedgerow import HedgerowError, MemoryRoot
from hedgerow._engine import _sync_root
from hedgerow.memory.sync import SyncReport

NOW = 1_800_000_000

WRAPUP = """\
## Findings
- alpha holds.

## Decisions
- beta chosen.

## Conflicts / Corrections
- None captured.

## Open Questions
- Will gamma last?
"""


def put(root: Path, name: str, text: str) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")
    return file


def keys(root: MemoryRoot, pipeline: str = "all") -> list[str]:
    return root.query(pipeline, now=NOW).keys


def edges(root: MemoryRoot) -> list[tuple[str, str, str, float]]:
    return list(root.graph().edges)


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    """Return the numbers of all, added, changed and removed documents."""
    return report.documents, report.added, report.changed, report.removed


def found(root: MemoryRoot, query: str) -> list[str]:
    """Return the files that a recall finds."""
    return sorted(one.file for one in root.recall(query, limit=50))


def become(user: str, users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch to the configuration of another user."""
    monkeypatch.setenv("HEDGEROW_CONFIG_DIR", str(users / user))


def edges_of_files(root: Path, copy: Path) -> list[tuple[str, str, str, float]]:
    """Return the edges of a root as a new store of a copy of its files has them."""
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".hedgerow", ".hedgerow-*"))
    try:
        with MemoryRoot.open(copy) as fresh:
            return edges(fresh)
    finally:
        shutil.rmtree(copy)


def before_the_edges(*arguments: Any, **options: Any) -> None:
    """Sync index and store, and fail before the edges of the store are those of the files."""
    _sync_root(*arguments, **{**options, "relinks": False})
    raise HedgerowError("the disk is full", code="root_io")
