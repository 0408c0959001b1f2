"""Requests to an OpenSearch server, with one deadline for a whole call and errors that name the cause.

Importing this needs opensearch-py, so only `Collection.create` and `Collection.open` do.
"""

# No error is raised from inside an `except`: a chained exception keeps the locals of its frames,
# and tools that print or send those would show the credentials.
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import quote

from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    ConnectionError as NotReached,
)
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, SSLError, TransportError

from hedgerow.errors import BackendError, HedgerowError, InvalidInputError

from ._address import Address

_SHORTEST_TIMEOUT = 0.001
_LONGEST_DETAIL = 300
_POOL = 32
_FORGOTTEN_TOGETHER = 4
_LONGEST_CLOSING = 2.0  # seconds
_LONGEST_MERGE = 24 * 3600.0  # seconds
_PARTIAL = (
    "{shards} shards of the collection {name!r} did not answer; wait until the cluster is whole, "
    "or open it with allow_partial=True"
)

BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE)
"""What a server answers to a request that may succeed later."""


class Deadline:
    """The time limit of one call, for all of its requests together."""

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


class Client:
    """Sends requests about one collection. Threads may share it, and a forked child may go on with it."""

    def __init__(self, address: Address, name: str, timeout: float) -> None:
        self.address = address
        self.name = name
        self.timeout = timeout
        self._parts = address.parts()
        self._closed = False
        self._unwanted: list[str] = []
        self._forgetting = Lock()
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
        """Make written chunks visible to searches."""
        self.call("POST", self.path("/_refresh"))

    def block_writes(self, index: str, *, is_blocked: bool = True) -> None:
        """Refuse writes into an index, once those that have begun are done, or accept them again."""
        if is_blocked:
            self.call("PUT", self.path("/_block/write", of=index))
        else:
            self.call("PUT", self.path("/_settings", of=index), {"index.blocks.write": None})

    def merge(self) -> None:
        """Let the server make one segment of each shard."""
        path, wanted = self.path("/_forcemerge"), {"max_num_segments": 1}
        merged = self.call("POST", path, params=wanted, deadline=Deadline(_LONGEST_MERGE))
        shards = merged["_shards"]
        if shards["failed"]:
            raise partial_results(self.name, f"{shards['failed']} of {shards['total']}")
        self.refresh()

    def exists_already(self) -> HedgerowError:
        """The error that the name of the collection is taken."""
        return self._refusal(HTTPStatus.BAD_REQUEST, "resource_already_exists")

    def forget(self, point_in_time: str, deadline: Deadline) -> None:
        """Let the server forget a state, some at a time: few searches wait for such a request."""
        with self._forgetting:
            self._unwanted.append(point_in_time)
            is_due = len(self._unwanted) >= _FORGOTTEN_TOGETHER
        if is_due:
            self._forget_all(deadline)

    def _forget_all(self, deadline: Deadline) -> None:
        with self._forgetting:
            unwanted, self._unwanted = self._unwanted, []
        # If this fails, the server still forgets them when their time is over.
        with suppress(HedgerowError):
            if unwanted:
                state = {"pit_id": unwanted}
                self.call("DELETE", "/_search/point_in_time", state, deadline=deadline)

    def close(self) -> None:
        """Close the connections; further requests fail."""
        if not self._closed:
            self._forget_all(Deadline(min(self.timeout, _LONGEST_CLOSING)))
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
            [host],
            http_auth=auth,
            retry_on_timeout=False,
            retry_on_status=(),
            maxsize=_POOL,
            **trusted,
        )
        self._process = os.getpid()

    def _problem(self, error: OpenSearchException, seconds: float | None) -> HedgerowError:
        """Return our error for an error of the client."""
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
        """Return our error for the error of one of several searches."""
        return self._refusal(answer.get("status", "N/A"), answer)

    def _refusal(self, status: int | str, info: Any) -> HedgerowError:
        everything = str(info)
        known = next((one for one in _KNOWN if one.said.search(everything)), None)
        if known is not None:
            return known.error(self.address.url, self.name, reason_of(info))
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return BackendError(
                f"{self.address.url} answered {status}; check auth and what that user may do",
                code="backend_refused",
            )
        message = f"{self.address.url} answered {status} ({reason_of(info)})"
        if status in BUSY or status == "N/A":
            return BackendError(f"{message}; try again later", code="backend_unavailable")
        return BackendError(f"{message}; see its log", code="backend_refused")

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address, "name": self.name, "timeout": self.timeout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc] # a copy makes connections of its own


def reason_of(info: Any) -> str:
    """Return the message of a server's error and, if it differs, its deepest cause, on one line."""
    reasons: list[str] = []
    while isinstance(info, dict):
        roots = info.get("root_cause")
        reason = info.get("reason") or info.get("type")
        if isinstance(reason, str):
            reasons.append(" ".join(reason.split()))
        info = info.get("caused_by") or info.get("error") or (roots[0] if roots else None)
    if isinstance(info, str):
        reasons.append(" ".join(info.split()))
    line = ": ".join(dict.fromkeys([*reasons[:1], *reasons[-1:]])) or "no reason given"
    return line if len(line) <= _LONGEST_DETAIL else line[:_LONGEST_DETAIL] + "…"


def _too_late(name: str, seconds: float | None) -> BackendError:
    within = "" if seconds is None else f" within {seconds:g} s"
    return BackendError(
        f"the collection {name!r} did not answer{within}; raise timeout, or look at the load of the server",
        code="backend_timeout",
    )


def partial_results(name: str, shards: str) -> BackendError:
    """Return the error for shards that did not answer."""
    return BackendError(_PARTIAL.format(shards=shards, name=name), code="partial_results")


class _KnownProblem(NamedTuple):
    """What a server says, and the error that it means here; its message may name url, name and reason."""

    said: re.Pattern[str]
    code: str
    message: str
    kind: type[HedgerowError] = BackendError

    def error(self, url: str, name: str, reason: str) -> HedgerowError:
        """Return the error for a collection."""
        message = self.message.format(url=url, name=name, reason=reason, shards="some")
        return self.kind(message, code=self.code)


_KNOWN = (
    _KnownProblem(
        re.compile("index_not_found"),
        "collection_missing",
        "{url} has no collection {name!r}; create it first",
    ),
    _KnownProblem(
        re.compile("resource_already_exists"),
        "collection_exists",
        "{url} has {name!r} already; open it, or give another name",
    ),
    _KnownProblem(
        re.compile("invalid_(index|alias)_name"),
        "invalid_option",
        "{name!r} cannot be the name of a collection ({reason})",
        InvalidInputError,
    ),
    _KnownProblem(
        re.compile("maxClauseCount|expanded to too many terms|too_many_(nested_)?clauses"),
        "unsupported_by_backend",
        "the query has more words, or a prefix that begins more of them, than {url} looks through "
        "(1,024 unless set otherwise); write more letters or fewer words, or raise the server's "
        "indices.query.bool.max_clause_count",
        InvalidInputError,
    ),
    _KnownProblem(
        re.compile(
            "max_determinized_states|[Tt]oo[ _]?[Cc]omplex|automaton is too large|max_regex_length"
        ),
        "unsupported_by_backend",
        "a pattern of the filter is too complex for {url}; use fewer wildcards",
        InvalidInputError,
    ),
    _KnownProblem(
        re.compile("missing shards|Partial shards|no_shard_available"),
        "partial_results",
        _PARTIAL,
    ),
    _KnownProblem(
        re.compile(
            "node_(disconnected|not_connected|closed)_exception|connect_transport_exception"
        ),
        "backend_unavailable",
        "{url} lost a node while it answered ({reason}); try again later",
    ),
)
