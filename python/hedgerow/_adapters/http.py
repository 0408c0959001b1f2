"""Requests over HTTP, repeated only if that is harmless, with errors that name the cause.

This module needs httpx and tenacity, so only constructors of adapters with a server import it.
"""

# No error is raised from inside an `except`: a chained exception of httpx keeps the request, with
# its headers, and tools that print or send the locals of tracebacks would show the key.
from __future__ import annotations

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from ssl import PROTOCOL_TLS_CLIENT, SSLContext, create_default_context
from threading import Lock
from time import monotonic, time
from typing import Any, BinaryIO, ClassVar, NamedTuple, TypeVar
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

from .connection import LOOPBACK, ApiKey, checked_url

ClientT = TypeVar("ClientT", httpx.Client, httpx.AsyncClient)

LARGEST_ANSWER = 256 * 1024 * 1024
"""The most bytes of an answer that are read, after decompression."""

_OF_THE_TRANSFER = {"content-encoding", "content-length", "transfer-encoding"}


class _Body:
    """The body of a response as it arrives, in memory or in a file."""

    def __init__(self, into: BinaryIO | None) -> None:
        self.body = bytearray()
        self._into = into
        if into is not None and into.tell():  # A try before this one may have written a part.
            into.seek(0)
            into.truncate()

    def add(self, part: bytes) -> bool:
        """Take the next part. Returns False if the body is too large for memory."""
        if self._into is not None:
            self._into.write(part)
            return True
        self.body += part
        return len(self.body) <= LARGEST_ANSWER


class Connections:
    """Clients of httpx with the same options: one for the process, and one for each event loop.

    Threads may share it, event loops too, and a forked child may go on with it. It pickles without
    its connections. Redirects, which may lead anywhere with the key, are not followed.
    """

    _making: Lock
    _client: httpx.Client | None
    _clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient]
    _process: int

    def __init__(
        self, key: ApiKey, timeout: float, ca: str | None = None, *, direct: bool = False
    ) -> None:
        """`ca` is the file of an authority to trust instead of those that the system trusts.

        With `direct`, the proxies of the environment are not used.
        """
        self._key = key
        self._timeout = timeout
        self._ca = ca
        self._direct = direct
        self._forget()

    def send(self, method: str, url: str, *, into: BinaryIO | None = None, **options: Any) -> Any:
        """Return the response, with its body; None if that is larger than LARGEST_ANSWER.

        `options` are those of `httpx.Client.build_request`. The body of a success is written `into` a
        file instead, if there is one, and may have any size. Raises httpx.HTTPError, and OSError for
        the file.
        """
        client = self._of_process(url)
        streamed = client.send(client.build_request(method, url, **options), stream=True)
        try:
            kept = _Body(into if streamed.is_success else None)
            for part in streamed.iter_bytes():
                if not kept.add(part):
                    return None
            return _with_body(streamed, bytes(kept.body))
        finally:
            streamed.close()

    async def asend(
        self, method: str, url: str, *, into: BinaryIO | None = None, **options: Any
    ) -> Any:
        """Like `send`, but asynchronous."""
        client = self._of_loop(url)
        streamed = await client.send(client.build_request(method, url, **options), stream=True)
        try:
            kept = _Body(into if streamed.is_success else None)
            async for part in streamed.aiter_bytes():
                if not kept.add(part):
                    return None
            return _with_body(streamed, bytes(kept.body))
        finally:
            await streamed.aclose()

    def close(self) -> None:
        """Close the connections of the process."""
        if self._process != os.getpid():
            self._forget()
        with self._making:
            if self._client is not None:
                self._client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _of_process(self, url: str) -> httpx.Client:
        """Return the client of the process. Threads that arrive together get the same one."""
        if self._process != os.getpid():  # Two processes must not share one connection.
            self._forget()
        with self._making:
            if self._client is None:
                self._client = self._made(httpx.Client, url)
            return self._client

    def _of_loop(self, url: str) -> httpx.AsyncClient:
        """A connection belongs to the event loop it was opened in."""
        if self._process != os.getpid():
            self._forget()
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # A copy: the loops of other threads come and go meanwhile.
            for gone in [other for other in list(self._clients) if other.is_closed()]:
                self._clients.pop(gone, None)
            client = self._clients[loop] = self._made(httpx.AsyncClient, url)
        return client

    def _made(self, kind: type[ClientT], url: str) -> ClientT:
        """Make a client; raises InvalidInputError for a certificate or a proxy that cannot be used.

        For a URL of plain HTTP no certificates are read. The client would trust no server with TLS.
        """
        if self._ca is not None:
            verify = _context_of(self._ca)
        elif url.startswith("http://"):
            verify = SSLContext(PROTOCOL_TLS_CLIENT)
        else:
            verify = certificates()
        problem = ""
        try:
            return kind(
                timeout=self._timeout,
                auth=Bearer(self._key),
                follow_redirects=False,
                verify=verify,
                trust_env=not self._direct,
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            problem = str(error)
        raise InvalidInputError(
            f"the proxy of the environment cannot be used ({problem}); correct HTTP_PROXY, "
            "HTTPS_PROXY or ALL_PROXY, or name the server in NO_PROXY",
            code="invalid_endpoint",
        )

    def _forget(self) -> None:
        self._making = Lock()  # A new one: a thread of the parent may hold the old one for good.
        self._client = None
        self._clients = {}
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(Connections, direct=self._direct)
        return (made, (self._key, self._timeout, self._ca))


class Bearer(httpx.Auth):
    """Adds the key where httpx sends the request, so that no client holds it among its headers."""

    def __init__(self, key: ApiKey) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if value := self._key.value():
            request.headers["Authorization"] = f"Bearer {value}"
        del value  # not among the locals of a traceback
        yield request


@cache
def certificates() -> SSLContext:
    """Read the certificates that the system trusts, once: that takes longer than many a request.

    Raises InvalidInputError for a variable of the environment that names a file without certificates.
    """
    problem = ""
    try:
        return httpx.create_ssl_context()
    except OSError as error:  # also an SSLError, of a file with something else
        problem = error.strerror or str(error)
    named = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
    where = f"{named[0]}={os.environ[named[0]]}" if named else "certifi"
    raise InvalidInputError(
        f"the certificates of {where} cannot be read ({problem}); "
        + (f"correct or unset {named[0]}" if named else "install certifi again"),
        code="invalid_endpoint",
    )


def _context_of(ca: str) -> SSLContext:
    """Return a context that trusts the authority in a file, or those in a folder."""
    problem = ""
    try:
        if Path(ca).is_dir():
            return create_default_context(capath=ca)
        return create_default_context(cafile=ca)
    except OSError as error:
        problem = error.strerror or str(error)
    raise InvalidInputError(
        f"the certificate {ca} cannot be read ({problem}); give ca a file in PEM",
        code="invalid_option",
    )


def _with_body(response: httpx.Response, body: bytes) -> httpx.Response:
    """A copy of the response that has its body, decompressed."""
    headers = response.headers.multi_items()
    return httpx.Response(
        response.status_code,
        headers=[pair for pair in headers if pair[0].lower() not in _OF_THE_TRANSFER],
        content=body,
        request=response.request,
        extensions=response.extensions,
    )


# Tries.


FIRST_WAIT = 0.5
"""Seconds before the second try; each later wait is twice as long, and all have some jitter."""

LONGEST_WAIT = 30.0
"""No wait is longer; a server that asks for more is not retried."""

_SHORTEST_TIMEOUT = 0.001


@dataclass(slots=True)
class Asked:
    """A request. Its answer is written `into` a file, if one is given; `within` is the time for all tries."""

    method: str
    url: str
    content: bytes | None = None
    params: Mapping[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    into: BinaryIO | None = None
    within: float | None = None
    _end: float | None = field(init=False)

    def __post_init__(self) -> None:
        self._end = None if self.within is None else monotonic() + self.within

    def options(self) -> dict[str, Any]:
        """The options of a try, as `Connections.send` takes them."""
        names = ("content", "params", "headers", "into")
        options = {name: getattr(self, name) for name in names}
        if self._end is not None:
            options["timeout"] = max(self._end - monotonic(), _SHORTEST_TIMEOUT)
        return options


class Outcome(NamedTuple):
    """The result of one try: a value, or a problem in words."""

    value: Any = None
    problem: str = ""
    code: str = ""
    again: bool = False
    asked_wait: float | None = None
    tries: int = 1
    status: int | None = None


class _Wait:
    """As long as the server asks; otherwise longer each time."""

    def __init__(self) -> None:
        growing = wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)
        self._backoff = growing + wait_random(0, FIRST_WAIT)

    def __call__(self, state: RetryCallState) -> float:
        asked = _outcome(state).asked_wait
        return self._backoff(state) if asked is None else asked


def _outcome(state: RetryCallState) -> Outcome:
    """The outcome of the last try; a try never raises an error that is tried again."""
    outcome = None if state.outcome is None else state.outcome.result()
    return outcome if isinstance(outcome, Outcome) else Outcome()


def _last_outcome(state: RetryCallState) -> Outcome:
    return _outcome(state)._replace(tries=state.attempt_number)


_RETRIED: dict[str, Any] = {
    "retry": retry_if_result(lambda outcome: outcome.again),
    "retry_error_callback": _last_outcome,
}


def asked_wait(response: httpx.Response) -> float | None:
    """Return the seconds of a Retry-After header, which has a number or a date. None for neither."""
    header = response.headers.get("Retry-After", "")
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (ValueError, OverflowError):
        return None


class Sender(ABC):
    """Sends requests over its connections until it is closed.

    Threads may share it, and a forked child may use it. It pickles without its connections and
    without the key. The class variables are the ends of messages.
    """

    unreached: ClassVar[str]
    too_slow: ClassVar[str]
    too_large: ClassVar[str]
    when_closed: ClassVar[str]

    def __init__(  # noqa: PLR0913 - what a connection depends on
        self,
        url: str,
        key: ApiKey,
        timeout: float,
        ca: str | None = None,
        *,
        retries: int,
        code: str,
    ) -> None:
        """`url` is that of messages, and `code` that of the error for a server without an answer."""
        self._unanswered = code
        self._retries = checked_count(retries, "retries", least=0)
        self._shown_url = url
        self._key = key
        self._timeout = checked_seconds(timeout, "timeout")
        # A proxy on another machine cannot reach a server here, and would see its token.
        is_here = urlsplit(url).hostname in LOOPBACK
        self._connections = Connections(key, self._timeout, ca, direct=is_here)
        self._closed = False

    def _policy(self, asked: Asked) -> dict[str, Any]:
        return {"stop": partial(self._is_over, within=asked.within), "wait": _Wait()}

    def _is_over(self, state: RetryCallState, within: float | None) -> bool:
        asked = _outcome(state).asked_wait
        too_long = asked is not None and asked > LONGEST_WAIT
        next_try = (state.seconds_since_start or 0.0) + state.upcoming_sleep
        too_late = within is not None and next_try >= within
        return too_long or too_late or state.attempt_number > self._retries

    @abstractmethod
    def _read(self, response: httpx.Response) -> Outcome:
        """Return the outcome of a try that was answered."""

    def _sent(self, asked: Asked) -> Outcome:
        self._check_open()
        outcome: Outcome = Retrying(**_RETRIED, **self._policy(asked))(self._try, asked)
        return outcome

    async def _asent(self, asked: Asked) -> Outcome:
        self._check_open()
        outcome: Outcome = await AsyncRetrying(**_RETRIED, **self._policy(asked))(self._atry, asked)
        return outcome

    def _try(self, asked: Asked) -> Outcome:
        try:
            response = self._connections.send(asked.method, asked.url, **asked.options())
        except httpx.HTTPError as error:
            return self._broken(error, asked)
        return self._answered(response)

    async def _atry(self, asked: Asked) -> Outcome:
        try:
            response = await self._connections.asend(asked.method, asked.url, **asked.options())
        except httpx.HTTPError as error:
            return self._broken(error, asked)
        return self._answered(response)

    def _broken(self, error: httpx.HTTPError, asked: Asked) -> Outcome:
        """No answer. A slow server is not asked again: that takes as long and adds to its load."""
        if isinstance(error, httpx.TimeoutException):
            limit = self._timeout if asked.within is None else asked.within
            problem = f"did not answer within {limit:g} s; raise timeout, or {self.too_slow}"
            return Outcome(problem=problem, code=self._unanswered)
        again = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
        reason = self._key.hidden_in(f"{type(error).__name__}: {error}".removesuffix(": "))
        problem = self.unreached.format(reason=reason)
        return Outcome(problem=problem, code=self._unanswered, again=again)

    def _answered(self, response: httpx.Response | None) -> Outcome:
        if response is None:
            problem = f"answered with more than {LARGEST_ANSWER:,} bytes; {self.too_large}"
            return Outcome(problem=problem, code="bad_answer")
        return self._read(response)

    def _check_open(self) -> None:
        if self._closed:
            raise HedgerowError(
                f"the connection to {self._shown_url} is closed; {self.when_closed}",
                code="endpoint_closed",
            )

    def close(self) -> None:
        """Close the connections; further requests fail."""
        self._closed = True
        self._connections.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop too; further requests fail."""
        self.close()
        await self._connections.aclose()


# JSON for the adapters.


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


def _endpoint_error(message: str, code: str, _status: int | None) -> HedgerowError:
    return HedgerowError(message, code=code)


class Endpoint(Sender):
    """A URL that receives JSON by POST."""

    unreached = "could not be reached ({reason}); check that the server runs there"
    too_slow = "send less"
    too_large = "check base_url, or send less"
    when_closed = "make another"

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
        parts = url_parts(base_url)
        joined = parts._replace(path=parts.path.rstrip("/") + path, fragment="")
        self.shown = urlunsplit(joined._replace(query=""))
        """The URL for messages: without its query."""
        super().__init__(self.shown, key, timeout, retries=retries, code="endpoint_unreachable")
        self._url = urlunsplit(joined)
        self._error = error

    def post(self, payload: Mapping[str, Any], *, within: float | None = None) -> Any:
        """Post the payload and return the answer's JSON; raises HedgerowError, which names the URL.

        `within` is the time for all tries, in seconds; without it each may take the timeout.
        """
        return self._value(self._sent(self._posting(payload, within)))

    async def apost(self, payload: Mapping[str, Any]) -> Any:
        """Like `post`, but asynchronous; it may be used from one event loop after another."""
        return self._value(await self._asent(self._posting(payload)))

    def _posting(self, payload: Mapping[str, Any], within: float | None = None) -> Asked:
        content = json.dumps(payload).encode()
        return Asked("POST", self._url, content, headers=dict(_HEADERS), within=within)

    def _read(self, response: httpx.Response) -> Outcome:
        if response.is_success:
            try:
                return Outcome(value=json.loads(response.content))
            except (ValueError, RecursionError):
                problem = "answered with something that is not JSON; check base_url"
                return Outcome(problem=problem, code="bad_answer")
        status = response.status_code
        again = status == HTTPStatus.TOO_MANY_REQUESTS or response.is_server_error
        asked = asked_wait(response) if again else None
        return Outcome(
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

    def _value(self, outcome: Outcome) -> Any:
        if not outcome.problem:
            return outcome.value
        tries = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
        message = f"{self.shown} {outcome.problem}{tries}"
        raise self._error(message, outcome.code, outcome.status)

    def __repr__(self) -> str:
        return f"<{self.shown}>"


_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


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


def url_parts(url: str, name: str = "base_url", instead: str = "api_key") -> SplitResult:
    """Like `checked_url`, of a URL that httpx has to take too."""

    def is_taken(_: SplitResult) -> bool:
        try:
            httpx.URL(url)
        except httpx.InvalidURL:
            return False
        return True

    return checked_url(url, name, instead, also=is_taken)
