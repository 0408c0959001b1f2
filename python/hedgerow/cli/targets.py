"""`--target URL`, and `"remote"` in hedgerow.json: commands of a root that go to a server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from hedgerow import HedgerowError

from .params import TEXT
from .roots import NO_ROOT_FOR_MEMORY, find_root, is_trusted, open_root, refuse_remote, scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hedgerow import MemoryRoot
    from hedgerow.remote import RemoteRoot

    F = TypeVar("F", bound=Callable[..., Any])

_TARGET = "hedgerow.target"
_VARIABLE = "HEDGEROW_TOKEN"
_THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}


def target_option(command: F) -> F:
    """Add `--target`, which `open_memory` heeds."""
    return click.option(
        "--target",
        metavar="URL",
        type=TEXT,
        expose_value=False,
        callback=_keep,
        help="A server in place of --root; see `hedgerow serve`.",
    )(command)


def is_target() -> bool:
    """Whether `--target` was given."""
    return click.get_current_context().meta.get(_TARGET) is not None


def _keep(context: click.Context, _: click.Parameter, given: str | None) -> None:
    if given is not None and not given.strip():
        raise click.UsageError("--target must not be empty; give the URL of a server.")
    context.meta[_TARGET] = given


def open_memory(
    root: Sequence[str],
    target_url: str | None,
    remote_url: str | None,
    missing: str = NO_ROOT_FOR_MEMORY,
    *,
    writes: bool = False,
) -> MemoryRoot | RemoteRoot:
    """Open the root that is meant, or connect to its server; closed when the command is done."""
    found = open_server(root, target_url, remote_url, missing, writes=writes)
    return open_root(root, target_url, remote_url, missing) if found is None else found


def open_server(
    root: Sequence[str],
    target_url: str | None,
    remote_url: str | None,
    missing: str = NO_ROOT_FOR_MEMORY,
    *,
    writes: bool = False,
) -> RemoteRoot | None:
    """Connect to the server that `--target` or the root names; None where a folder is meant."""
    refuse_remote(target_url, remote_url)
    target = click.get_current_context().meta.get(_TARGET)
    if target is None:
        url = _of_root(find_root(root, missing))
    elif root:
        raise click.UsageError("--root and --target exclude each other: a folder, or a server.")
    else:
        url = target.strip()
    if url is None:
        return None
    refuse_without_files("--scope", given=scope() is not None)
    return _connected(url, writes=writes)


def refuse_without_files(option: str, *, given: bool) -> None:
    """Refuse an option that only a folder on this machine has."""
    if given:
        raise click.UsageError(f"{option} goes with a folder on this machine, not with a server.")


def _of_root(path: Path) -> str | None:
    """The server that a root names, if its user allowed it."""
    from hedgerow.memory.choices import Choices  # noqa: PLC0415 - slow to import
    from hedgerow.memory.config import read_config  # noqa: PLC0415

    config = read_config(path, Choices(is_trusted()))
    return config.remote


def _connected(url: str, *, writes: bool) -> RemoteRoot:
    from hedgerow.remote import connect  # noqa: PLC0415 - of servers alone

    connected = connect(url, kind="root", token=_token(url, writes=writes))
    click.get_current_context().call_on_close(connected.close)
    return connected


def _token(url: str, *, writes: bool) -> str | None:
    """The token of the variable; for a server on this machine that of its user's own servers."""
    given = os.environ.get(_VARIABLE, "").strip()
    if given:
        return given
    try:
        parts = urlsplit(url)
    except ValueError:
        return None  # Anything that is not an address is refused as such.
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return None
    if parts.hostname in _THIS_MACHINE:
        from hedgerow.memory.user_folder import user_folder  # noqa: PLC0415 - slow to import

        file = user_folder() / "tokens" / ("write" if writes else "read")
        if file.is_file():
            return file.read_text(encoding="utf-8").strip()
    raise HedgerowError(
        f"{url} asks for a token; set the environment variable {_VARIABLE} to one of that server's",
        code="missing_api_key",
    )
