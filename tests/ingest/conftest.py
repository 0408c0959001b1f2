"""The input files and the index of ingest runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow import Index


@pytest.fixture
def empty_index() -> Index:
    """An empty index in memory."""
    return Index.in_memory()


@pytest.fixture
def two_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `notes` with two files in the current directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nFirst.\n\n# B\n\nSecond.\n")
    (folder / "b.txt").write_text("Third.\n")
    return folder
