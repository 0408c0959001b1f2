"""The common parts of routes: they work in a thread, and write their JSON there too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request, Response

from .once import Once
from .shapes import ProblemDocument
from .work import Work

Answer = Mapping[str, Any]

_PROBLEM = {"model": ProblemDocument, "description": "A problem document (RFC 9457)"}


def answers(shape: type[Any]) -> dict[str, Any]:
    """The documentation of a route that answers with this shape, or with a problem.

    Answers are sent without validation against it, which would take time: tests do that.
    """
    described = {200: {"model": shape, "description": "The answer"}, "default": _PROBLEM}
    return {"response_model": None, "responses": described}


async def answered(work: Work, function: Callable[[], Answer]) -> Response:
    """Answer with the JSON of the function's value, which is called in a thread."""
    return _response(*await work.run(lambda: _written(function)))


async def written(once: Once, request: Request, function: Callable[[], Answer]) -> Response:
    """Answer a write; one that has the Idempotency-Key of an earlier one gets its answer."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return _response(*await once.work.run(lambda: _written(function)))
    asked = (request.method, str(request.url), request.headers.get("if-match", ""))
    body = json.dumps(asked).encode() + await request.body()
    reply = await once.reply(request.scope["grant"].file, key, body, lambda: _written(function))
    return _response(*reply)


def _written(function: Callable[[], Answer]) -> tuple[bytes, dict[str, str]]:
    """Return the JSON of an answer, with the digest of a memory, if it has one, as the ETag."""
    found = function()
    headers = {"ETag": f'"{found["digest"]}"'} if "digest" in found else {}
    return json.dumps(found, ensure_ascii=False, allow_nan=False).encode(), headers


def _response(content: bytes, headers: Mapping[str, str]) -> Response:
    return Response(content, media_type="application/json", headers=dict(headers))
