"""Memory roots."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from embedder_servers import openai_answer
from local_server import LocalServer
from memory_doubles import become, put
from trust_doubles import asking


@pytest.fixture
def root(tmp_path: Path) -> hr.MemoryRoot:
    """An empty memory root."""
    return hr.MemoryRoot.open(tmp_path)


@pytest.fixture
def synced_root(tmp_path: Path) -> hr.MemoryRoot:
    """A memory root with two notes: a.md about hawthorn, and b.md about blackthorn and sloes."""
    put(tmp_path, "notes/a.md", "# A\n\nhawthorn\n")
    put(tmp_path, "notes/b.md", "# B\n\nblackthorn\n\n## More\n\nsloes\n")
    opened = hr.MemoryRoot.open(tmp_path)
    opened.sync()
    return opened


@pytest.fixture
def attacked(tmp_path: Path, server: LocalServer) -> Path:
    """A cloned root that asks to send the whole home folder to a server."""
    server.answer = openai_answer
    put(tmp_path, "private.md", "the otter is a secret")
    return asking(
        tmp_path / "clone/project/memory",
        indexRoot="../../..",
        embedder=f"openai:small@{server.url}/v1",
    )


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders of two users. The current user is `mallory`."""
    become("mallory", tmp_path, monkeypatch)
    return tmp_path
