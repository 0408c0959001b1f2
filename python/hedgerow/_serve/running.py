"""Running the application until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from hedgerow.errors import HedgerowError, InvalidInputError

_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}\Z")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
HEAD_SECONDS = 15.0
"""The longest wait for the head of a request."""

_SWITCH = 0.0005
"""Seconds until a thread gives way to others; a tenth of Python's default."""

_LARGE = 64 * 1024
"""The most bytes of a piece of an answer that waits for the next one."""

_GRACE = 20
"""Seconds to finish answers in progress when the server is told to stop."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and the certificate it shows."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None
    insecure_http: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in _LOOPBACK

    @property
    def names(self) -> list[str]:
        """The names that a Host header may have."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        return [own, "localhost", "127.0.0.1", "[::1]"] if self.is_local else [own]

    def check(self) -> None:
        """Refuse to send tokens and memories unencrypted over a network."""
        if not _HOST.match(self.host):
            raise InvalidInputError(
                f"{self.host!r} is no address; give one like 127.0.0.1, ::1 or a name of this machine",
                code="invalid_option",
            )
        if (self.certificate is None) != (self.key is None):
            raise InvalidInputError(
                "a certificate and its key go together: give --tls-cert and --tls-key",
                code="incompatible_options",
            )
        if not self.is_local and self.certificate is None and not self.insecure_http:
            raise InvalidInputError(
                f"{self.host} is reachable from other machines: use --tls-cert and --tls-key, or "
                "--insecure-http behind a TLS proxy",
                code="incompatible_options",
            )

    def bound(self) -> socket.socket:
        """A socket that listens there; raises HedgerowError if that is impossible."""
        try:
            return self._bound()
        except OSError as error:
            raise HedgerowError(
                f"{self.host} port {self.port} cannot be listened on ({error.strerror or error}); give "
                "another --port, or 0 for any that is free",
                code="address_unusable",
            ) from error

    def _bound(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # asyncio turns Nagle's algorithm off, which delays answers by 40 ms, only if the socket names TCP.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if os.name == "posix":
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            found.bind((self.host, self.port))
            found.listen(2048)
        except BaseException:
            found.close()
            raise
        found.set_inheritable(False)
        return found

    def url(self, listening: socket.socket) -> str:
        """The URL of the server, with the port it was given."""
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{self.names[0]}:{listening.getsockname()[1]}"


def run(
    app: ASGIApp, address: Address, listening: socket.socket, ready: Callable[[], None]
) -> None:
    """Answer until SIGINT or SIGTERM, then finish the answers in progress."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=64 * 1024,
        ssl_certfile=None if address.certificate is None else str(address.certificate),
        ssl_keyfile=None if address.key is None else str(address.key),
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InvalidInputError(
            f"the certificate or its key cannot be used ({error}); --tls-cert and --tls-key take files in PEM",
            code="incompatible_options",
        ) from error
    # A thread that searches must not hold up the one that answers for longer than this.
    sys.setswitchinterval(_SWITCH)
    server = _Server(config, ready)
    # What is there now stays: the collector of garbage need not look through it again and again.
    gc.collect()
    gc.freeze()
    try:
        server.run(sockets=[listening])
    finally:
        gc.unfreeze()


class Protocol(H11Protocol):
    """Closes connections on which no head of a request arrives."""

    _giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(cast("asyncio.Transport", _Joining(transport, self.loop)))
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take the data, and go on waiting unless it completed a head."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._giving_up is None:
            self._giving_up = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _give_up(self) -> None:
        self._giving_up = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


class _Joining:
    """A transport that sends the pieces which are written without a pause as one, such as the head and
    the body of an answer: each send costs a call of the system, and a wait for Python's lock.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> None:
        """Send a piece with those that follow at once; a large one is sent now."""
        if not self._pieces:
            self._loop.call_soon(self._send)
        self._pieces.append(piece)
        if len(piece) > _LARGE:
            self._send()

    def close(self) -> None:
        """Send what is left, then close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._pieces:
            self._transport.write(b"".join(self._pieces))
            self._pieces.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()
