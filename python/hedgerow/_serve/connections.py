"""Limits of connections, applied around the protocol object that uvicorn makes for each of them.

The protocol of uvicorn is used as any protocol of asyncio: none of its attributes is read. An ASGI middleware
reports which connection a request came on, and when it begins and ends.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import struct
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEAD_SECONDS = 15.0
"""The longest wait for the head of a request."""

READ_SECONDS = 30.0
"""The longest time in which a client reads nothing. The system reports progress in steps of up to 1 MB."""

_HEAD_PIECE_BYTES = 1024
"""The bytes of a head or of chunks that are parsed at once, in 4 ms at worst: then it is the turn of other connections."""

_BODY_PIECE_BYTES = 4 * 1024
"""The bytes of a body that are parsed at once, and the most of a next head that come along."""

_FRAMING_PIECE_BYTES = 256
"""The bytes that are parsed at once of a body with more bytes around its chunks than in them, in 0.7 ms at worst."""

_FRAMING_BYTES = 16 * 1024
"""The most bytes around the chunks of a body beyond the bytes in them. Each chunk takes h11 about 15 µs."""

_LINGER_SECONDS = 2.0
"""The time in which the rest of a refused body in chunks is read and dropped, before the connection is closed."""

_LARGE = 64 * 1024
"""The most bytes of an answer that wait for the rest of it. More would need memory."""

_NO_LINGERING = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


class Connections:
    """The open connections of a server. Beyond `most` of them, idle ones are closed."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: dict[object, Connection] = {}
        self._strangers: dict[Connection, None] = {}
        """The connections that sent no token of the server so far, the oldest first."""

    def around(self, app: ASGIApp) -> ASGIApp:
        """Return an application that reports requests to their connections."""

        async def served(scope: Scope, receive: Receive, send: Send) -> None:
            connection = self._open.get(scope.get("client"))
            if connection is None:
                await app(scope, receive, send)
            else:
                await connection.answer(app, scope, receive, send)

        return served

    def add(self, connection: Connection) -> None:
        """Add a connection. If there are too many, close one.

        That is the oldest idle one without a token, else any idle one, else the new one.
        """
        self._open[connection.address] = connection
        self._strangers[connection] = None
        if len(self._open) > self.most:
            ones = itertools.chain(self._strangers, self._open.values())
            spare = next((one for one in ones if not one.is_busy), connection)
            spare.abort()
            self.remove(spare)

    def remove(self, connection: Connection) -> None:
        """Remove a connection, if it is there."""
        if self._open.get(connection.address) is connection:
            del self._open[connection.address]
        self.recognize(connection)

    def recognize(self, connection: Connection) -> None:
        """Record that a connection sent a token, so that it is closed after those without one."""
        self._strangers.pop(connection, None)


class Connection(asyncio.Protocol):
    """Passes received data on to another protocol, in pieces and within limits.

    It closes a connection that sends no head, or reads no answer.
    """

    def __init__(self, protocol: asyncio.Protocol, connections: Connections) -> None:
        self._protocol = protocol
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()
        self._scope: Scope | None = None
        """The scope of the request that is being answered."""
        self.is_sending_chunks = False
        """Whether the rest of a body in chunks is still to come."""
        self._is_receiving = False
        """Whether the application waits for a part of the body."""
        self._framing = 0
        """The bytes around the chunks of the body, minus the bytes in them."""
        self._is_scheduled = False
        self._is_paused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._unsent = 0

    # The protocol of the transport.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, and wait for its first request."""
        self._transport = transport
        # Pauses the writer as long as the transport holds anything, so that a stall is noticed.
        transport.set_write_buffer_limits(high=1, low=0)
        peer = transport.get_extra_info("peername")
        self.address: object = tuple(peer[:2]) if peer else self
        self._wire = _Wire(transport, self)
        self._protocol.connection_made(self._wire)
        self._wait_for_head()
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Pass the first piece on. The rest waits for the next turns of the event loop."""
        if self._wire.is_closing():
            return
        self._pending += data
        if self._may_feed():
            self._feed()
        else:
            self._transport.pause_reading()

    def eof_received(self) -> bool | None:
        """Return what the other protocol returns: true keeps the connection open."""
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        """Begin to wait until the client reads its answer."""
        self._protocol.pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Stop waiting for the client."""
        self._stop_waiting_for_reader()
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting_for_head()
        self._stop_waiting_for_reader()
        self._connections.remove(self)
        self._protocol.connection_lost(exc)

    # The requests on the connection.

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. A body in chunks is parsed only as far as the application asks for it."""
        self._begin(scope)

        async def received() -> Message:
            self._is_receiving = True
            self._continue()
            try:
                message = await receive()
            finally:
                self._is_receiving = False
            self._framing -= 2 * len(message.get("body", b""))
            if not message.get("more_body"):
                self.is_sending_chunks = False
            return message

        async def sent(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._end(scope)

        try:
            await app(scope, received, sent)
        finally:
            self._end(scope)

    def _begin(self, scope: Scope) -> None:
        self._stop_waiting_for_head()
        self._scope = scope
        self.is_sending_chunks = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        self._framing = 0

    def _end(self, scope: Scope) -> None:
        if self._scope is scope:  # Otherwise the next request on the connection has begun.
            self._scope = None
            if "grant" in scope:
                self._connections.recognize(self)
            self._continue()

    @property
    def is_busy(self) -> bool:
        """Whether a request with a token of this server is being answered."""
        return self._scope is not None and "grant" in self._scope and self._write_timer is None

    # The pieces.

    def pause_reading(self) -> None:
        """Pass no data on until `resume_reading`."""
        self._is_paused = True
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Pass data on again."""
        self._is_paused = False
        self._continue()

    def _continue(self) -> None:
        """Pass the next piece on in the next turn of the event loop, or read more."""
        if not self._pending:
            if not self._is_paused:
                self._transport.resume_reading()
        elif self._may_feed():
            self._is_scheduled = True
            self._loop.call_soon(self._feed)

    def _may_feed(self) -> bool:
        if self._is_scheduled or self._is_paused:
            return False
        return self._is_receiving or not self.is_sending_chunks

    def _feed(self) -> None:
        """Pass a piece on, and keep waiting for a head unless the piece completed one."""
        self._is_scheduled = False
        if self._wire.is_closing():
            self._pending.clear()
            return
        size = self._piece_bytes()
        piece = bytes(self._pending[:size])
        del self._pending[:size]
        self._protocol.data_received(piece)
        if self._scope is None:
            self._wait_for_head()
        elif self.is_sending_chunks:
            self._framing += len(piece)
            if self._framing > _FRAMING_BYTES:
                self.abort()
                return
        if self._pending:
            self._transport.pause_reading()
        self._continue()

    def _piece_bytes(self) -> int:
        if self.is_sending_chunks and self._framing > 0:
            return _FRAMING_PIECE_BYTES
        is_small = self._scope is None or self.is_sending_chunks
        return _HEAD_PIECE_BYTES if is_small else _BODY_PIECE_BYTES

    # The time-outs.

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self._loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting_for_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self._scope is None:
            self._transport.close()

    def _wait_for_reader(self) -> None:
        self._unsent = self._transport.get_write_buffer_size()
        self._write_timer = self._loop.call_later(READ_SECONDS, self._give_up_writing)

    def _stop_waiting_for_reader(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _give_up_writing(self) -> None:
        if self._transport.get_write_buffer_size() < self._unsent:
            self._wait_for_reader()
        else:
            # Without this, the system keeps the unsent bytes for minutes after the connection is closed.
            self._transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING
            )
            self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()


class _Wire(asyncio.Transport):
    """The transport of the other protocol. After a refused body in chunks, it closes late.

    Pieces that are written in one turn of the event loop, such as the head and the body of an answer, are sent
    as one. Each send gives up Python's lock and waits for it, which CPU times do not show.
    """

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        super().__init__()
        self._transport = transport
        self._connection = connection
        self._is_lingering = False
        self._pieces: list[bytes] = []
        self._size = 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information of the transport of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Pass no data on until `resume_reading`."""
        self._connection.pause_reading()

    def resume_reading(self) -> None:
        """Pass data on again."""
        self._connection.resume_reading()

    def write(self, data: Any) -> None:
        """Send a piece with those that follow in this turn. Large pieces are sent at once."""
        if not self._pieces:
            asyncio.get_running_loop().call_soon(self._send)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _LARGE:
            self._send()

    def close(self) -> None:
        """Send the remaining pieces and close, later if the client is sending a body in chunks.

        The system would reset the connection, and the client lose an answer that it has not read.
        """
        self._send()
        if self._is_lingering or not self._connection.is_sending_chunks:
            self._transport.close()
            return
        self._is_lingering = True
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._transport.close)

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether the connection is closed, or will be without another answer."""
        return self._is_lingering or self._transport.is_closing()

    def _send(self) -> None:
        if self._pieces:
            self._transport.write(b"".join(self._pieces))
            self._pieces.clear()
            self._size = 0
