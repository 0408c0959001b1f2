"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from hedgerow.errors import (
    BackendError,
    HedgerowError,
    InvalidInputError,
    PipelineError,
    QueryTooLargeError,
    RetrievalError,
)

_MEDIA_TYPE = "application/problem+json"

_BY_CODE = {
    "unknown_node": HTTPStatus.NOT_FOUND,
    "unknown_chunk": HTTPStatus.NOT_FOUND,
    "file_changed": HTTPStatus.CONFLICT,
    "duplicate_memory": HTTPStatus.CONFLICT,
    "index_busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "index_read_only": HTTPStatus.FORBIDDEN,
    "endpoint_unreachable": HTTPStatus.SERVICE_UNAVAILABLE,
    "endpoint_refused": HTTPStatus.SERVICE_UNAVAILABLE,
}
_BY_CLASS: tuple[tuple[type[HedgerowError], HTTPStatus], ...] = (
    (QueryTooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (InvalidInputError, HTTPStatus.BAD_REQUEST),
    (PipelineError, HTTPStatus.BAD_REQUEST),
    (RetrievalError, HTTPStatus.SERVICE_UNAVAILABLE),
    (BackendError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_OF_A_PIPELINE = ("kind", "stage", "start", "end", "suggestion")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Problem(HTTPException):
    """The error that answers a request."""

    def __init__(  # noqa: PLR0913 - the parts of a problem document
        self,
        status: int,
        code: str,
        detail: str,
        *,
        title: str | None = None,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code
        self.title = title or HTTPStatus(status).phrase
        self.fields = dict(fields or {})

    def document(self) -> dict[str, Any]:
        """The problem document."""
        return {
            "type": f"urn:hedgerow:error:{self.code}",
            "title": self.title,
            "status": self.status_code,
            "detail": self.detail,
            "code": self.code,
            **self.fields,
        }


def problem_of(error: HedgerowError) -> Problem:
    """The problem for an error of hedgerow."""
    status = _BY_CODE.get(error.code)
    if status is None:
        status = next(
            (status for kind, status in _BY_CLASS if isinstance(error, kind)),
            HTTPStatus.INTERNAL_SERVER_ERROR,
        )
    kind = type(error).__name__
    fields: dict[str, Any] = {"error": kind}
    if isinstance(error, PipelineError):
        fields |= {name: getattr(error, name) for name in _OF_A_PIPELINE}
    if isinstance(error, RetrievalError):
        fields["trace"] = error.trace.to_dict()
    title = _WORD.sub(" ", kind).capitalize()
    return Problem(status, error.code, error.message, title=title, fields=fields)


def answer(problem: Problem) -> JSONResponse:
    """The response for a problem."""
    return JSONResponse(
        problem.document(),
        problem.status_code,
        headers=problem.headers,
        media_type=_MEDIA_TYPE,
    )


async def on_error(_: Request, error: Exception) -> JSONResponse:
    """Answer a request that raised an error."""
    if isinstance(error, HedgerowError):
        return answer(problem_of(error))
    if isinstance(error, Problem):
        return answer(error)
    if isinstance(error, HTTPException):
        code = "not_found" if error.status_code == HTTPStatus.NOT_FOUND else "invalid_request"
        return answer(Problem(error.status_code, code, str(error.detail), headers=error.headers))
    # The text of the error may contain data that a log or a client must not see.
    detail = f"{type(error).__name__}: a fault of hedgerow; please report it"
    return answer(Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "engine_fault", detail))


async def on_disconnect(_: Request, __: Exception) -> JSONResponse:
    """End a request whose client went away; the answer reaches no one, and is no fault to log."""
    return answer(Problem(HTTPStatus.BAD_REQUEST, "invalid_request", "the body is not complete"))
