"""The notes of examples/, and their index."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from command_line import ok
from places import ROOT


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `notes`, a copy of those in examples/, and their index `notes.db`."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples" / "notes", folder / "notes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ok("index", "notes", "--db", "notes.db")
    return folder


@pytest.fixture
def in_examples(examples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in the folder of the examples."""
    monkeypatch.chdir(examples)
    return examples
