"""The tools of `hedgerow mcp` over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from hedgerow.errors import HedgerowError
from hedgerow.mcp import build_server
from hedgerow.memory import MemoryRoot

from .problems import Problem
from .tokens import Grant
from .work import Work

PATH = "/mcp"


class Tools:
    """A server of tools for each kind of token: with one that only reads there is no tool that writes.

    Calls count among the requests that are worked on, and have the same limits.
    """

    def __init__(
        self,
        view: Callable[[Grant], MemoryRoot],
        grants: Iterable[Grant],
        work: Work,
        *,
        read_only: bool,
    ) -> None:
        async def run(function: Callable[[], Any]) -> Any:
            try:
                return await work.run(function)
            except Problem as problem:
                raise HedgerowError(str(problem.detail), code=problem.code) from problem

        self._managers: list[StreamableHTTPSessionManager] = []
        self._apps: dict[Grant, ASGIApp] = {}
        for grant in set(grants):
            reads = read_only or grant.kind == "read"
            server = build_server(view(grant), read_only=reads, run=run)
            # Guard has checked Host and Origin already.
            self._apps[grant] = server.streamable_http_app(
                streamable_http_path=PATH,
                json_response=True,
                stateless_http=True,
                transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            )
            self._managers.append(server.session_manager)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer while the block runs."""
        async with AsyncExitStack() as stack:
            for manager in self._managers:
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the tools that the token allows."""
        await self._apps[scope["grant"]](scope, receive, send)
