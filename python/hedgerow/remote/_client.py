"""Requests to a server, tried again where that can do no harm."""

# As in hedgerow._adapters.endpoint, no error is raised inside an `except`: a chained exception of
# httpx keeps the request, and with it the token.
from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlunsplit
from uuid import uuid4

import httpx
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_result,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from hedgerow._adapters import http
from hedgerow._adapters.connection import ApiKey
from hedgerow._adapters.endpoint import checked_url
from hedgerow._adapters.http import Connections
from hedgerow._checks import checked_seconds
from hedgerow._dual import Call, Steps
from hedgerow.errors import BackendError, HedgerowError, InvalidInputError

from ._problems import error_of

T = TypeVar("T")

TRIES = 3
_MISREAD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading an answer of another form than the one expected raises."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(slots=True)
class _Asked:
    method: str
    path: str
    content: bytes | None
    params: Mapping[str, Any] | None
    headers: dict[str, str] = field(default_factory=dict)
    is_download: bool = False
    """Whether the answer is a file, which may have any size."""


@dataclass(slots=True)
class _Outcome:
    """An answer, or why there is none."""

    response: httpx.Response | None = None
    problem: str = ""
    again: bool = False
    code: str = "backend_unavailable"


class Client:
    """Sends requests. Threads may share it, event loops too, and a forked child may go on with it."""

    def __init__(  # noqa: PLR0913 - what a connection depends on
        self,
        url: str,
        *,
        token: str | None,
        token_variable: str | None,
        timeout: float,
        ca: str | os.PathLike[str] | None,
        insecure_http: bool,
    ) -> None:
        parts = checked_url(url, "url", "token")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not insecure_http:
            raise InvalidInputError(
                f"anybody between here and {parts.hostname} could read the token and the memories: use "
                "https, or pass insecure_http=True where something else encrypts",
                code="invalid_endpoint",
            )
        self.url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._key = ApiKey(token, token_variable)
        self._timeout = checked_seconds(timeout, "timeout")
        self._closed = False
        self._connections = Connections(
            self._key, self._timeout, None if ca is None else os.fspath(ca)
        )

    def request(  # noqa: PLR0913 - what a request has
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        read: Callable[[Any], T],
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Steps[T]:
        """What `read` makes of the JSON that the server answers with; raises the error that it had.

        A request that is sent again because no answer came is done once: the server knows it by its
        key.
        """
        content = None if body is None else _encoded(body)
        asked = _Asked(method, path, content, params, dict(headers or {}))
        if content is not None:
            asked.headers["Content-Type"] = "application/json"
        if method != "GET":
            asked.headers["Idempotency-Key"] = uuid4().hex
        outcome = yield self._sending(asked)
        response = self._answer(outcome)
        try:
            return read(json.loads(response.content))
        except _MISREAD:
            pass  # as above: nothing of the response is kept
        raise BackendError(
            f"{self.url} answered in a form that is not known here; check that hedgerow serve runs there, "
            "in a version like this one",
            code="bad_answer",
        )

    def download(self, method: str, path: str) -> Steps[bytes]:
        """What the server answers with, as it is."""
        asked = _Asked(method, path, None, None, is_download=True)
        outcome = yield self._sending(asked)
        return self._answer(outcome).content

    def close(self) -> None:
        """Close the connections; further requests fail."""
        self._closed = True
        self._connections.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop too."""
        self.close()
        await self._connections.aclose()

    def _sending(self, asked: _Asked) -> Call:
        call = Call(self._sent, asked)
        call.awaited = partial(self._asent, asked)
        return call

    def _answer(self, outcome: _Outcome) -> httpx.Response:
        response = outcome.response
        if response is None:
            raise BackendError(f"{self.url} {outcome.problem}", code=outcome.code)
        if not response.is_success:
            raise error_of(self.url, response.status_code, response.content)
        return response

    def _sent(self, asked: _Asked) -> _Outcome:
        self._check_open()
        outcome: _Outcome = Retrying(**_POLICY)(self._try, asked)
        return outcome

    async def _asent(self, asked: _Asked) -> _Outcome:
        self._check_open()
        outcome: _Outcome = await AsyncRetrying(**_POLICY)(self._atry, asked)
        return outcome

    def _try(self, asked: _Asked) -> _Outcome:
        try:
            response = self._connections.send(*self._where(asked), **_how(asked))
        except httpx.HTTPError as error:
            return self._broken(error)
        return _TOO_LARGE if response is None else _answered(response)

    async def _atry(self, asked: _Asked) -> _Outcome:
        try:
            response = await self._connections.asend(*self._where(asked), **_how(asked))
        except httpx.HTTPError as error:
            return self._broken(error)
        return _TOO_LARGE if response is None else _answered(response)

    def _where(self, asked: _Asked) -> tuple[str, str]:
        return asked.method, f"{self.url}/{asked.path}"

    def _broken(self, error: httpx.HTTPError) -> _Outcome:
        if isinstance(error, httpx.TimeoutException):
            problem = f"did not answer within {self._timeout:g} s; raise timeout, or ask for less"
            return _Outcome(problem=problem)
        reason = self._key.hidden_in(f"{type(error).__name__}: {error}".removesuffix(": "))
        problem = f"cannot be reached ({reason}); check that hedgerow serve runs there"
        again = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
        return _Outcome(problem=problem, again=again)

    def _check_open(self) -> None:
        if self._closed:
            raise HedgerowError(
                f"the connection to {self.url} is closed; connect again", code="endpoint_closed"
            )


def _how(asked: _Asked) -> dict[str, Any]:
    return {
        "has_limit": not asked.is_download,
        "content": asked.content,
        "params": asked.params,
        "headers": asked.headers,
    }


def _encoded(body: Any) -> bytes:
    """The body as JSON; raises InvalidInputError for a number that JSON cannot hold."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInputError(
            f"a number is not finite, and cannot be sent as JSON ({error})", code="invalid_number"
        ) from error


def _answered(response: httpx.Response) -> _Outcome:
    return _Outcome(response, again=response.status_code == HTTPStatus.TOO_MANY_REQUESTS)


_TOO_LARGE = _Outcome(
    problem=f"answered with more than {http.LARGEST_ANSWER:,} bytes; ask for less",
    code="bad_answer",
)


def _last(state: RetryCallState) -> Any:
    return None if state.outcome is None else state.outcome.result()


_POLICY: dict[str, Any] = {
    "retry": retry_if_result(lambda outcome: outcome.again),
    "stop": stop_after_attempt(TRIES),
    "wait": wait_exponential(multiplier=0.1, max=2) + wait_random(0, 0.1),
    "retry_error_callback": _last,
}
