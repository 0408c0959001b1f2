"""What routes have in common: they work in a thread, and write their JSON there too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Response

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


async def answered(work: Work, function: Callable[[], Answer], *, tagged: bool = False) -> Response:
    """The answer of the function as JSON; with its digest as the ETag if `tagged`."""

    def written() -> tuple[bytes, dict[str, str]]:
        found = function()
        headers = {"ETag": f'"{found["digest"]}"'} if tagged else {}
        return json.dumps(found, ensure_ascii=False, allow_nan=False).encode(), headers

    content, headers = await work.run(written)
    return Response(content, media_type="application/json", headers=headers)
