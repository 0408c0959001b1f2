"""Requests to a server, tried again where that can do no harm."""

# As in hedgerow._adapters.http, no error is raised inside an `except`: a chained exception of
# httpx keeps the request, and with it the token.
from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlencode, urlunsplit
from uuid import uuid4

import httpx

from hedgerow._adapters.connection import LOOPBACK, ApiKey
from hedgerow._adapters.http import Asked, Outcome, Sender, asked_wait, url_parts
from hedgerow._checks import checked_flag, checked_path
from hedgerow._dual import Call, Steps
from hedgerow.errors import BackendError, InvalidInputError

from ._problems import error_of

T = TypeVar("T")

_RETRIES = 2
_MISREAD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading an answer of another form than the one expected raises."""
_LONGEST_ADDRESS = 15_000
"""Bytes of a path and its parameters. A server takes 16 KiB with the headers."""


class Client(Sender):
    """Sends requests to `hedgerow serve`, from event loops too."""

    unreached = "cannot be reached ({reason}); check that a server of hedgerow runs there"
    too_slow = too_large = "ask for less"
    when_closed = "connect again"

    def __init__(
        self,
        url: str,
        *,
        key: ApiKey,
        timeout: float,
        ca: str | os.PathLike[str] | None,
        insecure_http: bool,
    ) -> None:
        parts = url_parts(url, "url", "token")
        is_exposed = checked_flag(insecure_http, "insecure_http")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not is_exposed:
            raise InvalidInputError(
                f"anybody between here and {parts.hostname} could read the token and the memories: use "
                "https, or pass insecure_http=True where something else encrypts",
                code="invalid_endpoint",
            )
        self.url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        trusted = None if ca is None else str(checked_path(ca, "ca"))
        super().__init__(
            self.url, key, timeout, trusted, retries=_RETRIES, code="backend_unavailable"
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
        size = len(path) + len(urlencode(params or {}, doseq=True))
        if size > _LONGEST_ADDRESS:
            raise InvalidInputError(
                f"the arguments take {size:,} bytes of the address of a request, which may have "
                f"{_LONGEST_ADDRESS:,}; give fewer or shorter ones",
                code="invalid_option",
            )
        content = None if body is None else _encoded(body)
        asked = Asked(method, f"{self.url}/{path}", content, params, dict(headers or {}))
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
            f"{self.url} answered in a form that is not known here; check that a server of hedgerow runs there, "
            "in a version like this one",
            code="bad_answer",
        )

    def download(self, method: str, path: str, into: BinaryIO) -> Steps[None]:
        """Write what the server answers with, as it is, into a file."""
        outcome = yield self._sending(Asked(method, f"{self.url}/{path}", into=into))
        self._answer(outcome)

    def _sending(self, asked: Asked) -> Call:
        call = Call(self._sent, asked)
        call.awaited = partial(self._asent, asked)
        return call

    def _answer(self, outcome: Outcome) -> httpx.Response:
        if outcome.problem:
            raise BackendError(f"{self.url} {outcome.problem}", code=outcome.code)
        response: httpx.Response = outcome.value
        if response.has_redirect_location:
            raise BackendError(
                f"{self.url} answered {response.status_code}: redirects are not followed; connect to "
                "the address that it moved to",
                code="bad_answer",
            )
        if not response.is_success:
            error = error_of(self.url, response.status_code, response.content)
            if error.code == "unauthorized":
                # The server names the header, which callers of this client do not write.
                where = "connect takes it as token, or from the variable HEDGEROW_TOKEN"
                raise BackendError(f"{error.message}; {where}", code=error.code)
            raise error
        return response

    def _read(self, response: httpx.Response) -> Outcome:
        again = response.status_code == HTTPStatus.TOO_MANY_REQUESTS
        return Outcome(response, again=again, asked_wait=asked_wait(response) if again else None)


def _encoded(body: Any) -> bytes:
    """The body as JSON; raises InvalidInputError for a number that JSON cannot hold."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInputError(
            f"a number is not finite, and cannot be sent as JSON ({error})", code="invalid_number"
        ) from error
