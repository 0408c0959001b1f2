"""The verbs of a memory root."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from hedgerow import PipelineError, parse_pipeline
from hedgerow._answers.root import query_answer, recall_answer
from hedgerow.memory import MemoryRoot

from .access import may_write
from .memories import Memories
from .problems import Problem
from .requests import MOST_RESULTS, EditBody, QueryBody, RecallBody, RememberBody
from .work import Work

Answer = dict[str, Any]

_SHOWN = ("type", "weight", "timestamp")


class RootService:
    """Answers for one memory root; everything here blocks."""

    kind = "root"

    def __init__(self, root: MemoryRoot) -> None:
        self.root = root
        self.name = root.path.name
        self.memories = Memories(root)

    def check(self) -> None:
        """Raise HedgerowError where the root cannot be read."""
        self.root.index_state()

    def recall(self, body: RecallBody, mode: str) -> Answer:
        """Tell of a recall, as `hedgerow recall --json` does."""
        found = self.root.recall(body.query, limit=body.limit, depth=body.depth)
        return recall_answer(found, mode, explain=body.explain)

    def remember(self, body: RememberBody) -> Answer:
        """Write a memory."""
        done = self.root.remember(body.text, title=body.title, type=body.type, tags=body.tags)
        return done.to_dict()

    def query(self, body: QueryBody) -> Answer:
        """Tell what a pipeline selects, as `hedgerow query --json` does."""
        now = int(time.time()) if body.now is None else body.now
        types = self.root.store().types
        pipeline = parse_pipeline(body.pipeline, terms=body.terms, types=types)
        wanted, shown = pipeline, False
        try:
            columns = ",".join(_SHOWN)
            wanted, shown = parse_pipeline(f"{pipeline} | select:{columns}", types=types), True
        except PipelineError:
            pass  # It ends in `count` or `select`, or one stage more is one too many.
        result = self.root.query(wanted, now=now, explain=body.explain)
        source = {"pipeline": str(pipeline), "root": str(self.root.path), "now": now}
        return source | query_answer(result, shown=shown, explain=body.explain)

    def status(self) -> Answer:
        """Tell whether the root is set up, as `hedgerow status --json` does."""
        return self.root.status().to_dict()


def root_routes(service: RootService, work: Work) -> APIRouter:
    """The routes of a root."""
    routes = APIRouter(prefix="/v1", tags=["root"])

    @routes.post("/recall", summary="Find what the root knows, the best first")
    async def recall(body: RecallBody) -> Answer:
        return await work.run(lambda: service.recall(body, "recall"))

    @routes.post("/search", summary="The same as a recall, under the name of a search")
    async def search(body: RecallBody) -> Answer:
        return await work.run(lambda: service.recall(body, "search"))

    @routes.post("/query", summary="Select memories by a pipeline")
    async def query(body: QueryBody) -> Answer:
        return await work.run(lambda: service.query(body))

    @routes.get("/status", summary="Say whether the root is set up")
    async def status() -> Answer:
        return await work.run(service.status)

    @routes.post("/remember", summary="Write a memory", dependencies=[Depends(may_write)])
    async def remember(body: RememberBody) -> Answer:
        return await work.run(lambda: service.remember(body))

    @routes.get("/memories", summary="List memories, the last changed first")
    async def memories(
        limit: Annotated[int, Query(ge=1, le=MOST_RESULTS)] = 100,
        offset: Annotated[int, Query(ge=0)] = 0,
        type: str | None = None,  # noqa: A002 - as in the file
    ) -> Answer:
        return await work.run(lambda: service.memories.listed(limit, offset, type))

    @routes.get("/memories/{file:path}", summary="Read a memory")
    async def read(file: str) -> Response:
        found = await work.run(lambda: service.memories.read(file))
        return JSONResponse(found, headers={"ETag": f'"{found["digest"]}"'})

    @routes.put("/memories/{file:path}", summary="Edit a memory", dependencies=[Depends(may_write)])
    async def edit(file: str, body: EditBody, request: Request) -> Response:
        expected = _expected(request)
        found = await work.run(lambda: service.memories.edit(file, body.text, expected))
        return JSONResponse(found, headers={"ETag": f'"{found["digest"]}"'})

    return routes


def _expected(request: Request) -> str:
    """The digest of the text that an edit is of."""
    given = request.headers.get("if-match")
    if given is None:
        raise Problem(
            HTTPStatus.PRECONDITION_REQUIRED,
            "version_required",
            "send the ETag of the memory that you read in the header If-Match",
        )
    return given.strip().strip('"')
