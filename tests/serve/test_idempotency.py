"""Answers that are kept for a request that is sent again, and those that are not."""

from __future__ import annotations

import asyncio

import pytest

from hedgerow._serve import idempotency
from hedgerow._serve.idempotency import Idempotency

LONG = 10


async def nothing(_message):
    """Take a message of an answer."""


def asking(app, key):
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "token_scope": "write",
        "headers": [(b"idempotency-key", key)],
    }

    async def receive():
        return {"type": "http.request", "body": b""}

    return asyncio.wait_for(app(scope, receive, nothing), LONG)


def test_a_failure_frees_those_who_wait_though_its_key_was_forgotten(monkeypatch):
    """As after a thousand other requests."""
    monkeypatch.setattr(idempotency, "_KEPT", 1)

    async def run():
        may_fail = asyncio.Event()
        calls = []

        async def answering(scope, _receive, send):
            key = scope["headers"][0][1]
            calls.append(key)
            if key == b"slow" and calls.count(key) == 1:
                await may_fail.wait()
                raise RuntimeError("failed")
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        app = Idempotency(answering)
        first = asyncio.create_task(asking(app, b"slow"))
        second = asyncio.create_task(asking(app, b"slow"))
        await asyncio.sleep(0.01)
        await asking(app, b"a")
        await asking(app, b"b")
        may_fail.set()
        with pytest.raises(RuntimeError, match="failed"):
            await first
        await second
        return calls

    assert asyncio.run(run()) == [b"slow", b"a", b"b", b"slow"]


def test_an_answer_too_large_to_be_kept_is_not_held_in_memory():
    recorded = idempotency._Recorded()
    recorded.add({"type": "http.response.start", "status": 200, "headers": []})
    assert recorded.may_be_kept()
    for _ in range(3):
        piece = b"x" * idempotency._LARGEST
        recorded.add({"type": "http.response.body", "body": piece, "more_body": True})
    recorded.add({"type": "http.response.body", "body": b""})
    assert recorded.messages == []
    assert not recorded.may_be_kept()
