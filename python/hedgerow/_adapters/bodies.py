"""Reading the body of an answer over HTTP up to a limit: a server may send anything.

Importing this needs httpx, as in `endpoint`.
"""

from __future__ import annotations

import httpx

LARGEST_ANSWER = 256 * 1024 * 1024
"""The most bytes of an answer that are read, after decompression."""

_OF_THE_TRANSFER = {"content-encoding", "content-length", "transfer-encoding"}


def read_body(response: httpx.Response) -> httpx.Response | None:
    """Read a streamed response; None if its body is larger than LARGEST_ANSWER."""
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > LARGEST_ANSWER:
            return None
    return _with_body(response, bytes(body))


async def aread_body(response: httpx.Response) -> httpx.Response | None:
    """Do the same for a response of an asynchronous client."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > LARGEST_ANSWER:
            return None
    return _with_body(response, bytes(body))


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
