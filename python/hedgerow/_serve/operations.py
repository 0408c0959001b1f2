"""The routes of operations: one for each row of a table, whose arguments are checked by its request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, get_args

from starlette.requests import Request
from starlette.responses import Response

from hedgerow._operations.fields import declared
from hedgerow._operations.operation import Request as Operation
from hedgerow._operations.shapes import checked_arguments, is_list

from .description import MethodRoute, of_operation
from .problems import Problem
from .tokens import Grant
from .work import Once, Work


def may_write(request: Request) -> None:
    """Raise a Problem for a request that may only read."""
    if request.app.state.read_only:
        raise Problem(
            "read_only",
            "this server was started with --read-only; start it without to change something",
        )
    if request.scope["grant"].kind != "write":
        raise Problem(
            "read_only_token",
            "this token only reads; use the other token of the server to change something",
        )


Answer = Mapping[str, Any]


async def answered(work: Work, function: Callable[[], Answer]) -> Response:
    """Answer with the JSON of the function's value, which is called in a thread."""
    return _response(*await work.run(lambda: _written(function)))


async def written(once: Once, request: Request, function: Callable[[], Answer]) -> Response:
    """Answer a write; one that has the Idempotency-Key of an earlier one gets its answer."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return _response(*await once.work.run(lambda: _written(function)))
    asked = (request.method, str(request.url), request.headers.get("if-match", ""))
    body = json.dumps(asked).encode() + await request.body()
    reply = await once.reply(request.scope["grant"].file, key, body, lambda: _written(function))
    return _response(*reply)


def _written(function: Callable[[], Answer]) -> tuple[bytes, dict[str, str]]:
    """Return the JSON of an answer, with the digest of a memory, if it has one, as the ETag."""
    found = function()
    headers = {"ETag": f'"{found["digest"]}"'} if "digest" in found else {}
    return json.dumps(found, ensure_ascii=False, allow_nan=False).encode(), headers


def _response(content: bytes, headers: Mapping[str, str]) -> Response:
    return Response(content, media_type="application/json", headers=dict(headers))


_SMALL = 64 * 1024
"""The most bytes of a body that is read on the event loop."""


class Service(Protocol):
    """The index or root that a server serves."""

    @property
    def kind(self) -> str:
        """Either `index` or `root`."""

    @property
    def operations(self) -> Sequence[type[Operation[Any]]]:
        """The requests that the server answers."""

    def perform(self, request: Operation[Any], grant: Grant) -> Answer:
        """Carry out an operation, and return the JSON of its result."""


def large_paths(kinds: Iterable[type[Operation[Any]]]) -> list[str]:
    """Return what the paths of operations that write begin with: their bodies may be large."""
    rows = [kind.operation for kind in kinds]
    return [f"/v1/{row.path}".partition("{")[0] for row in rows if row.writes]


def routes_of(service: Service, once: Once) -> list[MethodRoute]:
    """Return a route for each operation of a service."""
    large = asyncio.Lock()
    return [_route(kind, service, once, large) for kind in service.operations]


def _route(
    kind: type[Operation[Any]], service: Service, once: Once, large: asyncio.Lock
) -> MethodRoute:
    """Return the route of an operation. `large` is held while a large body is parsed."""
    row = kind.operation

    async def handle(request: Request) -> Response:
        if row.writes:
            may_write(request)
        body = b"" if row.method == "GET" else await _body(request)

        def read() -> Operation[Any]:
            asked = checked_arguments(kind, _arguments(kind, request, body), served=True)
            asked.check_served()
            return asked

        if len(body) <= _SMALL:
            asked = read()
        else:  # The parser holds the GIL, and others are answered only between large bodies.
            async with large:
                asked = await asyncio.to_thread(read)
        if asked.writes:
            may_write(request)
        grant = request.scope["grant"]
        if asked.writes:
            return await written(once, request, lambda: service.perform(asked, grant))
        return await answered(once.work, lambda: service.perform(asked, grant))

    path = f"/v1/{row.path}".replace("}", ":path}")
    return MethodRoute(row.method, path, handle, of_operation(kind, service.kind), name=row.name)


def _arguments(kind: type[Operation[Any]], request: Request, body: bytes) -> dict[str, Any]:
    """Return the arguments in the body, the path, the parameters and the headers of a request."""
    fields = {one.name: one for one in declared(kind)}
    if request.method == "GET":
        sent = request.query_params
        given: dict[str, Any] = {
            name: sent.getlist(name)
            if name in fields and is_list(fields[name].type)
            else _of_parameter(text, fields[name].type if name in fields else str)
            for name, text in sent.items()
        }
    else:
        given = _object(body)
    given |= request.path_params
    for one in fields.values():
        if one.field.header is not None:
            given[one.name] = _header(request, one.field.header)
    return given


async def _body(request: Request) -> bytes:
    """Return the body of a request; raises a Problem if it is not declared as JSON."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        detail = "send the body as JSON, with the header Content-Type: application/json"
        raise Problem("not_json", detail)
    return await request.body()


def _object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; raises a Problem for another body."""
    problem = "it is not a JSON object"
    try:
        found = json.loads(body)
        if isinstance(found, dict):
            return found
    except (ValueError, RecursionError) as error:
        problem = f"it is not JSON ({error})"
    raise Problem("invalid_request", f"the body cannot be read: {problem}")


def _header(request: Request, name: str) -> str:
    value = request.headers.get(name)
    if value is None:
        raise Problem(
            "version_required", f"send the ETag of the memory that you read in the header {name}"
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
