"""The notes of examples/, and their index."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from command_line import ok
from places import ROOT


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds `notes`, those of examples/, and `notes.db` made from it."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples" / "notes", folder / "notes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ok("index", "notes", "--db", "notes.db")
    return folder


@pytest.fixture
def in_examples(examples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run where the examples are."""
    monkeypatch.chdir(examples)
    return examples
