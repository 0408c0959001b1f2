"""Real in-process servers for the page, which record requests and can replace a response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse

import hedgerow as hr
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.root_routes import RootService
from retrieval_doubles import FnvEmbedder
from serving import WRITER, listening

TOKEN = WRITER


@dataclass
class Answer:
    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def problem(status: int, code: str, detail: str, **fields: Any) -> Answer:
    kind = {"type": f"urn:hedgerow:error:{code}", "status": status, "code": code}
    return Answer({**kind, "detail": detail, **fields}, status)


@dataclass
class PageServer:
    """An ASGI application in front of the server's."""

    place: Path
    url: str = ""
    app: Any = None
    next_answer: Answer | None = None
    asked: list[tuple[str, str, Any, dict[str, str]]] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self.app(scope, receive, send)
            return
        if self.next_answer is not None and scope["path"] == "/v1/search":
            given, self.next_answer = self.next_answer, None
            await JSONResponse(given.body, given.status, given.headers)(scope, receive, send)
            return
        body = b""

        async def noted() -> Any:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        await self.app(scope, noted, send)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        said = json.loads(body) if body else None
        self.asked.append((scope["method"], scope["path"], said, headers))


@contextmanager
def serving_index(db: Path) -> Iterator[PageServer]:
    with hr.Retriever(
        db, embedder=FnvEmbedder(), ranking=hr.Ranking("best"), create=True
    ) as retriever:
        yield from _serving(IndexService(retriever), db, edit=False)


@contextmanager
def serving_root(root: Path, *, edit: bool) -> Iterator[PageServer]:
    with hr.MemoryRoot.open(root) as memory:
        yield from _serving(RootService(memory), root, edit=edit)


def _serving(service: Any, place: Path, *, edit: bool) -> Iterator[PageServer]:
    server = PageServer(place)

    def before(app: Any) -> PageServer:
        server.app = app
        return server

    with listening(service, before, edit=edit) as url:
        server.url = f"{url}/"
        yield server
