"""The checks of every request before anything reads it: host, origin, token and size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem, answer
from .tokens import Grant, Tokens

OPEN = frozenset({"/", "/healthz", "/readyz"})
"""The paths that need no token. They reveal nothing about what is served; the page asks for a token."""

_BEARER = "bearer "


class Guard:
    """Refuses requests that must not reach the application."""

    def __init__(  # noqa: PLR0913 - what is checked
        self,
        app: ASGIApp,
        tokens: Tokens,
        *,
        hosts: Iterable[str],
        origins: Iterable[str],
        most_bytes: int,
        patience: float,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._most_bytes = most_bytes
        self._patience = patience

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
            if scope["path"] not in OPEN:
                scope["grant"] = self._grant_of(headers)
            self._check_length(headers)
        except Problem as problem:
            await answer(problem)(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), send)

    def _check_address(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "foreign_host",
                "the Host header names another server; use the address that hedgerow serve printed, "
                "or start it with --allow-host NAME",
            )
        origin = headers.get("origin")
        if origin is None or origin.lower() in self._origins:
            return
        if _authority(origin) != host.lower():
            raise Problem(
                HTTPStatus.FORBIDDEN,
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
                HTTPStatus.UNAUTHORIZED,
                "unauthorized",
                "send the token of this server in the header Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": 'Bearer realm="hedgerow"'},
            )
        return allowed

    def _check_length(self, headers: Mapping[str, str]) -> None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._most_bytes:
            raise self._too_large()

    def _limited(self, receive: Receive) -> Receive:
        """Receive a body, which may not be longer than the limit nor pause for longer than allowed."""
        received = 0

        async def limited() -> Message:
            nonlocal received
            if received < 0:
                return await receive()
            with anyio.move_on_after(self._patience) as waiting:
                message = await receive()
            if waiting.cancelled_caught:
                raise Problem(
                    HTTPStatus.REQUEST_TIMEOUT,
                    "body_too_slow",
                    f"nothing came for {self._patience:g} s; send the body without a pause",
                    headers={"Connection": "close"},
                )
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                if received > self._most_bytes:
                    raise self._too_large()
                if not message.get("more_body"):
                    received = (
                        -1
                    )  # What follows is the end of the connection, which may take its time.
            return message

        return limited

    def _too_large(self) -> Problem:
        return Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "body_too_large",
            f"a body may have {self._most_bytes:,} bytes; send less at once",
            headers={"Connection": "close"},
        )


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
