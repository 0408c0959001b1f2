"""The documentation of collections, with a real server in place of `search.example`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.opensearch import Collection
from opensearch_server import Node
from scenes import scene_of
from shown import run_page


@pytest.mark.parametrize("page", ["spec/opensearch.md", "docs/tutorials/leave-one-machine.md"])
def test_a_page_prints_what_it_shows(
    page: str, node: Node, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("create", "open"):
        real = getattr(Collection, method)

        def led(url: str, shown: str, real: Any = real, **options: Any) -> Collection:
            assert (url, shown) == ("https://search.example:9200", "notes")
            return real(node.url, name, **options)

        monkeypatch.setattr(Collection, method, staticmethod(led))
    with scene_of(page, tmp_path) as scene:
        scene.names |= {"hr": hr, "password": "no one asks for it"}
        with run_page(page, tmp_path, scene.names) as run:
            assert run.printed == run.shown
            if "search" in run.names:
                Collection.create("https://search.example:9200", "notes").close()
                assert [*run.names["search"]("winter")] == []
