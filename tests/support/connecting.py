"""Connections for one event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import hedgerow as hr
from serving import WRITER


def awaited(connected: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """What a method of a connection to the same server answers, in an event loop of its own."""

    async def asked() -> Any:
        async with hr.connect(connected.url, token=WRITER) as other:
            return await getattr(other, method)(*arguments, **options)

    return asyncio.run(asked())
