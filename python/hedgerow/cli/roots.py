"""Shared parts of the commands of memory roots: options, the choice of the root, and input."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hedgerow import HedgerowError, InvalidInputError

from .output import echo, has_terminal, visible
from .params import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.memory import MemoryRoot

    F = TypeVar("F", bound=Callable[..., Any])

TYPES = ("note", "session", "finding", "decision", "preference", "page")
"""The types of memories that are written."""

_TOLD = "hedgerow.told"
_TRUST = "hedgerow.trust"
_SCOPE = "hedgerow.scope"
_SHARED = "hedgerow.shared"

NO_ROOT = (
    "Missing option '--db' or '--root': there is no memory root here or in a folder above. Name "
    "one with --root DIR or HEDGEROW_MEMORY_ROOT, make one with: hedgerow init --root DIR, or "
    "name an index file with --db FILE or HEDGEROW_DB."
)
NO_ROOT_FOR_MEMORY = (
    "Missing option '--root': there is no memory root here or in a folder above. Name one with "
    "--root DIR or HEDGEROW_MEMORY_ROOT, or make one with: hedgerow init --root DIR"
)


def root_option(command: F) -> F:
    """Add `--root` with what belongs to it, and `--trust`, which `open_root` heeds."""
    trust = click.option(
        "--trust",
        is_flag=True,
        expose_value=False,
        callback=_keep_trust,
        help="Allow what the root asks for, this time; see `hedgerow trust`.",
    )
    return trust(place_options(command))


def scope_option(command: F) -> F:
    """Add `--scope` and `--shared`, which `open_root` heeds."""
    command = click.option(
        "--shared",
        is_flag=True,
        expose_value=False,
        callback=_keep_shared,
        help="With --scope, also see memories without a scope; by default they are not seen.",
    )(command)
    return click.option(
        "--scope",
        metavar="KEY=ID",
        type=TEXT,
        multiple=True,
        expose_value=False,
        callback=_keep_scope,
        help="Only the memories of a user, agent or session, as in user=ana; may be repeated.",
    )(command)


def place_options(command: F) -> F:
    """Add `--root`, of which the first counts, and the options of targets that are not yet."""
    for name in ("--remote-url", "--target-url"):
        command = click.option(name, hidden=True, type=TEXT)(command)
    return click.option(
        "--root",
        metavar="DIR",
        type=TEXT,
        multiple=True,
        help="The memory root.  [default: HEDGEROW_MEMORY_ROOT, else the nearest upward]",
    )(command)


def json_option(command: F) -> F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")(
        command
    )


def limit_option(default: int) -> Callable[[F], F]:
    """Add `--limit`; without a value it means its default."""
    return click.option(
        "--limit",
        "--top-k",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help="The most results to show.",
    )


def depth_option(command: F) -> F:
    """Add `--depth` and `--no-sync`."""
    depth = click.option(
        "--depth",
        type=click.Choice(["shallow", "normal", "deep"]),
        default="normal",
        show_default=True,
        help="shallow prefers pages and decisions, deep lets sessions come up.",
    )
    return depth(no_sync_option(command))


def no_sync_option(command: F) -> F:
    """Add `--no-sync`."""
    return click.option(
        "--no-sync", is_flag=True, help="Read the index as it stands, without looking at files."
    )(command)


def tag_option(command: F) -> F:
    """Add `--tag`, which may be repeated."""
    return click.option(
        "--tag", "tags", metavar="TAG", type=TEXT, multiple=True, help="May be repeated."
    )(command)


def refuse_remote(target_url: str | None, remote_url: str | None) -> None:
    """Raise the error of flags that another tool has and that have no meaning here yet."""
    for flag, url in (("--target-url", target_url), ("--remote-url", remote_url)):
        if url is not None:
            raise HedgerowError(
                f"{flag} {url}: this flag is recognized but not implemented yet; name a server "
                "with --target URL, or a folder on this machine with --root DIR",
                code="not_implemented",
            )


def _keep_trust(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.meta[_TRUST] = given


def _keep_scope(context: click.Context, _: click.Parameter, given: tuple[str, ...]) -> None:
    pairs = [one.partition("=") for one in given]
    if not all(sign for _, sign, _ in pairs):
        raise click.UsageError("--scope is KEY=ID, as in --scope user=ana.")
    if len({key.strip() for key, _, _ in pairs}) < len(pairs):
        raise click.UsageError("--scope names a user, an agent or a session once.")
    context.meta[_SCOPE] = {key.strip(): value for key, _, value in pairs} or None


def _keep_shared(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.meta[_SHARED] = given


def is_shared() -> bool:
    """Whether `--shared` was given."""
    return bool(click.get_current_context().meta.get(_SHARED, False))


def scope() -> dict[str, str] | None:
    """Return the scope that `--scope` gave; None without it."""
    found: dict[str, str] | None = click.get_current_context().meta.get(_SCOPE)
    return found


def is_trusted() -> bool | None:
    """Return True with `--trust`, else None: it is left to what the user allowed."""
    return click.get_current_context().meta.get(_TRUST) or None


def find_root(given: Sequence[str], missing: str = NO_ROOT_FOR_MEMORY) -> Path:
    """Return the root: the named one, that of the environment, or the nearest upward.

    A root that is passed by is named on stderr, or in the error when there is no other.
    """
    found, passed = locate_root(given)
    if found is None:
        raise click.UsageError(" ".join([missing, *passed]))
    told = click.get_current_context().meta.setdefault(_TOLD, set())
    for sentence in passed:
        if sentence not in told:
            told.add(sentence)
            echo(sentence, err=True)
    return found


def locate_root(given: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Return the root, if any, and a sentence for each that is passed by."""
    from hedgerow.memory.config import root_from_environment  # noqa: PLC0415
    from hedgerow.memory.nearest import nearest_root  # noqa: PLC0415

    named = named_root(given) or root_from_environment()
    if named is not None:
        return named, []
    found = nearest_root(Path.cwd())
    return found.root, [
        visible(f"Note: {one}; to use it: --root {shlex.quote(str(one.path))}")
        for one in found.passed
    ]


def named_root(given: Sequence[str]) -> Path | None:
    """Return the first `--root`; a blank one is an error."""
    if not given:
        return None
    if not given[0].strip():
        raise click.UsageError("--root must not be empty; give a folder.")
    return Path(given[0].strip())


def open_root(
    given: Sequence[str],
    target_url: str | None,
    remote_url: str | None,
    missing: str = NO_ROOT_FOR_MEMORY,
    *,
    watch: bool = False,
) -> MemoryRoot:
    """Open the root that is meant; it is closed when the command is done.

    Commands that live long `watch` its files.
    """
    refuse_remote(target_url, remote_url)
    path = find_root(given, missing)
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import

    try:
        memory = MemoryRoot.open(
            path,
            trust=is_trusted(),
            notify=_tell,
            scope=scope(),
            shared=is_shared(),
            watch=watch,
        )
    except InvalidInputError as error:
        if error.code != "invalid_option":
            raise
        raise click.UsageError(f"{error.message}.") from error
    click.get_current_context().call_on_close(memory.close)
    return memory


def _tell(notice: str) -> None:
    echo(visible(notice), err=True)


def required_title(title: str | None) -> str:
    """Return the title; an empty one counts as none."""
    if not title:
        raise click.UsageError("Missing option '--title': give the memory a title.")
    return title


def read_stdin() -> str:
    """Read all of standard input as UTF-8; empty if it is closed."""
    if sys.stdin is None:
        return ""
    if has_terminal():
        echo("Type the text, then Ctrl-D on a line of its own.", err=True)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"standard input is not UTF-8 (byte {error.start}); convert it",
            code="invalid_note",
        ) from error
