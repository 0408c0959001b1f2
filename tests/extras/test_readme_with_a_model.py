"""The README's output of a real model, compared with the package from `make model-wheels`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from places import ROOT
from shown import blocks_of, comparable, run_console


@pytest.fixture
def command(tmp_path: Path, model_site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a command, because the package is not installed here."""
    script = tmp_path / "bin" / "hedgerow"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hedgerow "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'python'}{os.pathsep}{model_site}")


@pytest.mark.usefixtures("command")
def test_the_readme_shows_what_a_model_finds(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    [shown] = [block.text for block in blocks_of("README.md") if "--embedder local" in block.text]
    assert comparable(run_console(shown, tmp_path)) == comparable(shown)
