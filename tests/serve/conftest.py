"""A root and an index, and in-process servers for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import hedgerow as hr
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.root_routes import RootService
from serving import CHUNKS, TOKENS, WRITE


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "notes.db"
    with hr.Index.open(path) as index:
        index.upsert(CHUNKS)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    hr.MemoryRoot.initialize(folder)
    (folder / "notes" / "slugs.md").write_text("# Slugs\n\nNo pellets against slugs.\n")
    return folder


@pytest.fixture
def of_index(db: Path) -> Iterator[TestClient]:
    """A client of a server of the index, with the write token."""
    with hr.Retriever(db, ranking=hr.Ranking("best")) as retriever:
        yield from _client(IndexService(retriever))


@pytest.fixture
def of_root(root: Path) -> Iterator[TestClient]:
    """A client of a server of the root, with the write token."""
    with hr.MemoryRoot.open(root) as memory:
        yield from _client(RootService(memory))


def _client(service: IndexService | RootService) -> Iterator[TestClient]:
    app = build(service, Access(TOKENS, ["127.0.0.1"]), Limits(running=4, refusal_seconds=0))
    address = "http://127.0.0.1:7411"
    # Errors in the server become responses, as in production.
    with TestClient(app, address, headers=WRITE, raise_server_exceptions=False) as client:
        yield client
