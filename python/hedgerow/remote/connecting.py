"""`connect`: from a path or a URL to the methods of the root or the index there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, overload

from hedgerow._adapters.connection import ApiKey
from hedgerow._checks import checked_path, shown
from hedgerow._dual import run
from hedgerow._extras import imports_of
from hedgerow.errors import BackendError, InvalidInputError
from hedgerow.memory import MemoryRoot
from hedgerow.retriever import Retriever

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
    target: str | os.PathLike[str],
    *,
    kind: Literal["root"],
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRoot | MemoryRoot: ...
@overload
def connect(
    target: str | os.PathLike[str],
    *,
    kind: Literal["index"],
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRetriever | Retriever: ...
@overload
def connect(
    target: str | os.PathLike[str],
    *,
    kind: None = None,
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRoot | RemoteRetriever | MemoryRoot | Retriever: ...
def connect(  # noqa: PLR0913 - each has its default
    target: str | os.PathLike[str],
    *,
    kind: Literal["root", "index"] | None = None,
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRoot | RemoteRetriever | MemoryRoot | Retriever:
    """Open the root or the index at a path, or the one of `hedgerow serve` at a URL.

    Returns an object with the methods of `MemoryRoot`, or of `Retriever` for an index: at a path one of these
    itself, which a folder and a file decide, and at a URL their client (spec/service.md, "From Python"). `kind`
    says which it must be, for type checkers too. The other options are for a URL alone. `token` is one of the
    server's; without it that of the environment variable HEDGEROW_TOKEN is sent. `timeout` is that of each
    request, in seconds. `ca` is a file with the authority that signed the server's certificate, where the system
    does not know it. `insecure_http` allows http to another machine, over which others can read the token.

    Raises BackendError where no server answers (`backend_unavailable`), where it refuses the token
    (`unauthorized`), or where it serves something else; InvalidInputError for an address that cannot
    be used, or a path where there is something else; MissingExtraError without the extra, for a URL.
    """
    if kind not in (None, *_KINDS):
        raise InvalidInputError(
            f'kind must be "root", "index" or None, not {kind!r}', code="invalid_option"
        )
    if not (isinstance(target, str) and "://" in target):
        path = checked_path(target, "target", code="path_not_found")
        # Without its scheme an address is a path that is not there.
        if not path.exists():
            raise InvalidInputError(
                f"there is no folder or file {shown(str(path))}; a URL begins with http:// or https://",
                code="path_not_found",
            )
        of_servers = {"token": token, "ca": ca, "insecure_http": insecure_http or None}
        if given := [name for name, value in of_servers.items() if value is not None]:
            raise InvalidInputError(
                f"{given[0]} is for the URL of a server, and {shown(str(path))} is a path; leave it out",
                code="incompatible_options",
            )
        return _at_path(path, kind)
    return connect_to_server(
        target, kind, token=token, timeout=timeout, ca=ca, insecure_http=insecure_http
    )


def connect_to_server(  # noqa: PLR0913 - those of `connect`
    url: str,
    kind: Literal["root", "index"] | None,
    *,
    token: str | None = None,
    timeout: float = 30.0,
    ca: str | os.PathLike[str] | None = None,
    insecure_http: bool = False,
) -> RemoteRoot | RemoteRetriever:
    """Do what `connect` does with a URL."""
    with imports_of("remote", needed_by="hedgerow.connect"):
        from ._client import Client  # noqa: PLC0415 - needs an extra
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


def _at_path(path: Path, wanted: str | None) -> MemoryRoot | Retriever:
    """Open the root of a folder, or the index of a file; one of the wanted kind."""
    found = "root" if path.is_dir() else "index"
    if wanted not in (None, found):
        raise InvalidInputError(
            f"{shown(str(path))} is a {'folder' if found == 'root' else 'file'}, and no {wanted}; "
            f"give the {'file of the index' if found == 'root' else 'folder of the root'}",
            code="invalid_option",
        )
    return MemoryRoot(path) if found == "root" else Retriever(path)


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
