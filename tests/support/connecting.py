"""Connections for one event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import hedgerow as hr
from serving import WRITER


def awaited(connected: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Call a method on a second connection to the same server, in a new event loop."""

    async def asked() -> Any:
        async with hr.connect(connected.url, token=WRITER) as other:
            return await getattr(other, method)(*arguments, **options)

    return asyncio.run(asked())
