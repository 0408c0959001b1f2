"""The connections of a server: their maximum, and the pieces in which data is parsed."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn

import hedgerow._serve
from hedgerow._serve import connections as limits
from hedgerow._serve.connections import Connection, Connections
from hedgerow._serve.running import most_connections


@pytest.mark.parametrize(("files", "most"), [(100_000, 1_000), (700, 500), (150, 75)])
def test_a_low_limit_of_files_leaves_some_for_connections(files: int, most: int) -> None:
    assert most_connections(1_000, files) == most


def test_no_private_class_of_uvicorn_is_subclassed() -> None:
    for module in pkgutil.iter_modules(hedgerow._serve.__path__, "hedgerow._serve."):
        for name, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if one.__module__ == module.name:
                bases = {base for base in one.__mro__ if base.__module__.startswith("uvicorn")}
                assert bases <= {getattr(uvicorn, public) for public in uvicorn.__all__}, name


class Transport(asyncio.Transport):
    """A transport with a known peer. It records the bytes sent."""

    def __init__(self) -> None:
        super().__init__({"peername": PEER})
        self.is_open, self.is_reading = True, True
        self.sent: list[bytes] = []

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert (high, low) == (1, 0)

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def write(self, data: Any) -> None:
        assert self.is_open
        self.sent.append(data)

    def is_closing(self) -> bool:
        return not self.is_open

    def close(self) -> None:
        self.is_open = False

    def abort(self) -> None:
        self.is_open = False


class Recorder(asyncio.Protocol):
    """A protocol that records the pieces that it gets."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.arrived = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        self.arrived.set()


PEER = ("127.0.0.1", 50_000)
DATA = bytes(range(256)) * 80  # 20 KiB


class Wired:
    """A connection between a transport and a recorder, and the requests on it."""

    def __init__(self) -> None:
        self.connections = Connections(10)
        self.transport, self.recorder = Transport(), Recorder()
        self.connection = Connection(self.recorder, self.connections)
        self.connection.connection_made(self.transport)

    async def request(
        self, app: Callable[[Any], Awaitable[None]], *headers: tuple[bytes, bytes]
    ) -> None:
        """Answer a request with an application that takes `receive` alone."""

        async def served(_scope: Any, receive: Any, _send: Any) -> None:
            await app(receive)

        async def receive() -> dict[str, Any]:
            await self.recorder.arrived.wait()
            self.recorder.arrived.clear()
            body = b"".join(self.recorder.pieces)
            self.read += len(body)
            self.recorder.pieces.clear()
            return {"type": "http.request", "body": self.body(body), "more_body": True}

        async def send(_message: Any) -> None:
            """Send nothing."""

        scope = {"type": "http", "client": PEER, "headers": list(headers)}
        await self.connections.around(served)(scope, receive, send)

    read = 0
    body: Callable[[bytes], bytes] = staticmethod(lambda data: data)


CHUNKED = (b"transfer-encoding", b"chunked")


async def turns(count: int = 50) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def wired(test: Callable[[Wired], Awaitable[None]]) -> Callable[[], None]:
    """Return a test that runs on an event loop, with a connection."""

    async def run() -> None:
        await test(Wired())

    return lambda: asyncio.run(run())


@wired
async def test_a_head_is_parsed_in_small_pieces_and_in_order(wire: Wired) -> None:
    wire.connection.data_received(DATA)
    assert not wire.transport.is_reading
    await turns()
    assert b"".join(wire.recorder.pieces) == DATA
    assert {len(piece) for piece in wire.recorder.pieces} == {limits._HEAD_PIECE_BYTES}
    assert wire.transport.is_reading


@wired
async def test_a_body_is_parsed_in_larger_pieces(wire: Wired) -> None:
    async def app(_receive: Any) -> None:
        wire.connection.data_received(DATA)
        await turns()
        assert {len(piece) for piece in wire.recorder.pieces} == {limits._BODY_PIECE_BYTES}

    await wire.request(app)


@wired
async def test_a_protocol_that_pauses_gets_no_more(wire: Wired) -> None:
    wire.recorder.transport.pause_reading()  # type: ignore[attr-defined]
    wire.connection.data_received(DATA)
    await turns()
    assert (wire.recorder.pieces, wire.transport.is_reading) == ([], False)
    wire.recorder.transport.resume_reading()  # type: ignore[attr-defined]
    await turns()
    assert b"".join(wire.recorder.pieces) == DATA


@wired
async def test_chunks_wait_until_the_application_receives(wire: Wired) -> None:
    async def app(receive: Any) -> None:
        wire.connection.data_received(DATA)
        await turns()
        assert (wire.recorder.pieces, wire.transport.is_reading) == ([], False)
        while wire.read < len(DATA):
            await receive()

    await wire.request(app, CHUNKED)
    assert wire.transport.is_open


@wired
async def test_more_bytes_around_chunks_than_in_them_end_the_connection(wire: Wired) -> None:
    wire.body = lambda data: data[: len(data) // 6]

    async def app(receive: Any) -> None:
        for _ in range(100):
            wire.connection.data_received(b"1\r\na\r\n" * 100)
            await receive()
            if not wire.transport.is_open:
                break
        assert wire.read < 2 * limits._FRAMING_BYTES

    await wire.request(app, CHUNKED)
    assert not wire.transport.is_open


@wired
async def test_the_next_request_may_begin_before_the_last_one_is_over(wire: Wired) -> None:
    async def second(_receive: Any) -> None:
        await turns()
        assert wire.connection._scope is not None

    async def first(_receive: Any) -> None:
        wire.next = asyncio.ensure_future(wire.request(second))  # type: ignore[attr-defined]
        await turns(3)

    await wire.request(first)
    assert wire.connection._scope is not None
    await wire.next  # type: ignore[attr-defined]
    assert wire.connection._scope is None


@wired
async def test_pieces_are_sent_together_and_in_order(wire: Wired) -> None:
    for piece in (b"head", b"body", b""):
        wire.recorder.transport.write(piece)  # type: ignore[attr-defined]
    assert wire.transport.sent == []
    await turns(1)
    wire.recorder.transport.write(b"next")  # type: ignore[attr-defined]
    await turns(1)
    assert wire.transport.sent == [b"headbody", b"next"]


@wired
async def test_closing_sends_what_is_left(wire: Wired) -> None:
    for piece in (b"head", b"body"):
        wire.recorder.transport.write(piece)  # type: ignore[attr-defined]
    wire.recorder.transport.close()  # type: ignore[attr-defined]
    await turns(1)
    assert (wire.transport.sent, wire.transport.is_open) == ([b"headbody"], False)


@wired
async def test_large_pieces_do_not_wait(wire: Wired) -> None:
    for sizes in ([limits._LARGE + 1], [limits._LARGE, 1]):
        wire.transport.sent.clear()
        for size in sizes:
            assert wire.transport.sent == []
            wire.recorder.transport.write(b"x" * size)  # type: ignore[attr-defined]
        assert list(map(len, wire.transport.sent)) == [limits._LARGE + 1]
        await turns(1)
        assert len(wire.transport.sent) == 1
