"""Whether a request may write."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request

from .problems import Problem


def may_write(request: Request) -> None:
    """Raise a Problem for a request that may only read."""
    if request.app.state.read_only:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "read_only",
            "this server was started with --read-only; start it without to change something",
        )
    if request.scope["grant"].kind != "write":
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "read_only_token",
            "this token only reads; use the other token of the server to change something",
            headers={"WWW-Authenticate": 'Bearer error="insufficient_scope"'},
        )
