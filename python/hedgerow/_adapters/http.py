"""Connections of httpx, and bodies of answers read up to a limit: a server may send anything.

Importing this needs httpx, so only constructors of what has a server do.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx

from .connection import ApiKey

LARGEST_ANSWER = 256 * 1024 * 1024
"""The most bytes of an answer that are read, after decompression."""

_OF_THE_TRANSFER = {"content-encoding", "content-length", "transfer-encoding"}


class Connections:
    """Clients of httpx with the same options: one for the process, and one for each event loop.

    Threads may share it, event loops too, and a forked child may go on with it. It pickles without
    its connections. Redirects, which may lead anywhere with the key, are not followed.
    """

    _client: httpx.Client | None
    _clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient]
    _process: int

    def __init__(self, key: ApiKey, timeout: float, ca: str | None = None) -> None:
        """`ca` is the file of an authority to trust instead of those that the system trusts."""
        self._key = key
        self._timeout = timeout
        self._ca = ca
        self._forget()

    def send(self, method: str, url: str, *, has_limit: bool = True, **options: Any) -> Any:
        """Return the response, with its body; None if that is larger than LARGEST_ANSWER.

        `options` are those of `httpx.Client.build_request`. Without `has_limit`, a body may have any
        size. Raises httpx.HTTPError.
        """
        # Two processes must not share one connection.
        if self._process != os.getpid():
            self._forget()
        if self._client is None:
            self._client = httpx.Client(**self._options())
        client = self._client
        streamed = client.send(client.build_request(method, url, **options), stream=True)
        try:
            if not has_limit:
                streamed.read()
                return streamed
            body = bytearray()
            for part in streamed.iter_bytes():
                body += part
                if len(body) > LARGEST_ANSWER:
                    return None
            return _with_body(streamed, bytes(body))
        finally:
            streamed.close()

    async def asend(self, method: str, url: str, *, has_limit: bool = True, **options: Any) -> Any:
        """Like `send`, but asynchronous."""
        client = self._of_loop()
        streamed = await client.send(client.build_request(method, url, **options), stream=True)
        try:
            if not has_limit:
                await streamed.aread()
                return streamed
            body = bytearray()
            async for part in streamed.aiter_bytes():
                body += part
                if len(body) > LARGEST_ANSWER:
                    return None
            return _with_body(streamed, bytes(body))
        finally:
            await streamed.aclose()

    def close(self) -> None:
        """Close the connections of the process."""
        if self._client is not None:
            self._client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _of_loop(self) -> httpx.AsyncClient:
        """A connection belongs to the event loop it was opened in."""
        if self._process != os.getpid():
            self._forget()
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # A copy: the loops of other threads come and go meanwhile.
            for gone in [other for other in list(self._clients) if other.is_closed()]:
                self._clients.pop(gone, None)
            client = self._clients[loop] = httpx.AsyncClient(**self._options())
        return client

    def _options(self) -> dict[str, Any]:
        verify = certificates() if self._ca is None else httpx.create_ssl_context(self._ca)
        return {
            "timeout": self._timeout,
            "auth": Bearer(self._key),
            "follow_redirects": False,
            "verify": verify,
        }

    def _forget(self) -> None:
        self._client = None
        self._clients = {}
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Connections, (self._key, self._timeout, self._ca))


class Bearer(httpx.Auth):
    """Adds the key where httpx sends the request, so that no client holds it among its headers."""

    def __init__(self, key: ApiKey) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if value := self._key.value():
            request.headers["Authorization"] = f"Bearer {value}"
        del value  # not among the locals of a traceback
        yield request


@cache
def certificates() -> SSLContext:
    """Read once: that takes longer than many a request."""
    return httpx.create_ssl_context()


def _with_body(response: httpx.Response, body: bytes) -> httpx.Response:
    """A copy of the response that has its body, decompressed."""
    headers = response.headers.multi_items()
    return httpx.Response(
        response.status_code,
        headers=[pair for pair in headers if pair[0].lower() not in _OF_THE_TRANSFER],
        content=body,
        request=response.request,
        extensions=response.extensions,
    )
