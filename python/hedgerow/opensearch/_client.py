"""Requests to an OpenSearch server, with one deadline for all of a call and errors that name the cause.

Importing this needs opensearch-py, so only `Collection.create` and `Collection.open` do.
"""

# No error is raised from inside an `except`: a chained exception keeps the locals of its frames,
# and tools that print or send those would show the credentials.
from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    ConnectionError as NotReached,
)
from opensearchpy.exceptions import (
    ConnectionTimeout,
    OpenSearchException,
    SSLError,
    TransportError,
)

from ..errors import BackendError, HedgerowError, InvalidInputError

Auth = tuple[str, str] | Callable[[], tuple[str, str]]
"""A user and a password, or a function that returns them: that of a vault, or of the environment."""

_SHORTEST_TIMEOUT = 0.001
_LONGEST_DETAIL = 300
_POOL = 32
_TOO_WIDE = re.compile(r"maxClauseCount|expanded to too many terms|too_many_(nested_)?clauses")
_BAD_NAME = re.compile("invalid_(index|alias)_name")
_TOO_COMPLEX = re.compile(r"max_determinized_states|too[ _]complex|max_regex_length", re.IGNORECASE)


class Deadline:
    """When the time for a call is over; it covers every request of it."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else monotonic() + seconds

    def left(self, name: str) -> float | None:
        """Seconds that are left, None without a deadline; raises BackendError when it is over."""
        if self._end is None:
            return None
        left = self._end - monotonic()
        if left <= 0:
            raise _too_late(name, self.seconds)
        return max(left, _SHORTEST_TIMEOUT)


@dataclass(frozen=True)
class Address:
    """Where a collection is, and what its server trusts; `repr` tells no credentials."""

    url: str
    auth: Auth | None
    ca: str | None
    insecure_http: bool

    def __repr__(self) -> str:
        return f"<{self.url}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.auth, tuple):
            raise InvalidInputError(
                "a collection that was given a password is not pickled; pass auth a function of a "
                "module, which returns user and password, instead",
                code="not_picklable",
            )
        return (Address, (self.url, self.auth, self.ca, self.insecure_http))


class Client:
    """Sends requests about one collection. Threads may share it, and a forked child may go on with it."""

    def __init__(self, address: Address, name: str, timeout: float) -> None:
        self.address = address
        self.name = name
        self.timeout = timeout
        self._parts = _checked_url(address.url, address)
        self._closed = False
        self._connect()

    def path(self, suffix: str = "", *, of: str | None = None) -> str:
        """The path of a request about the collection, or about another index."""
        return f"/{quote(self.name if of is None else of, safe='')}{suffix}"

    def call(  # noqa: PLR0913 - what a request has
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        deadline: Deadline | None = None,
        params: Mapping[str, Any] | None = None,
        ignore: tuple[int, ...] = (),
    ) -> Any:
        """The answer of the server; raises BackendError, which says what to do.

        Without a deadline the request has the timeout of the collection. The answer to a status in
        `ignore` is returned like others.
        """
        if self._closed:
            raise HedgerowError(
                f"the collection {self.name!r} is closed; open it again", code="endpoint_closed"
            )
        if self._process != os.getpid():
            self._connect()
        left = self.timeout if deadline is None else deadline.left(self.name)
        options = {"request_timeout": left, "ignore": ignore}
        try:
            return self._client.transport.perform_request(
                method, path, params={**(params or {}), **options}, body=body
            )
        except OpenSearchException as error:
            problem = self._problem(error, self.timeout if deadline is None else deadline.seconds)
        raise problem

    def refresh(self) -> None:
        """Let searches find what was written."""
        self.call("POST", self.path("/_refresh"))

    def exists_already(self) -> BackendError:
        """The error that the name of the collection is taken."""
        return BackendError(
            f"{self.address.url} has {self.name!r} already; open it, or give another name",
            code="collection_exists",
        )

    def close(self) -> None:
        """Close the connections; further requests fail."""
        if not self._closed:
            self._closed = True
            self._client.close()

    def _connect(self) -> None:
        """Two processes must not share one connection."""
        address, parts = self.address, self._parts
        auth = address.auth() if callable(address.auth) else address.auth
        secure = parts.scheme == "https"
        host: dict[str, Any] = {"host": parts.hostname, "use_ssl": secure}
        host["port"] = parts.port or (443 if secure else 80)
        if parts.path.strip("/"):
            host["url_prefix"] = parts.path.strip("/")
        trusted = {"verify_certs": True, "ca_certs": address.ca} if secure else {}
        self._client = OpenSearch(
            [host], http_auth=auth, retry_on_timeout=False, retry_on_status=(), maxsize=_POOL, **trusted
        )
        self._process = os.getpid()

    def _problem(self, error: OpenSearchException, seconds: float | None) -> HedgerowError:
        """What an error of the client means for the caller."""
        shown = self.address.url
        if isinstance(error, ConnectionTimeout):
            return _too_late(self.name, seconds)
        if isinstance(error, SSLError):
            return BackendError(
                f"{shown} has a certificate that is not trusted, or speaks no TLS; pass ca= the file "
                "of the authority that signed it",
                code="backend_unavailable",
            )
        if isinstance(error, NotReached):
            return BackendError(
                f"{shown} cannot be reached; check that the server runs there",
                code="backend_unavailable",
            )
        if not isinstance(error, TransportError):
            return BackendError(
                f"{shown} answered with something that is not JSON; check the URL",
                code="backend_unavailable",
            )
        return self._refusal(error.status_code, error.info or error.error)

    def problem_of(self, answer: Mapping[str, Any]) -> HedgerowError:
        """What the error of one of several searches means for the caller."""
        return self._refusal(answer.get("status", "N/A"), answer)

    def _refusal(self, status: int | str, info: Any) -> HedgerowError:
        shown, reason, everything = self.address.url, reason_of(info), str(info)
        if status == HTTPStatus.NOT_FOUND and "index_not_found" in everything:
            return BackendError(
                f"{shown} has no collection {self.name!r}; make it with Collection.create",
                code="collection_missing",
            )
        if "resource_already_exists" in everything or _BAD_NAME.search(everything):
            return self._name_refused(everything, reason)
        if _TOO_WIDE.search(everything):
            return InvalidInputError(
                f"the query has more words, or a prefix that begins more of them, than {shown} looks "
                "through (1,024 unless set otherwise); write more letters or fewer words, or raise the "
                "server's indices.query.bool.max_clause_count",
                code="unsupported_by_backend",
            )
        if _TOO_COMPLEX.search(everything):
            return InvalidInputError(
                f"a pattern of the filter is too complex for {shown}; use fewer wildcards",
                code="unsupported_by_backend",
            )
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return BackendError(
                f"{shown} answered {status}; check auth and what that user may do",
                code="backend_refused",
            )
        if "missing shards" in everything or "Partial shards" in everything:
            return BackendError(
                f"shards of the collection {self.name!r} did not answer; wait until the cluster is whole, or "
                "pass allow_partial=True",
                code="partial_results",
            )
        return BackendError(f"{shown} answered {status} ({reason})", code=_code(status))

    def _name_refused(self, everything: str, reason: str) -> HedgerowError:
        if _BAD_NAME.search(everything):
            return InvalidInputError(
                f"{self.name!r} cannot be the name of a collection ({reason})", code="invalid_option"
            )
        return self.exists_already()

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address, "name": self.name, "timeout": self.timeout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc] # a copy makes connections of its own


def reason_of(info: Any) -> str:
    """The deepest reason in the error of a server, on one line."""
    found = info
    while isinstance(found, dict):
        roots = found.get("root_cause")
        deeper = found.get("caused_by") or found.get("error") or (roots[0] if roots else None)
        if deeper is None:
            found = found.get("reason") or found.get("type")
            break
        found = deeper
    line = " ".join(str(found or "no reason given").split())
    return line if len(line) <= _LONGEST_DETAIL else line[:_LONGEST_DETAIL] + "…"


def _code(status: int | str) -> str:
    """Whether a server may answer later what it does not answer now."""
    busy = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE)
    return "backend_unavailable" if status in (*busy, "N/A") else "backend_refused"


def _too_late(name: str, seconds: float | None) -> BackendError:
    within = "" if seconds is None else f" within {seconds:g} s"
    return BackendError(
        f"the collection {name!r} did not answer{within}; raise timeout, or look at the load of the server",
        code="backend_timeout",
    )


def _checked_url(url: str, address: Address) -> SplitResult:
    """The parts of the URL; raises InvalidInputError, which does not repeat a password."""
    if not isinstance(url, str):
        raise TypeError(f"url must be a str, not {type(url).__name__}")
    parts = SplitResult("", "", "", "", "")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if "@" in parts.netloc:
        raise InvalidInputError(
            "url holds a user name or a password; leave them out and pass auth",
            code="invalid_endpoint",
        )
    if not valid or parts.query or parts.fragment:
        raise InvalidInputError(
            'url must begin with "http://" or "https://" and name a host, without a query',
            code="invalid_endpoint",
        )
    clear = parts.scheme == "http" and not _is_loopback(parts.hostname or "")
    if clear and address.auth is not None and not address.insecure_http:
        raise InvalidInputError(
            "url is http, so that the password would be sent for everybody to read; use https, or "
            "pass insecure_http=True",
            code="invalid_endpoint",
        )
    if address.ca is not None and parts.scheme == "http":
        raise InvalidInputError(
            "ca is for https, and url is http; use https, or leave ca out",
            code="incompatible_options",
        )
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
