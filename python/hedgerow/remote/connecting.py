"""`connect`: from an address to the methods of what is served there."""

from __future__ import annotations

import os
from typing import Any, Literal, overload

from hedgerow._adapters.connection import ApiKey
from hedgerow._dual import run
from hedgerow._extras import imports_of
from hedgerow.errors import BackendError, InvalidInputError

from .clients import RemoteRetriever, RemoteRoot

TOKEN = "HEDGEROW_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token, where none is passed."""


class Token(ApiKey):
    """The token of a server."""

    __slots__ = ()

    argument = "token"
    when_lost = f"connect again, or set {TOKEN} instead of passing token"


_KINDS = {"root": "a root", "index": "an index"}


@overload
def connect(
    url: str,
    *,
    kind: Literal["root"],
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRoot: ...
@overload
def connect(
    url: str,
    *,
    kind: Literal["index"],
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRetriever: ...
@overload
def connect(
    url: str,
    *,
    kind: None = None,
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRoot | RemoteRetriever: ...
def connect(  # noqa: PLR0913 - each has its default
    url: str,
    *,
    kind: Literal["root", "index"] | None = None,
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRoot | RemoteRetriever:
    """Use the root or the index that `hedgerow serve` answers for (spec/service.md, "From Python").

    Returns an object with the methods of `MemoryRoot`, or of `Retriever` for an index. `kind` says
    which it must be, for type checkers too. `token` is one of the server's; without it that of the
    environment variable HEDGEROW_TOKEN is sent. `timeout` is that of each request, in seconds. `ca`
    is a file with the authority that signed the server's certificate, where the system does not know
    it. `insecure_http` allows http to another machine, over which others can read the token.

    Raises BackendError where no server answers (`backend_unavailable`), where it refuses the token
    (`unauthorized`), or where it serves something else; InvalidInputError for an address that cannot
    be used; MissingExtraError without the extra.
    """
    with imports_of("remote", needed_by="hedgerow.connect"):
        from ._client import Client  # noqa: PLC0415 - needs an extra
    if kind not in (None, *_KINDS):
        raise InvalidInputError(
            f'kind must be "root", "index" or None, not {kind!r}', code="invalid_option"
        )
    client = Client(
        url,
        key=Token(token, TOKEN if token is None and os.environ.get(TOKEN) else None),
        timeout=timeout,
        ca=ca,
        insecure_http=insecure_http,
    )
    try:
        about = run(client.request("GET", "v1/about", read=dict))
        found = _kind_of(about, kind, client.url)
    except BaseException:
        client.close()
        raise
    kind_of_client = RemoteRoot if found == "root" else RemoteRetriever
    return kind_of_client(client, str(about["name"]))


def _kind_of(about: dict[str, Any], wanted: str | None, url: str) -> str:
    """Return `root` or `index`, the kind that the server has. Raises BackendError if the caller wants the other."""
    found = about.get("kind")
    if found not in _KINDS or "name" not in about:
        raise BackendError(
            f"what answers at {url} is no server of hedgerow; check the address", code="bad_answer"
        )
    if wanted is not None and found != wanted:
        raise BackendError(
            f"{url} serves {_KINDS[found]}, not {_KINDS[wanted]}; connect to another server",
            code="bad_answer",
        )
    return str(found)
