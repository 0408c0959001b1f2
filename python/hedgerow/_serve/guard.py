"""The checks of every request before anything reads it: host, origin, token and size."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import anyio
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem, answer
from .tokens import Grant, Kind, Tokens

OPEN = frozenset({"/", "/healthz", "/readyz"})
"""The paths that need no token. They reveal nothing about the served root or index; the page asks for a token."""

_BEARER = "bearer "

_SMALL = 64 * 1024
"""The most bytes of a body that is let through however many bytes others hold."""

_BYTES_PER_SECOND = 16 * 1024
"""The slowest rate of a body."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The limits of bodies."""

    bytes_of: Mapping[Kind, int]
    """The longest body, by the kind of token."""
    small_bytes: int
    """The longest body of a path that begins with none of `large`."""
    large: tuple[str, ...]
    """What paths of operations that write begin with; only these need texts of megabytes."""
    held_bytes: int
    """The longest bodies together that are held at once."""
    seconds: float
    """The time for a body; each 16 KiB that arrive add a second."""


class Guard:
    """Refuses requests that must not reach the application."""

    def __init__(  # noqa: PLR0913 - what is checked
        self,
        app: ASGIApp,
        tokens: Tokens,
        *,
        hosts: Iterable[str],
        origins: Iterable[str],
        limits: BodyLimits,
        refusal_seconds: float,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._limits = limits
        self._refusal_seconds = refusal_seconds
        self._held = 0
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        try:
            self._check_address(headers)
            grant = None if scope["path"] in OPEN else self._grant_of(headers)
            body = self._body(headers, scope["path"], grant)
        except Problem as problem:
            await self._wait_for_turn()
            if problem.status_code == HTTPStatus.UNAUTHORIZED:
                await anyio.sleep(self._refusal_seconds)
            await _refusal(problem, headers)(scope, receive, send)
            return
        if grant is None:
            await self._wait_for_turn()
        else:
            scope["grant"] = grant
        self._hold(body, body.length or 0)
        try:
            await self._app(scope, self._limited(receive, body), _closing(send, body))
        finally:
            self._held -= body.held

    async def _wait_for_turn(self) -> None:
        """Let one request without a token through in each turn of the event loop, so that others are not held up."""
        async with self._turn:
            await asyncio.sleep(0)

    def _check_address(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            raise Problem(
                "foreign_host",
                "the Host header names another server; use the address that hedgerow serve printed, "
                "or start it with --allow-host NAME",
            )
        origin = headers.get("origin")
        if origin is None or origin.lower() in self._origins:
            return
        if _authority(origin) != host.lower():
            raise Problem(
                "foreign_origin",
                "a page of another origin asked; start the server with --allow-origin URL to allow it",
            )

    def _grant_of(self, headers: Mapping[str, str]) -> Grant:
        given = headers.get("authorization", "")
        allowed = None
        if given[: len(_BEARER)].lower() == _BEARER:
            allowed = self._tokens.grant_of(given[len(_BEARER) :].strip())
        if allowed is None:
            raise Problem(
                "unauthorized",
                ("the token is none of this server's; " if given else "")
                + "send the token of this server in the header Authorization: Bearer TOKEN",
            )
        return allowed

    def _body(self, headers: Mapping[str, str], path: str, grant: Grant | None) -> _Body:
        """Return the limits of the body; raises a Problem if it states too many bytes."""
        limits, stated = self._limits, headers.get("content-length", "0")
        most = limits.bytes_of["read" if grant is None else grant.kind]
        if not path.startswith(limits.large):
            most = min(most, limits.small_bytes)
        if "transfer-encoding" in headers:
            return _Body(most, None)
        length = int(stated[:20]) if stated.isdecimal() else most + 1
        if length > most:
            raise _too_large(most)
        self._check_held(length)
        return _Body(most, length)

    def _check_held(self, length: int) -> None:
        if length > _SMALL and self._held + length > self._limits.held_bytes:
            raise Problem(
                "too_many_requests",
                f"other requests hold {self._held:,} bytes of bodies already; try again later",
            )

    def _hold(self, body: _Body, length: int) -> None:
        """Count the bytes of a body among those that are held, if it is not small."""
        held = length if length > _SMALL else 0
        self._held += held - body.held
        body.held = held

    def _limited(self, receive: Receive, body: _Body) -> Receive:
        """Receive a body, which must arrive in its time and, in chunks, within its limit."""
        end = anyio.current_time() + self._limits.seconds
        received = 0

        async def limited() -> Message:
            nonlocal end, received
            if (
                body.is_whole
            ):  # The next message is the end of the connection, which has no deadline.
                return await receive()
            with anyio.CancelScope(deadline=end) as waiting:
                message = await receive()
            if waiting.cancelled_caught:
                raise Problem(
                    "body_too_slow",
                    f"a body has {self._limits.seconds:g} s, and one more for each 16 KiB; send it "
                    "faster, or less at once",
                )
            size = len(message.get("body", b""))
            received += size
            if body.length is None:
                if received > body.most:
                    raise _too_large(body.most)
                self._check_held(received - body.held)
                self._hold(body, received)
            end += size / _BYTES_PER_SECOND
            body.is_whole = not message.get("more_body")
            return message

        return limited


@dataclass(slots=True)
class _Body:
    """The body of a request: its longest length, the stated one, and the bytes that are held of it.

    In chunks, it states no length.
    """

    most: int
    length: int | None
    held: int = 0
    is_whole: bool = False


def _too_large(most: int) -> Problem:
    return Problem(
        "body_too_large",
        f"a body may have {most:,} bytes with this token at this path; send less at once",
    )


def _closing(send: Send, body: _Body) -> Send:
    """Send an answer, which closes the connection if the rest of a body in chunks was not read."""
    if body.length is not None:
        return send

    async def closing(message: Message) -> None:
        if message["type"] == "http.response.start" and not body.is_whole:
            message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        await send(message)

    return closing


def _refusal(problem: Problem, headers: Mapping[str, str]) -> JSONResponse:
    """Return the answer to a refused request.

    The body is read and dropped, since a client that is still sending would not get the answer. After one in
    chunks the connection is closed.
    """
    response = answer(problem)
    if "transfer-encoding" in headers:
        response.headers["Connection"] = "close"
    return response


def _authority(origin: str) -> str | None:
    """The host and port of an Origin header; None if it is not a URL."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.rpartition(":")[0] if ":" in name else name
