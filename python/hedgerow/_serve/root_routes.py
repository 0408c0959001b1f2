"""The routes of a memory root: one for each operation of the table, and the pipelines."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, get_args

from fastapi import APIRouter, Request, Response

from hedgerow import PipelineError, parse_pipeline
from hedgerow._answers.query import query_answer
from hedgerow._operations.fields import declared
from hedgerow._operations.operation import Request as Operation
from hedgerow._operations.schema import Definitions
from hedgerow._operations.shapes import checked_arguments
from hedgerow.errors import HedgerowError
from hedgerow.memory import MemoryRoot
from hedgerow.memory.operations import OPERATIONS, EditRequest, ReadRequest

from .access import may_write
from .answering import Answer, answered, answers, written
from .description import described
from .once import Once
from .problems import Problem
from .requests import QueryBody
from .shapes import QueryAnswer
from .tokens import Grant

_SMALL = 64 * 1024
"""The most bytes of a body that is read on the event loop."""

_SHOWN = ("type", "weight", "timestamp")


class RootService:
    """Answers for one memory root; everything here blocks."""

    kind = "root"

    def __init__(self, root: MemoryRoot) -> None:
        self.root = root
        self.name = root.name

    def check(self) -> None:
        """Raise HedgerowError where the root cannot be read."""
        self.root.index_state()

    def view(self, grant: Grant) -> MemoryRoot:
        """Return the root, or the part of it that a token is for; all share what is open."""
        scope = grant.scope
        if not scope:
            return self.root
        return self.root.scoped(user=scope.user, agent=scope.agent, session=scope.session)

    def perform(self, request: Operation[Any], grant: Grant) -> Answer:
        """Carry out an operation; the answer is the JSON of its result."""
        try:
            done = self.view(grant)._perform(request)  # noqa: SLF001 - of the same package
        except HedgerowError as error:
            if error.code == "file_changed" and isinstance(request, EditRequest):
                raise self._changed(request, grant, error) from error
            raise
        answer: Answer = done.to_dict(explain=getattr(request, "explain", False))
        return answer

    def _changed(self, request: EditRequest, grant: Grant, error: HedgerowError) -> Problem:
        """Return the problem of an edit that came too late, with the present text."""
        present = self.perform(ReadRequest(request.key), grant)
        return Problem(HTTPStatus.CONFLICT, error.code, error.message, fields=present)

    def query(self, body: QueryBody, grant: Grant) -> Answer:
        """Return what a pipeline selects, as `hedgerow query --json` does."""
        now = int(time.time()) if body.now is None else body.now
        root = self.view(grant)
        types = root._session().store().types  # noqa: SLF001 - of the same package
        pipeline = parse_pipeline(body.pipeline, terms=body.terms, types=types)
        wanted, shown = pipeline, False
        try:
            columns = ",".join(_SHOWN)
            wanted, shown = parse_pipeline(f"{pipeline} | select:{columns}", types=types), True
        except PipelineError:
            pass  # It ends in `count` or `select`, or already has as many stages as are allowed.
        result = root.query(wanted, now=now, explain=body.explain)
        source = {"pipeline": str(pipeline), "root": str(root.path), "now": now}
        return source | query_answer(result, shown=shown, explain=body.explain)


def root_routes(service: RootService, once: Once, definitions: Definitions) -> APIRouter:
    """The routes of a root; the schemas of their bodies and answers are added to `definitions`."""
    routes = APIRouter(prefix="/v1", tags=["root"])
    for kind in OPERATIONS.values():
        _add(routes, kind, service, once, definitions)

    @routes.post("/query", summary="Select memories by a pipeline", **answers(QueryAnswer))
    async def query(body: QueryBody, request: Request) -> Response:
        grant = request.scope["grant"]
        return await answered(once.work, lambda: service.query(body, grant))

    return routes


def _add(
    routes: APIRouter,
    kind: type[Operation[Any]],
    service: RootService,
    once: Once,
    definitions: Definitions,
) -> None:
    """Add the route of an operation."""
    row = kind.operation

    async def route(request: Request) -> Response:
        if row.writes:
            may_write(request)
        given = await _arguments(kind, request)
        asked = checked_arguments(kind, given, served=True)
        if asked.writes:
            may_write(request)
        grant = request.scope["grant"]
        if asked.writes:
            return await written(once, request, lambda: service.perform(asked, grant))
        return await answered(once.work, lambda: service.perform(asked, grant))

    routes.add_api_route(
        f"/{row.path}".replace("}", ":path}"),
        route,
        methods=[row.method],
        name=row.name,
        response_model=None,
        **described(kind, definitions),
    )


async def _arguments(kind: type[Operation[Any]], request: Request) -> dict[str, Any]:
    """Return the arguments in the body, the path, the parameters and the headers of a request."""
    fields = {one.name: one for one in declared(kind)}
    if request.method == "GET":
        given: dict[str, Any] = {
            name: _of_parameter(text, fields[name].type if name in fields else str)
            for name, text in request.query_params.items()
        }
    else:
        given = await _body(request)
    given |= request.path_params
    for one in fields.values():
        if one.field.header is not None:
            given[one.name] = _header(request, one.field.header)
    return given


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object in a body; raises a Problem for another body."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        detail = "send the body as JSON, with the header Content-Type: application/json"
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not_json", detail)
    problem = "it is not a JSON object"
    body = await request.body()
    try:
        # Reading a large body takes long: others are answered meanwhile.
        small = len(body) <= _SMALL
        found = json.loads(body) if small else await asyncio.to_thread(json.loads, body)
        if isinstance(found, dict):
            return found
    except (ValueError, RecursionError) as error:
        problem = f"it is not JSON ({error})"
    raise Problem(HTTPStatus.BAD_REQUEST, "invalid_request", f"the body cannot be read: {problem}")


def _header(request: Request, name: str) -> str:
    value = request.headers.get(name)
    if value is None:
        raise Problem(
            HTTPStatus.PRECONDITION_REQUIRED,
            "version_required",
            f"send the ETag of the memory that you read in the header {name}",
        )
    return value.strip().strip('"')


_PARAMETERS: Mapping[Any, Callable[[str], Any]] = {
    int: int,
    bool: {"true": True, "false": False}.__getitem__,
}


def _of_parameter(text: str, of: Any) -> Any:
    """Return the value of a parameter of the URL; one of another form is left as it is, and fails."""
    kinds = (of, *get_args(of))
    try:
        return next((_PARAMETERS[one] for one in kinds if one in _PARAMETERS), str)(text)
    except (ValueError, KeyError):
        return text
