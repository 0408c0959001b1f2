"""The connections of a server: their maximum, and how responses are sent."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("uvicorn")

from hedgerow._serve import running
from hedgerow._serve.running import _LARGE, Address, _Joining


class Sent:
    """A transport that records the sent data."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_closed = False

    def write(self, piece: bytes) -> None:
        assert not self.is_closed
        self.pieces.append(piece)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


def joining(sent: Sent) -> _Joining:
    return _Joining(sent, asyncio.get_running_loop(), lambda: False)  # type: ignore[arg-type]


def test_pieces_are_sent_together_and_in_order() -> None:
    async def answer() -> Sent:
        sent = Sent()
        transport = joining(sent)
        for piece in (b"head", b"body", b""):
            transport.write(piece)
        assert sent.pieces == []
        await asyncio.sleep(0)
        transport.write(b"next")
        await asyncio.sleep(0)
        return sent

    assert asyncio.run(answer()).pieces == [b"headbody", b"next"]


def test_closing_sends_what_is_left() -> None:
    async def answer() -> Sent:
        sent = Sent()
        transport = joining(sent)
        transport.write(b"head")
        transport.write(b"body")
        transport.close()
        assert transport.is_closing()
        await asyncio.sleep(0)
        return sent

    assert asyncio.run(answer()).pieces == [b"headbody"]


@pytest.mark.parametrize("sizes", [[_LARGE + 1], [_LARGE, 1]])
def test_large_pieces_do_not_wait(sizes: list[int]) -> None:
    async def answer() -> None:
        sent = Sent()
        transport = joining(sent)
        for size in sizes:
            assert sent.pieces == []
            transport.write(b"x" * size)
        assert list(map(len, sent.pieces)) == [_LARGE + 1]
        transport.write(b"rest")
        await asyncio.sleep(0)
        assert sent.pieces[1:] == [b"rest"]

    asyncio.run(answer())


@pytest.mark.parametrize(("files", "most"), [(100_000, 1_000), (700, 500), (150, 75)])
def test_a_low_limit_of_files_leaves_some_for_connections(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    async def app(*_: object) -> None:
        """Send no response."""

    monkeypatch.setattr(running, "_files", lambda: files)
    config = running.configured(app, Address("127.0.0.1", 0))
    assert config.http.most == most  # type: ignore[union-attr]
