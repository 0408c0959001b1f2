"""A root and an index, and servers for them on real ports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.root_routes import RootService
from places import ROOT
from retrieval_doubles import FnvEmbedder
from serving import WRITER, listening


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hr.Retriever]:
    """The server's retriever, on an index with vectors and texts in several scripts."""
    path = tmp_path_factory.mktemp("remote") / "notes.db"
    with hr.Index.in_memory() as notes:
        notes.sync_files([str(ROOT / "examples" / "notes")])
        chunks = list(notes.chunks())
    chunks += [
        hr.Chunk("he", "he.md", "הגדר נגזמת בחורף", tags=["scripts"], metadata={"year": 2025}),
        hr.Chunk("zh", "memory/global/user-preference-tea.md", "树篱在冬天修剪 tea"),
    ]
    with hr.Retriever(
        path, embedder=FnvEmbedder(), ranking=hr.Ranking("best"), create=True
    ) as retriever:
        retriever.upsert(chunks)
        yield retriever


@pytest.fixture(scope="module")
def index(local: hr.Retriever) -> Iterator[hr.remote.RemoteRetriever]:
    with (
        listening(IndexService(local)) as url,
        hr.connect(url, kind="index", token=WRITER) as connected,
    ):
        yield connected


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[hr.MemoryRoot]:
    """The root behind the server."""
    folder = tmp_path / "memory"
    with hr.MemoryRoot.init(folder) as root:
        (folder / "notes" / "slugs.md").write_text("# Slugs\n\nNo pellets against slugs.\n")
        (folder / "notes" / "ivy.md").write_text("# Ivy\n\nIvy feeds bees. See [[moss]].\n")
        yield root


@pytest.fixture
def root(memory: hr.MemoryRoot) -> Iterator[hr.remote.RemoteRoot]:
    with (
        listening(RootService(memory)) as url,
        hr.connect(url, kind="root", token=WRITER) as connected,
    ):
        yield connected
