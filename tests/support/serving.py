"""Tokens and chunks of test servers, and in-process servers on real ports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

import hedgerow as hr
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.running import Address, configured
from hedgerow._serve.tokens import Grant, Tokens
from hedgerow.memory.scope import Scope
from waiting import until

WRITER, READER, ANA = "w" * 40, "r" * 40, "a" * 40
TOKENS = Tokens(
    {
        WRITER: Grant("write"),
        READER: Grant("read"),
        ANA: Grant("write", Scope(user="ana")),
    }
)
LIMITS = Limits(running=2, refusal_seconds=0)
WRITE = {"Authorization": f"Bearer {WRITER}"}
READ = {"Authorization": f"Bearer {READER}"}

CHUNKS = [
    hr.Chunk("a", "notes/a.md", "Hedgehogs sleep in winter.", title="Hedgehogs", tags=["animal"]),
    hr.Chunk("b/1", "notes/b.md", "No pellets against slugs.", title="Slugs"),
    hr.Chunk("c", "notes/c.md", "Ivy feeds bees in autumn."),
]


@contextmanager
def listening(
    service: Any,
    around: Callable[[Any], Any] = lambda app: app,
    *,
    limits: Limits = LIMITS,
    connections: int = 1_000,
    **access: Any,
) -> Iterator[str]:
    """Serve on a local port until the block ends. Yields the URL."""
    address = Address("127.0.0.1", 0)
    bound = address.bound()
    app = around(build(service, Access(TOKENS, address.names, **access), limits))
    server = uvicorn.Server(configured(app, address, connections))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        until(lambda: server.started, "a server")
        yield address.url(bound)
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
