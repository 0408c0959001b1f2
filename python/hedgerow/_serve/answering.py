"""What routes have in common: work in a thread, and JSON that is written there too."""

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
    """What a route says of itself: that it answers with this shape, or with a problem.

    What is answered is written as it is: tests compare it with the shape, and users need not wait
    for that.
    """
    described = {200: {"model": shape, "description": "The answer"}, "default": _PROBLEM}
    return {"response_model": None, "responses": described}


async def answered(work: Work, function: Callable[[], Answer], *, tagged: bool = False) -> Response:
    """The answer that the function gives, as JSON; `tagged` with its digest as the ETag."""

    def written() -> tuple[bytes, dict[str, str]]:
        found = function()
        headers = {"ETag": f'"{found["digest"]}"'} if tagged else {}
        return json.dumps(found, ensure_ascii=False, allow_nan=False).encode(), headers

    content, headers = await work.run(written)
    return Response(content, media_type="application/json", headers=headers)
