"""The pictures of grammars are those of the grammars in spec/: else run `make pictures`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

SCRIPT = ROOT / "scripts" / "draw_railroads.py"
PICTURES = ("query-grammar.svg", "pipeline-grammar.svg")

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution")


def test_they_are_of_the_present_grammars(tmp_path: Path) -> None:
    pytest.importorskip("railroad")
    subprocess.run([sys.executable, SCRIPT, tmp_path], check=True)
    for name in PICTURES:
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        assert drawn == (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", PICTURES)
def test_they_bring_everything_along(name: str) -> None:
    text = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
    assert text.count("http") == text.count("http://www.w3.org/2000/svg")
    assert "<script" not in text
    assert "url(" not in text
