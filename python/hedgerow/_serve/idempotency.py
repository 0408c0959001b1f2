"""Requests sent again because the client cannot know whether they arrived: carried out once only."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem, answer

_HEADER = b"idempotency-key"
_LONGEST_KEY = 200
_KEPT = 1_000
_LARGEST = 1024 * 1024
"""The most bytes of an answer that is kept."""


@dataclass(frozen=True, slots=True)
class _Kept:
    digest: bytes
    messages: asyncio.Future[list[Message] | None]


class Idempotency:
    """Answers a request that has the key of an earlier one with the earlier answer.

    The last thousand keys are kept, for as long as the process runs.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._known: OrderedDict[tuple[str, bytes], _Kept] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out a request, unless that was done before."""
        key = dict(scope["headers"]).get(_HEADER) if scope["type"] == "http" else None
        if key is None or scope["method"] not in {"POST", "PUT"}:
            await self._app(scope, receive, send)
            return
        try:
            body = await _whole(receive)
            await self._once(scope, key, body, send)
        except Problem as problem:
            await answer(problem)(scope, receive, send)

    async def _once(self, scope: Scope, key: bytes, body: bytes, send: Send) -> None:
        if not 0 < len(key) <= _LONGEST_KEY:
            raise Problem(
                HTTPStatus.BAD_REQUEST,
                "invalid_request",
                f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters",
            )
        place = (str(scope["token_scope"]), key)
        asked = f"{scope['method']} {scope['path']} {scope['query_string']!r}\n".encode()
        digest = hashlib.sha256(asked + body).digest()
        kept = self._known.get(place)
        while kept is not None:
            if kept.digest != digest:
                raise Problem(
                    HTTPStatus.UNPROCESSABLE_ENTITY,
                    "idempotency_mismatch",
                    "this Idempotency-Key was sent with another request; take a new one for each",
                )
            messages = await asyncio.shield(kept.messages)
            if messages is not None:
                for message in messages:
                    await send(message)
                return
            # That one failed: this one tries, unless another that waited has begun to.
            kept = self._known.get(place)
        await self._first(scope, place, digest, body, send)

    async def _first(
        self, scope: Scope, place: tuple[str, bytes], digest: bytes, body: bytes, send: Send
    ) -> None:
        done: asyncio.Future[list[Message] | None] = asyncio.get_running_loop().create_future()
        kept = self._known[place] = _Kept(digest, done)
        recorded = _Recorded()

        async def noted(message: Message) -> None:
            recorded.add(message)
            await send(message)

        is_kept = False
        try:
            await self._app(scope, _receiver(body), noted)
            is_kept = recorded.may_be_kept()
        finally:
            # A thousand later keys may have taken its place.
            if not is_kept and self._known.get(place) is kept:
                del self._known[place]
            done.set_result(recorded.messages if is_kept else None)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


class _Recorded:
    """The messages of an answer, as long as it is not too large to be kept."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._size = 0

    def add(self, message: Message) -> None:
        self._size += len(message.get("body", b""))
        if self._size > _LARGEST:
            self.messages.clear()
        else:
            self.messages.append(message)

    def may_be_kept(self) -> bool:
        """Whether the answer is complete, not too large, and not a failure that a retry may mend."""
        if self._size > _LARGEST or not self.messages:
            return False
        status = self.messages[0].get("status", HTTPStatus.INTERNAL_SERVER_ERROR)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            return False
        return not self.messages[-1].get("more_body")


async def _whole(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Problem(HTTPStatus.BAD_REQUEST, "invalid_request", "the body ended early")
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _receiver(body: bytes) -> Receive:
    """Receive a body that has arrived already, and then the end of the connection."""
    waiting: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        message = next(waiting, None)
        return {"type": "http.disconnect"} if message is None else message

    return receive
