"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from hedgerow._operations.fields import declared
from hedgerow._retrieval import operations as _index
from hedgerow.errors import (
    BackendError,
    HedgerowError,
    InvalidInputError,
    PipelineError,
    QueryTooLargeError,
    RetrievalError,
)
from hedgerow.memory import operations as _root

_MEDIA_TYPE = "application/problem+json"

_STATUS = {
    "not_json": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "invalid_request": HTTPStatus.BAD_REQUEST,
    "incompatible_options": HTTPStatus.BAD_REQUEST,
    "unauthorized": HTTPStatus.UNAUTHORIZED,
    "foreign_host": HTTPStatus.FORBIDDEN,
    "foreign_origin": HTTPStatus.FORBIDDEN,
    "read_only": HTTPStatus.FORBIDDEN,
    "read_only_token": HTTPStatus.FORBIDDEN,
    "index_read_only": HTTPStatus.FORBIDDEN,
    "unknown_node": HTTPStatus.NOT_FOUND,
    "unknown_chunk": HTTPStatus.NOT_FOUND,
    "body_too_slow": HTTPStatus.REQUEST_TIMEOUT,
    "file_changed": HTTPStatus.CONFLICT,
    "duplicate_memory": HTTPStatus.CONFLICT,
    "outcome_unknown": HTTPStatus.CONFLICT,
    "already_done": HTTPStatus.CONFLICT,
    "body_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "idempotency_mismatch": HTTPStatus.UNPROCESSABLE_ENTITY,
    "version_required": HTTPStatus.PRECONDITION_REQUIRED,
    "too_many_requests": HTTPStatus.TOO_MANY_REQUESTS,
    "engine_fault": HTTPStatus.INTERNAL_SERVER_ERROR,
    "index_busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "not_ready": HTTPStatus.SERVICE_UNAVAILABLE,
    "endpoint_unreachable": HTTPStatus.SERVICE_UNAVAILABLE,
    "endpoint_refused": HTTPStatus.SERVICE_UNAVAILABLE,
    "too_slow": HTTPStatus.GATEWAY_TIMEOUT,
}
_HEADERS = {
    "unauthorized": {"WWW-Authenticate": 'Bearer realm="hedgerow"'},
    "read_only_token": {"WWW-Authenticate": 'Bearer error="insufficient_scope"'},
    "body_too_slow": {"Connection": "close"},
    "too_many_requests": {"Retry-After": "1"},
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
    """The error that answers a request; its status and headers are those of its code, unless given."""

    def __init__(  # noqa: PLR0913 - the parts of a problem document
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        title: str | None = None,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        status = _STATUS[code] if status is None else status
        super().__init__(
            status, detail, dict(_HEADERS.get(code, {}) if headers is None else headers)
        )
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


_OPERATIONS = {**_index.OPERATIONS, **_root.OPERATIONS}
_ARGUMENTS = {
    one.name
    for request in (*_index.OPERATIONS.values(), *_root.OPERATIONS.values())
    for one in declared(request)
    if not one.field.local
}
"""The arguments that clients of a server can give."""


def _is_served(fix: Mapping[str, Any]) -> bool:
    """Return whether clients of a server can follow a fix."""
    return fix["operation"] in (None, *_OPERATIONS) and fix["arguments"].keys() <= _ARGUMENTS


def problem_of(error: HedgerowError) -> Problem:
    """The problem for an error of hedgerow."""
    status = _STATUS.get(error.code)
    if status is None:
        status = next(
            (status for kind, status in _BY_CLASS if isinstance(error, kind)),
            HTTPStatus.INTERNAL_SERVER_ERROR,
        )
    kind = type(error).__name__
    fields: dict[str, Any] = {"error": kind, **error.details()}
    if fixes := [one for one in fields.pop("fixes", ()) if _is_served(one)]:
        fields["fixes"] = fixes
    if isinstance(error, PipelineError):
        fields |= {name: getattr(error, name) for name in _OF_A_PIPELINE}
    if isinstance(error, RetrievalError):
        fields["trace"] = error.trace.to_dict()
    title = _WORD.sub(" ", kind).capitalize()
    return Problem(error.code, error.message, status=status, title=title, fields=fields)


def answer(problem: Problem) -> JSONResponse:
    """The response for a problem."""
    return JSONResponse(
        problem.document(),
        problem.status_code,
        headers=problem.headers,
        media_type=_MEDIA_TYPE,
    )


_SEARCHES = {
    "root": "this server serves a root: use /v1/recall",
    "index": "this server serves an index: use /v1/search",
}
"""The route that most clients look for, by the kind of the server."""


async def on_error(request: Request, error: Exception) -> JSONResponse:
    """Answer a request that raised an error."""
    if isinstance(error, HedgerowError):
        return answer(problem_of(error))
    if isinstance(error, Problem):
        return answer(error)
    if isinstance(error, HTTPException):
        code, detail = "invalid_request", str(error.detail)
        if error.status_code == HTTPStatus.NOT_FOUND:
            code = "not_found"
            detail = f"{_SEARCHES[request.app.state.kind]}, or another route of /openapi.json"
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = (error.headers or {}).get("Allow", "another method")
            detail = f"{request.url.path} takes {allowed}, not {request.method}"
        return answer(Problem(code, detail, status=error.status_code, headers=error.headers or {}))
    # The text of the error may contain data that a log or a client must not see.
    detail = f"{type(error).__name__}: a fault of hedgerow; please report it"
    return answer(Problem("engine_fault", detail))


async def on_disconnect(_: Request, __: Exception) -> JSONResponse:
    """End a request whose client went away; the answer reaches no one, and is no fault to log."""
    return answer(Problem("invalid_request", "the body is not complete"))
