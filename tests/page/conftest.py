"""An index with both legs, a root, and servers of both."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from browsers import NOT_RUN, Pages, chromium
from command_line import ok
from page_server import PageServer, serving_index, serving_root
from places import ROOT
from retrieval_doubles import FnvEmbedder

HOSTILE = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>{{data}}'

SCRIPTS = {
    "he": ("גדר חיה", "הגדר נגזמת בחורף, אחרי שהציפורים עזבו את הקן."),
    "ar": ("السياج", "يُقص السياج في الشتاء بعد أن تترك الطيور أعشاشها."),
    "zh": ("树篱", "树篱在冬天修剪,那时鸟儿已经离开了巢。"),
    "hi": ("बाड़", "बाड़ सर्दियों में काटी जाती है, जब पक्षी जा चुके होते हैं।"),
    "ru": ("Живая изгородь", "Изгородь стригут зимой, когда птицы уже улетели."),
}


@contextmanager
def _fnv(_: Any) -> Iterator[FnvEmbedder]:
    yield FnvEmbedder()


@pytest.fixture(scope="session")
def hedges_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with vectors."""
    file = tmp_path_factory.mktemp("page") / "hedges.db"
    with hr.Index.in_memory() as notes:
        notes.sync_files([str(ROOT / "examples" / "notes")])
        chunks = list(notes.chunks())
    chunks.append(
        hr.Chunk(HOSTILE, f"{HOSTILE}.md", f"hostile {HOSTILE}", title=HOSTILE, tags=[HOSTILE])
    )
    chunks += [hr.Chunk(n, f"{n}.md", f"scripts {c}", title=t) for n, (t, c) in SCRIPTS.items()]
    chunks += [
        hr.Chunk(
            f"many{n}",
            "many.md",
            f"crowd number{n} " * (n % 7 + 1),
            title="W" * 300 + f" {n}",
            ordinal=n,
        )
        for n in range(120)
    ]
    with hr.Retriever(file, embedder=FnvEmbedder(), create=True) as retriever:
        retriever.upsert(chunks)
    return file


@pytest.fixture
def hedges(hedges_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That index, which `hedgerow search` searches by both legs."""
    monkeypatch.setattr("hedgerow.cli.search_run.embedder_of", _fnv)
    return hedges_file


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A root with the notes of examples/, in which two link to each other."""
    root = tmp_path / "garden"
    shutil.copytree(ROOT / "examples" / "notes", root)
    ok("init", "--root", str(root))
    ok("link", "hedgehogs", "slugs", "--root", str(root))
    ok("link", "slugs", "compost", "--root", str(root))
    return root


@pytest.fixture
def serve_index(hedges: Path) -> Iterator[PageServer]:
    with serving_index(hedges) as server:
        yield server


@pytest.fixture
def serve_root(garden: Path) -> Iterator[PageServer]:
    with serving_root(garden, edit=True) as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason=NOT_RUN.format("the package playwright")
    )
    program = chromium()
    if program is None:
        pytest.skip(NOT_RUN.format("chromium"))
    # Chromium's own sandbox does not run as root.
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=options)
        yield running
        running.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Pages]:
    pages = Pages(browser)
    yield pages
    pages.check()


@pytest.fixture
def reported(hedges: Path, tmp_path: Path, opened: Pages) -> Callable[..., Any]:
    """Searches the index with --report, and opens that."""

    def report(query: str, *args: str, **options: Any) -> Any:
        file = tmp_path / "found.html"
        ok("search", query, "--db", str(hedges), *args, "--report", str(file))
        return opened(file.as_uri(), **options)

    return report
