"""The pictures match their source files. If not, run `make pictures`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

SCRIPT = ROOT / "scripts" / "draw_railroads.py"
BADGES = ROOT / "docs" / "pictures" / "badges"
PICTURES = (
    "query-grammar.svg",
    "pipeline-grammar.svg",
    *(f"badges/{file.name}" for file in BADGES.glob("*.svg")),
)
GRAMMARS = PICTURES[:2]

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution")


def test_they_are_of_the_present_grammars(tmp_path: Path) -> None:
    pytest.importorskip("railroad")
    subprocess.run([sys.executable, SCRIPT, tmp_path], check=True)
    for name in GRAMMARS:
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        assert drawn == (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8"), name


def test_the_badges_say_what_is_so(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPT.with_name("draw_badges.py"), tmp_path], check=True)
    drawn = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert drawn == {file.name: file.read_text(encoding="utf-8") for file in BADGES.iterdir()}


@pytest.mark.parametrize("name", PICTURES)
def test_they_bring_everything_along(name: str) -> None:
    text = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
    assert text.count("http") == text.count("http://www.w3.org/2000/svg")
    assert "<script" not in text
    assert "url(" not in text
