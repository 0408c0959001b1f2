"""The verbs of a memory root."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from hedgerow import PipelineError, parse_pipeline
from hedgerow._answers.root import query_answer, recall_answer
from hedgerow._answers.root_shapes import (
    Context,
    Forgotten,
    Linked,
    Links,
    Marked,
    Memory,
    Processed,
    QueryAnswer,
    RecallAnswer,
    Remembered,
    RootStatus,
    Visited,
    WrappedUp,
)
from hedgerow._answers.root_shapes import Memories as MemoryPage
from hedgerow._graph.figures import around
from hedgerow.memory import MemoryRoot

from .access import may_write
from .answering import Answer, answered, answers
from .memories import Memories
from .problems import Problem
from .requests import (
    MOST_HOPS,
    MOST_RESULTS,
    ContextBody,
    EditBody,
    ForgetBody,
    LinkBody,
    ProcessBody,
    QueryBody,
    RecallBody,
    RememberBody,
    RestoreBody,
    RetractBody,
    SupersedeBody,
    UnlinkBody,
    VisitBody,
    WrapupBody,
)
from .work import Work

_SHOWN = ("type", "weight", "timestamp")


class RootService:
    """Answers for one memory root; everything here blocks."""

    kind = "root"

    def __init__(self, root: MemoryRoot) -> None:
        self.root = root
        self.name = root.name
        self.memories = Memories(root)

    def check(self) -> None:
        """Raise HedgerowError where the root cannot be read."""
        self.root.index_state()

    def recall(self, body: RecallBody, mode: str) -> Answer:
        """Recall; the answer is that of `hedgerow recall --json`."""
        found = self.root.recall(body.query, **body.model_dump(exclude={"query", "explain"}))
        return recall_answer(found, mode, explain=body.explain)

    def context(self, body: ContextBody) -> Answer:
        """Pack evidence; the answer is that of `hedgerow recall --budget --json`."""
        return self.root.context(**body.model_dump()).to_dict()

    def remember(self, body: RememberBody) -> Answer:
        """Write a memory."""
        return self.root.remember(**body.model_dump()).to_dict()

    def wrapup(self, body: WrapupBody) -> Answer:
        """Write the wrapup of a session."""
        return self.root.wrapup(
            body.text, title=body.title, topic=body.topic, limit=body.limit, tags=body.tags
        ).to_dict()

    def process(self, body: ProcessBody) -> Answer:
        """Look through memories, as `hedgerow process --json` does."""
        return self.root.process(
            body.mode, apply=body.apply, topic=body.topic, since=body.since, limit=body.limit
        ).to_dict()

    def graph(self, name: str, hops: int, limit: int) -> Answer:
        """Return the links of a memory, as `hedgerow graph KEY --json` does."""
        key = self.root.resolve(name)
        graph = self.root.graph(sync=False)
        part = around(graph.edges, key, hops=hops, most=limit)
        unresolved = [to for file, to in graph.unresolved if file == key]
        validities = self.root.validities(part.hops)
        told = {key: validity.to_dict() for key, validity in validities.items()}
        answer = {"root": str(self.root.path), **part.to_dict(), "unresolved": unresolved}
        return answer | ({"validities": told} if told else {})

    def link(self, body: LinkBody) -> Answer:
        """Link two memories, as `hedgerow link --json` does."""
        a, b = self.root.resolve(body.a), self.root.resolve(body.b)
        self.root.link(a, b, body.strength, body.rel)
        ends = {"root": str(self.root.path), "a": a, "b": b, "rel": body.rel}
        return {**ends, "strength": body.strength}

    def unlink(self, body: UnlinkBody) -> Answer:
        """Remove a link, as `hedgerow link --remove --json` does."""
        a, b = self.root.resolve(body.a), self.root.resolve(body.b)
        removed = self.root.unlink(a, b, body.rel)
        return {"root": str(self.root.path), "a": a, "b": b, "rel": body.rel, "removed": removed}

    def supersede(self, body: SupersedeBody) -> Answer:
        """Mark a memory as superseded, as `hedgerow supersede --json` does."""
        return self.root.supersede(
            body.old,
            body.by,
            text=body.text,
            title=body.title,
            type=body.type,
            tags=body.tags,
        ).to_dict()

    def retract(self, body: RetractBody) -> Answer:
        """Mark a memory as retracted, as `hedgerow retract --json` does."""
        return self.root.retract(body.key, body.reason).to_dict()

    def restore(self, body: RestoreBody) -> Answer:
        """Remove such marks, as `hedgerow restore --json` does."""
        return self.root.restore(body.key).to_dict()

    def forget(self, body: ForgetBody) -> Answer:
        """Delete a memory, as `hedgerow forget --purge --json` does."""
        return self.root.forget(body.key, purge=body.purge).to_dict()

    def visit(self, body: VisitBody) -> Answer:
        """Record visits, as `hedgerow visit --json` does: all of them, or none."""
        at = int(time.time()) if body.at is None else body.at
        keys = [self.root.resolve(key) for key in body.keys]
        self.root.visit_many([(body.agent, key, at, body.outcome) for key in keys])
        told = {"agent": body.agent, "at": at, "outcome": body.outcome, "keys": keys}
        return {"root": str(self.root.path), **told}

    def query(self, body: QueryBody) -> Answer:
        """Return what a pipeline selects, as `hedgerow query --json` does."""
        now = int(time.time()) if body.now is None else body.now
        types = self.root.store().types
        pipeline = parse_pipeline(body.pipeline, terms=body.terms, types=types)
        wanted, shown = pipeline, False
        try:
            columns = ",".join(_SHOWN)
            wanted, shown = parse_pipeline(f"{pipeline} | select:{columns}", types=types), True
        except PipelineError:
            pass  # It ends in `count` or `select`, or already has as many stages as are allowed.
        result = self.root.query(wanted, now=now, explain=body.explain)
        source = {"pipeline": str(pipeline), "root": str(self.root.path), "now": now}
        return source | query_answer(result, shown=shown, explain=body.explain)

    def status(self) -> Answer:
        """Say whether the root is set up, as `hedgerow status --json` does."""
        return self.root.status().to_dict()


def root_routes(service: RootService, work: Work) -> APIRouter:
    """The routes of a root."""
    routes = APIRouter(prefix="/v1", tags=["root"])
    _add_reading(routes, service, work)
    _add_writing(routes, service, work)
    _add_marking(routes, service, work)
    _add_files(routes, service.memories, work)
    return routes


def _add_reading(routes: APIRouter, service: RootService, work: Work) -> None:
    @routes.post("/context", summary="Pack evidence for a question", **answers(Context))
    async def context(body: ContextBody) -> Response:
        return await answered(work, lambda: service.context(body))

    @routes.post("/recall", summary="Find what the root knows", **answers(RecallAnswer))
    async def recall(body: RecallBody) -> Response:
        return await answered(work, lambda: service.recall(body, "recall"))

    @routes.post("/search", summary="Recall, under the name of a search", **answers(RecallAnswer))
    async def search(body: RecallBody) -> Response:
        return await answered(work, lambda: service.recall(body, "search"))

    @routes.post("/query", summary="Select memories by a pipeline", **answers(QueryAnswer))
    async def query(body: QueryBody) -> Response:
        return await answered(work, lambda: service.query(body))

    @routes.get("/graph", summary="Show what a memory is linked to", **answers(Links))
    async def graph(
        key: str,
        hops: Annotated[int, Query(ge=1, le=MOST_HOPS)] = 1,
        limit: Annotated[int, Query(ge=1, le=MOST_RESULTS)] = 100,
    ) -> Response:
        return await answered(work, lambda: service.graph(key, hops, limit))

    @routes.get("/status", summary="Say whether the root is set up", **answers(RootStatus))
    async def status() -> Response:
        return await answered(work, service.status)

    @routes.post("/process", summary="Look through memories, or make a page", **answers(Processed))
    async def process(body: ProcessBody, request: Request) -> Response:
        if body.apply:
            may_write(request)
        return await answered(work, lambda: service.process(body))


def _add_writing(routes: APIRouter, service: RootService, work: Work) -> None:
    writes = [Depends(may_write)]

    @routes.post("/remember", summary="Write a memory", dependencies=writes, **answers(Remembered))
    async def remember(body: RememberBody) -> Response:
        return await answered(work, lambda: service.remember(body))

    @routes.post(
        "/wrapup",
        summary="Write the wrapup of a session",
        dependencies=writes,
        **answers(WrappedUp),
    )
    async def wrapup(body: WrapupBody) -> Response:
        return await answered(work, lambda: service.wrapup(body))

    @routes.post("/link", summary="Link two memories", dependencies=writes, **answers(Linked))
    async def link(body: LinkBody) -> Response:
        return await answered(work, lambda: service.link(body))

    @routes.post("/unlink", summary="Remove a link", dependencies=writes, **answers(Linked))
    async def unlink(body: UnlinkBody) -> Response:
        return await answered(work, lambda: service.unlink(body))

    @routes.post(
        "/visit", summary="Record visits of an agent", dependencies=writes, **answers(Visited)
    )
    async def visit(body: VisitBody) -> Response:
        return await answered(work, lambda: service.visit(body))


def _add_marking(routes: APIRouter, service: RootService, work: Work) -> None:
    writes = [Depends(may_write)]

    @routes.post(
        "/supersede", summary="Mark a memory as superseded", dependencies=writes, **answers(Marked)
    )
    async def supersede(body: SupersedeBody) -> Response:
        return await answered(work, lambda: service.supersede(body))

    @routes.post(
        "/retract", summary="Mark a memory as retracted", dependencies=writes, **answers(Marked)
    )
    async def retract(body: RetractBody) -> Response:
        return await answered(work, lambda: service.retract(body))

    @routes.post(
        "/restore",
        summary="Remove the marks of a memory",
        dependencies=writes,
        **answers(Marked),
    )
    async def restore(body: RestoreBody) -> Response:
        return await answered(work, lambda: service.restore(body))

    @routes.post(
        "/forget", summary="Delete a memory for good", dependencies=writes, **answers(Forgotten)
    )
    async def forget(body: ForgetBody) -> Response:
        return await answered(work, lambda: service.forget(body))


def _add_files(routes: APIRouter, memories: Memories, work: Work) -> None:
    @routes.get("/memories", summary="List memories, the last changed first", **answers(MemoryPage))
    async def list_memories(
        limit: Annotated[int, Query(ge=1, le=MOST_RESULTS)] = 100,
        offset: Annotated[int, Query(ge=0)] = 0,
        type: str | None = None,  # noqa: A002 - as in the file
        superseded: bool = False,
    ) -> Response:
        return await answered(
            work, lambda: memories.listed(limit, offset, type, superseded=superseded)
        )

    @routes.get("/memories/{file:path}", summary="Read a memory", **answers(Memory))
    async def read(file: str) -> Response:
        return await answered(work, lambda: memories.read(file), tagged=True)

    @routes.put(
        "/memories/{file:path}",
        summary="Edit a memory",
        dependencies=[Depends(may_write)],
        **answers(Memory),
    )
    async def edit(
        file: str,
        body: EditBody,
        if_match: Annotated[
            str | None, Header(alias="If-Match", description="The ETag that was read")
        ] = None,
    ) -> Response:
        if if_match is None:
            raise Problem(
                HTTPStatus.PRECONDITION_REQUIRED,
                "version_required",
                "send the ETag of the memory that you read in the header If-Match",
            )
        expected = if_match.strip().strip('"')
        return await answered(work, lambda: memories.edit(file, body.text, expected), tagged=True)
