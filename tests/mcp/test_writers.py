"""New memories name the client that wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import Implementation

from hedgerow import MemoryRoot
from hedgerow.mcp import build_server
from hedgerow.memory.documents import parse_document
from memory_doubles import WRAPUP


def writers(root: Path, name: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the `written_by` of each file after some calls of a client, by title."""

    async def session() -> None:
        with MemoryRoot.open(root) as opened:
            client_info = Implementation(name=name, version="1")
            async with Client(build_server(opened), client_info=client_info) as client:
                for tool, arguments in calls:
                    result = await client.call_tool(tool, arguments)
                    assert not result.is_error, result.content

    anyio.run(session)
    found = (parse_document(str(file), file.read_bytes()) for file in root.rglob("*.md"))
    return {one.title: one.metadata.get("written_by") for one in found}


def test_a_new_memory_states_the_client(tmp_path: Path) -> None:
    MemoryRoot.init(tmp_path)
    old = {"title": "Old", "text": "Cut in March."}
    found = writers(
        tmp_path,
        "claude-code",
        ("memory_remember", old),
        ("memory_supersede", {"old": "Old", "text": "Cut in August.", "title": "New"}),
        ("memory_wrapup", {"title": "Evening", "text": WRAPUP}),
        ("memory_supersede", {"old": "Evening", "by": "New"}),
    )
    assert found == dict.fromkeys(["Old", "New", "Evening"], "claude-code")


@pytest.mark.parametrize("name", ["", " ", "x" * 201])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    MemoryRoot.init(tmp_path)
    call = ("memory_remember", {"title": "Old", "text": "Cut in March."})
    assert writers(tmp_path, name, call) == {"Old": None}
