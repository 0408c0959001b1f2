"""Requests to a server, tried again where that can do no harm."""

# As in hedgerow._adapters.endpoint, no error is raised inside an `except`: a chained exception of
# httpx keeps the request, and with it the token.
from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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

from hedgerow._adapters import bodies
from hedgerow._adapters.connection import ApiKey
from hedgerow._adapters.endpoint import Bearer, certificates, checked_url
from hedgerow._checks import checked_seconds
from hedgerow._steps import Call, Steps
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
        self._ca = None if ca is None else os.fspath(ca)
        self._closed = False
        self._connect()

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
        outcome = yield Call(self._sent, (asked,), awaited=self._asent)
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
        outcome = yield Call(self._sent, (asked,), awaited=self._asent)
        return self._answer(outcome).content

    def close(self) -> None:
        """Close the connections; further requests fail."""
        self._closed = True
        self._client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop too."""
        self.close()
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

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
        if self._process != os.getpid():
            self._connect()
        try:
            streamed = self._client.send(self._request(self._client, asked), stream=True)
            try:
                if asked.is_download:
                    streamed.read()
                    response: httpx.Response | None = streamed
                else:
                    response = bodies.read_body(streamed)
            finally:
                streamed.close()
        except httpx.HTTPError as error:
            return self._broken(error)
        return _TOO_LARGE if response is None else _answered(response)

    async def _atry(self, asked: _Asked) -> _Outcome:
        client = self._of_loop()
        try:
            streamed = await client.send(self._request(client, asked), stream=True)
            try:
                if asked.is_download:
                    await streamed.aread()
                    response: httpx.Response | None = streamed
                else:
                    response = await bodies.aread_body(streamed)
            finally:
                await streamed.aclose()
        except httpx.HTTPError as error:
            return self._broken(error)
        return _TOO_LARGE if response is None else _answered(response)

    def _request(self, client: httpx.Client | httpx.AsyncClient, asked: _Asked) -> httpx.Request:
        return client.build_request(
            asked.method,
            f"{self.url}/{asked.path}",
            content=asked.content,
            params=asked.params,
            headers=asked.headers,
        )

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

    def _options(self) -> dict[str, Any]:
        """Redirects, which may lead anywhere with the token, are not followed."""
        verify = certificates() if self._ca is None else httpx.create_ssl_context(self._ca)
        return {
            "timeout": self._timeout,
            "auth": Bearer(self._key),
            "follow_redirects": False,
            "verify": verify,
        }

    def _connect(self) -> None:
        """Two processes must not share one connection."""
        self._client = httpx.Client(**self._options())
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._process = os.getpid()

    def _of_loop(self) -> httpx.AsyncClient:
        """A connection belongs to the event loop it was opened in."""
        if self._process != os.getpid():
            self._connect()
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # A copy: the loops of other threads come and go meanwhile.
            for gone in [other for other in list(self._clients) if other.is_closed()]:
                self._clients.pop(gone, None)
            client = self._clients[loop] = httpx.AsyncClient(**self._options())
        return client

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_client", "_clients", "_process")
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._connect()


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
    problem=f"answered with more than {bodies.LARGEST_ANSWER:,} bytes; ask for less",
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
