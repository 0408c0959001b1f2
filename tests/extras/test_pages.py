"""The documentation of frameworks, run with the real ones."""

from __future__ import annotations

from pathlib import Path

from scenes import scene_of
from shown import run_page


def test_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    page = "docs/frameworks.md"
    with scene_of(page, tmp_path) as scene, run_page(page, tmp_path, scene.names) as run:
        assert run.printed == run.shown
