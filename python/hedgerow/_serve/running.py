"""Running the application until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp

from hedgerow.errors import HedgerowError, InvalidInputError

from .connections import Connection, Connections

_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}\Z")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")

_HEAD_BYTES = 16 * 1024
"""The longest head of a request. h11 takes about 0.5 ms per KiB of headers, and blocks other requests."""

_CONNECTIONS = 1_000
"""The most connections at once. Each can hold 64 KiB of a body in memory while its answer is delayed."""

_OTHER_FILES = 200
"""File descriptors that connections leave for the served files."""

_BACKLOG = 256
"""The most connections accepted at once: a quarter of those that may be idle, so that the head of a new one arrives in time."""

_GRACE = 20
"""Seconds to finish answers in progress when the server is told to stop."""

_CLOSING = 1.0
"""Seconds after these to close files; then the process ends."""


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
    server = _Server(configured(app, address), ready)
    try:
        server.run(sockets=[listening])
    finally:
        if not server.force_exit:  # Otherwise the work in progress goes on.
            server.watchdog.cancel()


def configured(app: ASGIApp, address: Address, most: int = _CONNECTIONS) -> uvicorn.Config:
    """Return the configuration of a server with at most this many connections at once.

    Raises InvalidInputError for a certificate or a key that cannot be used.
    """
    connections = Connections(most_connections(most, _files()))
    config = uvicorn.Config(
        connections.around(app),
        http="h11",  # It limits the head of a request.
        log_config=None,
        log_level="error",  # A warning for each malformed request would let anyone fill a disk.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        backlog=_BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_HEAD_BYTES,
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
    made_by_uvicorn = config.http_protocol_class

    def limited(**given: Any) -> Connection:
        return Connection(made_by_uvicorn(**given), connections)

    # uvicorn calls it for each connection, and takes any protocol of asyncio.
    config.http_protocol_class = cast("type[asyncio.Protocol]", limited)
    return config


def most_connections(most: int, files: int) -> int:
    """Return the most connections of a process that may open this many files.

    With a low limit of files, half of them are for connections: with none the server would refuse all.
    """
    return min(most, max(files - _OTHER_FILES, files // 2))


def _files() -> int:
    """Raise the limit of open files of this process as far as needed and allowed, and return it."""
    needed = _CONNECTIONS + _OTHER_FILES
    if os.name != "posix":
        return needed
    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return needed if soft == resource.RLIM_INFINITY else soft


class _Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.watchdog = threading.Timer(_GRACE + _CLOSING, _end)
        """Ends the process if work in progress outlasts the grace time; started by `shutdown`."""
        self.watchdog.daemon = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the answers in progress, for the grace time at most."""
        self.watchdog.start()
        await super().shutdown(sockets)


def _end() -> None:
    """End the process without cleanup, which would wait for the work: every write is atomic."""
    os.write(2, b"Error: ended while requests were in progress\n")
    os._exit(1)
