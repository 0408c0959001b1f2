"""The application: its routes, and the checks around them that every request has to pass."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import ASGIApp

from hedgerow import __version__
from hedgerow._page import page
from hedgerow.errors import HedgerowError

from .answering import answers
from .description import describe, name_of, new_definitions
from .guard import BodyLimits, Guard
from .index_routes import IndexService, index_routes
from .mcp_routes import PATH, Tools
from .metrics import CONTENT_TYPE, Metrics
from .once import Journal, Once
from .problems import Problem, answer, on_disconnect, on_error
from .root_routes import RootService, root_routes
from .shapes import About, State
from .tokens import Tokens
from .work import SharedCheck, Work

_OF_PAGE = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
"""The page itself declares what it may load; only a header can say who may show it in a frame."""

_MOST_TOLD = 10
"""The most mistakes of one request that are reported."""


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
    """The longest body."""
    read_body_bytes: int = 1024 * 1024
    """The longest body with a token that only reads. Parsing holds the GIL, about 40 ms for each MiB."""
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
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if tools is not None:
                await stack.enter_async_context(tools.running())
            yield
        work.close()
        journal.close()

    app = FastAPI(
        title="hedgerow",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=name_of,
        exception_handlers={
            HedgerowError: on_error,
            HTTPException: on_error,
            RequestValidationError: _on_invalid,
            ClientDisconnect: on_disconnect,
            Exception: on_error,
        },
    )
    app.state.read_only = access.read_only
    app.state.edit = access.edit
    definitions = new_definitions()
    describe(app, definitions)
    if isinstance(service, RootService):
        app.include_router(root_routes(service, once, definitions))
    else:
        app.include_router(index_routes(service, once, definitions))
    _add_own_routes(app, service, metrics, work)
    if tools is not None:
        # A stream that a client opens with GET would never end, and carry nothing.
        app.router.routes.append(Route(PATH, tools, methods=["POST"]))
    guarded: ASGIApp = Guard(
        app,
        tokens,
        hosts=access.hosts,
        origins=access.origins,
        limits=BodyLimits(
            {"write": limits.body_bytes, "read": limits.read_body_bytes},
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
    return metrics.around(guarded)


def _add_own_routes(
    app: FastAPI, service: RootService | IndexService, metrics: Metrics, work: Work
) -> None:
    """Add the routes that servers of a root and of an index both have."""
    people_page = HTMLResponse(page(None), headers=_OF_PAGE)
    check = SharedCheck(work, service.check)

    @app.get("/", include_in_schema=False)
    async def people() -> HTMLResponse:
        return people_page

    @app.get(
        "/v1/about", tags=["server"], summary="Name the served root or index", **answers(About)
    )
    async def about(request: Request) -> JSONResponse:
        grant, state = request.scope["grant"], app.state
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

    @app.get(
        "/metrics",
        tags=["server"],
        summary="Counts for Prometheus",
        response_class=PlainTextResponse,
    )
    async def metrics_text() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    @app.get("/healthz", tags=["server"], summary="Answer, if the process does", **answers(State))
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @app.get(
        "/readyz",
        tags=["server"],
        summary="Check that the served root or index can be read",
        **answers(State),
    )
    async def readyz() -> JSONResponse:
        try:
            await check.result()
        except (HedgerowError, Problem):
            # The reason is only for clients with a token, who get it with any other request.
            return answer(
                Problem(503, "not_ready", "the served root or index cannot be read at the moment")
            )
        return JSONResponse({"status": "ok"})


async def _on_invalid(request: Request, error: Exception) -> JSONResponse:
    """Answer a request with an invalid body or parameter."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "GET" and kind != "application/json":
        detail = "send the body as JSON, with the header Content-Type: application/json"
        return answer(Problem(415, "not_json", detail))
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    told = [
        {"at": ".".join(map(str, one["loc"])), "problem": str(one["msg"])}
        for one in problems[:_MOST_TOLD]
    ]
    first = f"{told[0]['at']}: {told[0]['problem']}" if told else "it cannot be read"
    detail = f"the request is not of the form that /openapi.json describes ({first})"
    return answer(Problem(400, "invalid_request", detail, fields={"errors": told}))
