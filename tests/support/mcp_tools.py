"""In-process calls of a memory root's tools with the client of the official SDK."""

from __future__ import annotations

import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from hedgerow import MemoryRoot
from hedgerow.mcp import build_server

HEDGEROW = str(Path(sysconfig.get_path("scripts")) / "hedgerow")

Asking = Callable[[Client], Awaitable[Any]]


def ask(root: Path, asking: Asking, **options: Any) -> Any:
    """Run a client function against a server of the root. `scope` is that of the root."""
    scope = options.pop("scope", None)

    async def connected() -> Any:
        with MemoryRoot.open(root, scope=scope) as opened:
            async with Client(build_server(opened, **options)) as client:
                return await asking(client)

    return anyio.run(connected)


def answer(root: Path, tool: str, **arguments: Any) -> str:
    """Return the text of a tool's result."""
    result = ask(root, lambda client: client.call_tool(tool, arguments))
    assert not result.is_error, result.content
    assert result.structured_content is None
    return text_of(result)


def refusal(root: Path, tool: str, **arguments: Any) -> str:
    """Return the error of a tool."""
    result = ask(root, lambda client: client.call_tool(tool, arguments))
    assert result.is_error, result.content
    return text_of(result)


def text_of(result: Any) -> str:
    [content] = result.content
    text: str = content.text
    return text
