"""JSON over HTTP for the adapters, with retries and errors that name the cause.

Importing this needs httpx and tenacity, so only constructors of adapters do.
"""

# No error is raised from inside an `except`: a chained exception of httpx keeps the request, with
# its headers, and tools that print or send the locals of tracebacks would show the key.
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from time import monotonic, time
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

import httpx
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_result,
    wait_exponential,
    wait_random,
)

from hedgerow._checks import checked_count, checked_seconds
from hedgerow.errors import HedgerowError, InvalidInputError

from . import http
from .connection import ApiKey
from .http import Connections

FIRST_WAIT = 0.5
"""Seconds before the second try; each later wait is twice as long, and all have some jitter."""

LONGEST_WAIT = 30.0
"""No wait is longer; a server that asks for more is not retried."""

_SHORTEST_TIMEOUT = 0.001

_LONGEST_DETAIL = 300

_HINTS = {
    400: "check the model and the options",
    401: "check the API key",
    403: "check the API key and its permissions",
    404: "check base_url and the model",
    405: "check base_url",
    413: "lower batch_size",
    422: "check the model and the options, or lower batch_size",
    429: "send less, or raise retries",
}


class _Outcome(NamedTuple):
    """The result of one try: a value, or a problem in words."""

    value: Any = None
    problem: str = ""
    code: str = ""
    again: bool = False
    asked_wait: float | None = None
    tries: int = 1
    status: int | None = None


def _endpoint_error(message: str, code: str, _status: int | None) -> HedgerowError:
    return HedgerowError(message, code=code)


class _Endpoint:
    """A URL that receives JSON by POST. Pickles without its connections and without the key."""

    def __init__(  # noqa: PLR0913 - what a connection depends on
        self,
        base_url: str,
        path: str,
        *,
        key: ApiKey,
        timeout: float,
        retries: int,
        error: Callable[[str, str, int | None], HedgerowError] = _endpoint_error,
    ) -> None:
        """`error` makes the exception of a message, a code and a status; it must pickle."""
        parts = checked_url(base_url)
        joined = parts._replace(path=parts.path.rstrip("/") + path, fragment="")
        self.shown = urlunsplit(joined._replace(query=""))
        """The URL for messages: without its query."""
        self._url = urlunsplit(joined)
        self._key = key
        self._timeout = checked_seconds(timeout, "timeout")
        self._retries = checked_count(retries, "retries", least=0)
        self._error = error
        self._connections = Connections(key, self._timeout)
        self._closed = False

    def _policy(self, within: float | None = None) -> dict[str, Any]:
        return {
            "retry": retry_if_result(lambda outcome: outcome.again),
            "stop": partial(self._is_over, within=within),
            "wait": _Wait(),
            "retry_error_callback": _last_outcome,
        }

    def _is_over(self, state: RetryCallState, within: float | None) -> bool:
        asked = _outcome(state).asked_wait
        too_long = asked is not None and asked > LONGEST_WAIT
        next_try = (state.seconds_since_start or 0.0) + state.upcoming_sleep
        too_late = within is not None and next_try >= within
        return too_long or too_late or state.attempt_number > self._retries

    def _broken(self, error: httpx.HTTPError, within: float | None = None) -> _Outcome:
        """No answer. A slow server is not asked again: that takes as long and adds to its load."""
        if isinstance(error, httpx.TimeoutException):
            limit = self._timeout if within is None else within
            problem = f"did not answer within {limit:g} s; raise timeout, or send less"
            return _Outcome(problem=problem, code="endpoint_unreachable")
        again = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
        reason = self._key.hidden_in(f"{type(error).__name__}: {error}".removesuffix(": "))
        problem = f"could not be reached ({reason}); check that the server runs there"
        return _Outcome(problem=problem, code="endpoint_unreachable", again=again)

    def _answered(self, response: httpx.Response | None) -> _Outcome:
        if response is None:
            size = f"{http.LARGEST_ANSWER:,} bytes"
            problem = f"answered with more than {size}; check base_url, or send less"
            return _Outcome(problem=problem, code="bad_answer")
        if response.is_success:
            try:
                return _Outcome(value=json.loads(response.content))
            except (ValueError, RecursionError):
                problem = "answered with something that is not JSON; check base_url"
                return _Outcome(problem=problem, code="bad_answer")
        status = response.status_code
        again = status == HTTPStatus.TOO_MANY_REQUESTS or response.is_server_error
        asked = _asked_wait(response.headers.get("Retry-After", "")) if again else None
        return _Outcome(
            problem=self._refusal(response, asked),
            code="endpoint_refused",
            again=again,
            asked_wait=asked,
            status=status,
        )

    def _refusal(self, response: httpx.Response, asked: float | None) -> str:
        status = response.status_code
        problem = f"answered {status} {self._key.hidden_in(response.reason_phrase)}".rstrip()
        if detail := self._key.hidden_in(_detail(response)):
            problem += f" ({_shortened(detail)})"
        if asked is not None and asked > LONGEST_WAIT:
            problem += f" and asks to wait {asked:.0f} s"
        if response.is_redirect:
            return f"{problem}; redirects are not followed, so set base_url to where it moved"
        return f"{problem}; {_HINTS.get(status, 'see the log of the server')}"

    def _value(self, outcome: _Outcome) -> Any:
        if not outcome.problem:
            return outcome.value
        tries = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
        message = f"{self.shown} {outcome.problem}{tries}"
        raise self._error(message, outcome.code, outcome.status)

    def _check_open(self) -> None:
        if self._closed:
            raise HedgerowError(
                f"the connection to {self.shown} is closed; make another", code="endpoint_closed"
            )

    def __repr__(self) -> str:
        return f"<{self.shown}>"


class Endpoint(_Endpoint):
    """A URL that receives JSON by POST. Threads may share it, and a forked child may use it."""

    def post(self, payload: Mapping[str, Any], *, within: float | None = None) -> Any:
        """Post the payload and return the answer's JSON; raises HedgerowError, which names the URL.

        `within` is the time for all tries, in seconds; without it each may take the timeout.
        """
        self._check_open()
        content = json.dumps(payload).encode()
        end = None if within is None else monotonic() + within
        return self._value(Retrying(**self._policy(within))(self._try, content, within, end))

    def close(self) -> None:
        """Close the connections; further posts fail."""
        self._closed = True
        self._connections.close()

    def _try(self, content: bytes, within: float | None, end: float | None) -> _Outcome:
        timeout = self._timeout if end is None else max(end - monotonic(), _SHORTEST_TIMEOUT)
        try:
            response = self._connections.send(
                "POST", self._url, content=content, headers=_HEADERS, timeout=timeout
            )
        except httpx.HTTPError as error:
            return self._broken(error, within)
        return self._answered(response)


class AsyncEndpoint(_Endpoint):
    """Like `Endpoint`, for asyncio; it may be used from one event loop after another."""

    async def post(self, payload: Mapping[str, Any]) -> Any:
        """Post the payload and return the answer's JSON; raises HedgerowError, which names the URL."""
        self._check_open()
        content = json.dumps(payload).encode()
        return self._value(await AsyncRetrying(**self._policy())(self._try, content))

    async def aclose(self) -> None:
        """Close the connections of the running event loop; further posts fail."""
        self._closed = True
        await self._connections.aclose()

    async def _try(self, content: bytes) -> _Outcome:
        try:
            response = await self._connections.asend(
                "POST", self._url, content=content, headers=_HEADERS
            )
        except httpx.HTTPError as error:
            return self._broken(error)
        return self._answered(response)


_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


class _Wait:
    """As long as the server asks; otherwise longer each time."""

    def __init__(self) -> None:
        growing = wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)
        self._backoff = growing + wait_random(0, FIRST_WAIT)

    def __call__(self, state: RetryCallState) -> float:
        asked = _outcome(state).asked_wait
        return self._backoff(state) if asked is None else asked


def _outcome(state: RetryCallState) -> _Outcome:
    """The outcome of the last try; a try never raises an error that is tried again."""
    outcome = None if state.outcome is None else state.outcome.result()
    return outcome if isinstance(outcome, _Outcome) else _Outcome()


def _last_outcome(state: RetryCallState) -> _Outcome:
    return _outcome(state)._replace(tries=state.attempt_number)


def _asked_wait(header: str) -> float | None:
    """The seconds of a Retry-After header, which has a number or a date; None for neither."""
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (ValueError, OverflowError):
        return None


def _detail(response: httpx.Response) -> str:
    """The error message of a response, in the usual shapes, on one line."""
    try:
        message = json.loads(response.content)
    except (ValueError, RecursionError):
        message = "" if "html" in response.headers.get("Content-Type", "") else response.text
    for name in ("error", "detail", "message"):
        if isinstance(message, dict) and name in message:
            message = message[name]
    if not isinstance(message, str):
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in message).split())


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"


def checked_url(url: str, name: str = "base_url", instead: str = "api_key") -> SplitResult:
    """The parts of the URL; raises InvalidInputError, which does not repeat a password."""
    if not isinstance(url, str):
        raise InvalidInputError(
            f"{name} must be a str, not {type(url).__name__}", code="invalid_option"
        )
    parts = SplitResult("", "", "", "", "")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        valid = False
    if "@" in parts.netloc:
        raise InvalidInputError(
            f"{name} holds a user name or a password; leave them out and pass {instead}",
            code="invalid_endpoint",
        )
    if not valid:
        raise InvalidInputError(
            f'{name} must begin with "http://" or "https://" and name a host',
            code="invalid_endpoint",
        )
    return parts
