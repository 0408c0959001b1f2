"""Every page of the repository is true: what it shows is run, parsed or sent, and what that gives compared."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scenes import scene_of
from shown import blocks_of, pages, run_page

# Blocks of Python that need what only a suite of its own has; the page is run whole by that file.
ELSEWHERE = {
    "docs/frameworks.md": ("tests/extras/test_pages.py", r"hedgerow\.integrations"),
    "docs/ray.md": ("tests/ray/test_pages.py", r"import ray|search_many\("),
    "spec/opensearch.md": ("tests/cluster/test_pages.py", "Collection"),
}
RUN = [
    page
    for page in pages()
    if any(block.language in ("python", "console") for block in blocks_of(page))
]


@pytest.mark.parametrize("page", RUN)
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    if sys.platform == "win32" and any(block.language == "console" for block in blocks_of(page)):
        pytest.skip("the console blocks are for a POSIX shell")
    _, without = ELSEWHERE.get(page, (None, None))
    with scene_of(page, tmp_path) as scene, run_page(page, tmp_path, scene.names, without) as run:
        assert run.printed == run.shown
