"""Running the application until it is told to stop."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from hedgerow.errors import HedgerowError, InvalidInputError

_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}\Z")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
HEAD_SECONDS = 15.0
"""The longest wait for the head of a request."""

READ_SECONDS = 30.0
"""The longest time in which a client reads nothing. The system reports progress in steps of up to 1 MB."""

_HEAD_BYTES = 16 * 1024
"""The longest head of a request. h11 takes about 0.5 ms per KiB of headers, and blocks other requests."""

_HEAD_PIECE_BYTES = 1024
"""The bytes of a head that are parsed at once, in 4 ms at worst: then it is the turn of other connections."""

_BODY_PIECE_BYTES = 4 * 1024
"""The bytes of a body that are parsed at once, and the most of a next head that come along."""

_FRAMING_BYTES = 16 * 1024
"""The most bytes around the chunks of a body beyond the bytes in them. Each chunk takes h11 about 15 µs."""

_LINGER_SECONDS = 2.0
"""The time in which the rest of a refused body in chunks is read and dropped, before the connection is closed."""

_CONNECTIONS = 1_000
"""The most connections at once. Each can hold 64 KiB of a body in memory before its token is checked."""

_NO_LINGERING = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)

_OTHER_FILES = 200
"""File descriptors that connections leave for the served files."""

_BACKLOG = 256
"""The most connections accepted at once: a quarter of those that may be idle, so that the head of a new one arrives in time."""

_LARGE = 64 * 1024
"""The most bytes of an answer that wait for the rest of it. More would need memory."""

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
    config = configured(app, address)
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InvalidInputError(
            f"the certificate or its key cannot be used ({error}); --tls-cert and --tls-key take files in PEM",
            code="incompatible_options",
        ) from error
    server = _Server(config, ready)
    try:
        server.run(sockets=[listening])
    finally:
        if not server.force_exit:  # Otherwise the work in progress goes on.
            server.watchdog.cancel()


def configured(app: ASGIApp, address: Address, connections: int = _CONNECTIONS) -> uvicorn.Config:
    """Return the configuration of a server with at most this many connections at once."""
    files = _files()

    class Limited(Protocol):
        # With a low limit of files, half of them are for connections: with none the server would refuse all.
        most = min(connections, max(files - _OTHER_FILES, files // 2))

    return uvicorn.Config(
        app,
        http=Limited,
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


class Protocol(H11Protocol):
    """Closes connections that send no head or read no answer, and the oldest idle ones if there are too many."""

    most = _CONNECTIONS
    """The most connections at once."""

    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _unsent = 0
    _framing = 0
    _is_scheduled = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, and wait for its first request."""
        joining = _Joining(transport, self.loop, lambda: self._is_chunked and self.cycle.more_body)
        super().connection_made(cast("asyncio.Transport", joining))
        self.flow = _Flow(transport, self._resume)
        self._pending = bytearray()
        # The writer is paused as long as the transport holds anything, so that a stall is noticed.
        transport.set_write_buffer_limits(high=1, low=0)
        _strangers(self.server_state)[self] = None
        self._wait_for_head()
        if len(self.connections) > self.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take the data. Bytes beyond one piece wait for the next turns of the event loop."""
        self._pending += data
        if not self._is_scheduled:
            self._parse()

    def _parse(self) -> None:
        """Parse a piece, and go on waiting unless it completed a head."""
        self._is_scheduled = False
        if self.transport.is_closing():
            self._pending.clear()
            return
        is_small = self._is_idle or self._is_chunked
        size = _HEAD_PIECE_BYTES if is_small else _BODY_PIECE_BYTES
        piece = bytes(self._pending[:size])
        del self._pending[:size]
        held = 0 if self._is_idle else len(self.cycle.body)
        super().data_received(piece)
        if self._is_idle:
            self._wait_for_head()
            self._framing = 0
        else:
            self._stop_waiting_for_head()
            added = len(self.cycle.body) - held
            self._framing += len(piece) - 2 * added
            if self._is_chunked and self._framing > _FRAMING_BYTES:
                self.transport.abort()
                return
        if self._pending:
            self.transport.pause_reading()
        self._resume()

    def _resume(self) -> None:
        """Parse the next piece in the next turn, or read more; nothing while uvicorn has paused reading."""
        if self.flow.read_paused or self._is_scheduled:
            return
        if self._pending:
            self._is_scheduled = True
            self.loop.call_soon(self._parse)
        else:
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting_for_head()
        self._stop_waiting_for_reader()
        _strangers(self.server_state).pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait until the client reads its answer."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Stop waiting for the client."""
        self._stop_waiting_for_reader()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Note a client that had a token: its idle connections are closed after those of others."""
        if "grant" in self.scope:
            _strangers(self.server_state).pop(self, None)
        super().on_response_complete()

    @property
    def is_busy(self) -> bool:
        """Whether a request with a token of this server is being answered."""
        return not self._is_idle and "grant" in self.cycle.scope and not self.flow.write_paused

    @property
    def _is_chunked(self) -> bool:
        """Whether the last request has a body in chunks."""
        return self.cycle is not None and any(
            name == b"transfer-encoding" for name, _ in self.headers
        )

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self) -> None:
        """Close the oldest connection without a token that is idle, else any idle one, else this one."""
        ones = itertools.chain(_strangers(self.server_state), self.connections)
        spare = next((one for one in ones if isinstance(one, Protocol) and not one.is_busy), self)
        spare.transport.abort()
        self.connections.discard(spare)
        _strangers(self.server_state).pop(spare, None)

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting_for_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self._is_idle:
            self.transport.close()

    def _wait_for_reader(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._write_timer = self.loop.call_later(READ_SECONDS, self._give_up_writing)

    def _stop_waiting_for_reader(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _give_up_writing(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:
            self._wait_for_reader()
        else:
            # Without this, the system keeps the unsent bytes for minutes after the connection is closed.
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING
            )
            self.transport.abort()


class _Flow(FlowControl):
    """Calls the protocol when uvicorn resumes reading, since data that was received may come first."""

    def __init__(self, transport: asyncio.Transport, resumed: Callable[[], None]) -> None:
        super().__init__(transport)
        self._resumed = resumed

    def resume_reading(self) -> None:
        """Let the protocol go on."""
        if self.read_paused:
            self.read_paused = False
            self._resumed()


_STRANGERS: WeakKeyDictionary[ServerState, dict[Protocol, None]] = WeakKeyDictionary()


def _strangers(state: ServerState) -> dict[Protocol, None]:
    """Return the connections of a server that sent no token of it so far, the oldest first."""
    return _STRANGERS.setdefault(state, {})


class _Joining:
    """A transport that sends the pieces which are written without a pause as one, such as the head and
    the body of an answer: each send costs a call of the system, and a wait for Python's lock.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        is_sending: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._is_sending = is_sending
        self._is_lingering = False
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, piece: bytes) -> None:
        """Send a piece with those that follow at once; if they are large, they are sent now."""
        if not self._pieces:
            self._loop.call_soon(self._send)
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _LARGE:
            self._send()

    def close(self) -> None:
        """Send the remaining pieces, then close, later if the client is sending a body in chunks.

        The system would reset the connection, and the client lose an answer that it has not read.
        """
        self._send()
        if self._is_lingering or not self._is_sending():
            self._transport.close()
            return
        self._is_lingering = True
        self._transport.resume_reading()
        self._loop.call_later(_LINGER_SECONDS, self._transport.close)

    def is_closing(self) -> bool:
        """Whether the connection is closed, or will be without another answer."""
        return self._is_lingering or self._transport.is_closing()

    def _send(self) -> None:
        if self._pieces:
            self._transport.write(b"".join(self._pieces))
            self._pieces.clear()
            self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


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
