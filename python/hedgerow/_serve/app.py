"""The application: its routes, and the checks around them that every request has to pass."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from pathlib import Path
from time import perf_counter
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow import __version__
from hedgerow._page import page
from hedgerow.errors import HedgerowError
from hedgerow.mcp import build_server, error_of_text
from hedgerow.memory import MemoryRoot

from .description import MethodRoute, ServerAbout, State, document, of_shape
from .guard import BodyLimits, Guard
from .index_routes import IndexService, backup_route
from .operations import large_paths, routes_of
from .problems import Problem, answer, on_disconnect, on_error
from .root_routes import RootService
from .tokens import Grant, Tokens
from .work import Journal, Once, SharedCheck, Work

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
        """Answer with the tools that the token allows.

        A request whose id is neither a text nor a whole number gets an error. The SDK takes it for a
        notification, and the client would not learn that nothing was done.
        """
        parts: list[bytes] = []
        is_replaced = False

        async def received() -> Message:
            message = await receive()
            body = message.get("body", b"")
            if not parts and body.startswith(BOM_UTF8):
                body = body[len(BOM_UTF8) :]
                message = {**message, "body": body}
            parts.append(body)
            return message

        async def sent(message: Message) -> None:
            nonlocal is_replaced
            if (
                message["type"] == "http.response.start"
                and message["status"] == HTTPStatus.ACCEPTED
            ):
                error = error_of_text(b"".join(parts).decode(errors="replace"))
                if error is not None:
                    is_replaced = True
                    refusal = JSONResponse(error.model_dump(), HTTPStatus.BAD_REQUEST)
                    await refusal(scope, receive, send)
            if not is_replaced:
                await send(message)

        await self._apps[scope["grant"]](scope, received, sent)


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts requests by route, never by their content."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        names = ("route", "method")
        self._requests = Counter(
            "hedgerow_requests",
            "Requests that were answered.",
            (*names, "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "hedgerow_request_seconds",
            "How long answers took.",
            names,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=self._registry,
        )
        self._running = Gauge(
            "hedgerow_requests_running", "Requests without an answer yet.", registry=self._registry
        )

    def text(self) -> bytes:
        """All counts, as Prometheus reads them."""
        return generate_latest(self._registry)

    def around(self, app: ASGIApp, routes: Iterable[MethodRoute]) -> ASGIApp:
        """Count the requests that an application with these routes answers."""
        paths: dict[Any, str] = {route.endpoint: route.path for route in routes}

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            status = "500"

            async def noted(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = str(message["status"])
                await send(message)

            began = perf_counter()
            try:
                with self._running.track_inprogress():
                    await app(scope, receive, noted)
            finally:
                # A path without a route, and a method that HTTP does not define, may be any text: a
                # client that makes them up must not add a time series with each.
                route = paths.get(scope.get("endpoint"), "other")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._requests.labels(route, method, status).inc()
                self._seconds.labels(route, method).observe(perf_counter() - began)

        return counted


_OF_PAGE = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
"""The page itself declares what it may load; only a header can say who may show it in a frame."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server."""

    running: int
    """Requests that are worked on at the same time."""
    waiting: int = 64
    """Requests that wait for their turn."""
    seconds: float = 30.0
    """The longest time for an answer."""
    body_bytes: int = 16 * 1024 * 1024
    """The longest body of an operation that writes."""
    read_body_bytes: int = 1024 * 1024
    """The longest body with a token that only reads. Parsing holds the GIL, about 40 ms for each MiB."""
    small_body_bytes: int = 256 * 1024
    """The longest body of an operation that only reads, with any token."""
    held_bytes: int = 64 * 1024 * 1024
    """The longest bodies together that are held at once. Parsed, JSON takes up to 30 times its bytes."""
    body_seconds: float = 15.0
    """The time for a body; each 16 KiB that arrive add a second."""
    refusal_seconds: float = 1.0
    """The delay of an answer to a request without a token of this server, for each connection."""


@dataclass(frozen=True, slots=True)
class Access:
    """The tokens that may send requests, and their rights."""

    tokens: Tokens
    hosts: Iterable[str]
    origins: Iterable[str] = field(default=())
    read_only: bool = False
    edit: bool = False
    """Whether the page for people lets them edit memories."""


def build(
    service: RootService | IndexService,
    access: Access,
    limits: Limits,
    journal_file: Path | None = None,
) -> ASGIApp:
    """Make the application for one root or one index.

    The keys of requests are recorded in `journal_file`, without one for as long as the process lives.
    """
    work, metrics = Work(limits.running, limits.waiting, limits.seconds), Metrics()
    journal = Journal(journal_file)
    once = Once(work, journal)
    tokens = access.tokens if isinstance(service, RootService) else access.tokens.of_everything()
    tools = None
    if isinstance(service, RootService):
        tools = Tools(service.view, tokens.grants.values(), work, read_only=access.read_only)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if tools is not None:
                await stack.enter_async_context(tools.running())
            yield
        work.close()
        journal.close()

    routes = routes_of(service, once)
    if isinstance(service, IndexService):
        routes.append(backup_route(service, work))
    routes += _own_routes(service, metrics, work)
    routes.append(_document_route(tuple(routes)))
    if tools is not None:
        # A stream that a client opens with GET would never end, and carry nothing.
        routes.append(MethodRoute("POST", PATH, tools))
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            HedgerowError: on_error,
            HTTPException: on_error,
            ClientDisconnect: on_disconnect,
            Exception: on_error,
        },
    )
    app.state.read_only = access.read_only
    app.state.edit = access.edit
    app.state.kind = service.kind
    guarded: ASGIApp = Guard(
        app,
        tokens,
        hosts=access.hosts,
        origins=access.origins,
        limits=BodyLimits(
            {"write": limits.body_bytes, "read": limits.read_body_bytes},
            limits.small_body_bytes,
            (PATH, *large_paths(service.operations)),
            limits.held_bytes,
            limits.body_seconds,
        ),
        refusal_seconds=limits.refusal_seconds,
    )
    if access.origins:
        guarded = CORSMiddleware(
            guarded,
            allow_origins=list(access.origins),
            allow_methods=["GET", "POST", "PUT"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match"],
            expose_headers=["ETag"],
        )
    return _with_head(metrics.around(guarded, routes))


def _with_head(app: ASGIApp) -> ASGIApp:
    """Answer HEAD like GET, without the body."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await app(scope, receive, send)
            return

        async def bare(message: Message) -> None:
            is_body = message["type"] == "http.response.body"
            await send({**message, "body": b""} if is_body else message)

        await app({**scope, "method": "GET"}, receive, bare)

    return answered


def _own_routes(
    service: RootService | IndexService, metrics: Metrics, work: Work
) -> list[MethodRoute]:
    """Return the routes that servers of a root and of an index both have."""
    people_page = HTMLResponse(page(None), headers=_OF_PAGE)
    check = SharedCheck(work, service.check)

    async def people(_: Request) -> HTMLResponse:
        return people_page

    async def about(request: Request) -> JSONResponse:
        grant, state = request.scope["grant"], request.app.state
        return JSONResponse(
            {
                "hedgerow": __version__,
                "kind": service.kind,
                "name": service.name,
                "readOnly": state.read_only,
                "tokenScope": grant.kind,
                "edit": state.edit and not state.read_only and grant.kind == "write",
                **({"scope": grant.scope.to_dict()} if grant.scope else {}),
            }
        )

    async def metrics_text(request: Request) -> Response:
        if request.scope["grant"].scope:
            raise Problem(
                "incompatible_options",
                "the counts are about the requests of all users; use a token without a scope",
            )
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> JSONResponse:
        try:
            await check.result()
        except (HedgerowError, Problem):
            # The reason is only for clients with a token, who get it with any other request.
            return answer(
                Problem("not_ready", "the served root or index cannot be read at the moment")
            )
        return JSONResponse({"status": "ok"})

    about_it = of_shape("Name the served root or index", ServerAbout)
    is_alive = of_shape("Answer, if the process does", State, needs_token=False)
    is_ready = of_shape("Check that the served root or index can be read", State, needs_token=False)
    return [
        MethodRoute("GET", "/", people),
        MethodRoute("GET", "/v1/about", about, about_it),
        MethodRoute("GET", "/metrics", metrics_text, lambda _: _OF_METRICS),
        MethodRoute("GET", "/healthz", healthz, is_alive),
        MethodRoute("GET", "/readyz", readyz, is_ready),
    ]


_OF_METRICS = {
    "tags": ["server"],
    "summary": "Counts for Prometheus",
    "responses": {
        "200": {
            "description": "Successful Response",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    },
}


def _document_route(routes: Sequence[MethodRoute]) -> MethodRoute:
    """Return the route that answers with the OpenAPI document of other routes, which is made once."""
    made = cache(lambda: JSONResponse(document(routes)))

    async def openapi(_: Request) -> JSONResponse:
        return made()

    return MethodRoute("GET", "/openapi.json", openapi)
