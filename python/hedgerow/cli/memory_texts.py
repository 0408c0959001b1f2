"""`hedgerow list`, `edit`, and `show` where it is about a memory root."""

from __future__ import annotations

import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hedgerow import HedgerowError

from .output import echo, has_terminal, plural, visible, write_json
from .params import TEXT, Command
from .roots import (
    NO_ROOT,
    json_option,
    limit_option,
    open_root,
    read_stdin,
    root_option,
    scope_option,
)
from .targets import open_memory, target_option

if TYPE_CHECKING:
    from hedgerow import MemoryRoot
    from hedgerow.memory import Memory
    from hedgerow.remote import RemoteRoot


@click.command("list", cls=Command, short_help="List memories, the last changed first.")
@click.option("--type", "kind", metavar="TYPE", type=TEXT, help="Only of this type.")
@click.option("--superseded", is_flag=True, help="Only those that another one took the place of.")
@limit_option(20)
@root_option
@scope_option
@target_option
@json_option
def list_(  # noqa: PLR0913 - one argument for each option
    *,
    kind: str | None,
    superseded: bool,
    limit: int,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """List the memories of a root, most recently changed first.

    \b
      hedgerow list
      hedgerow list --type decision --limit 100
      hedgerow list --superseded
    """
    memory = open_memory(root, target_url, remote_url)
    found = memory.memories(type=kind, limit=limit, superseded=superseded)
    if as_json:
        write_json(found.to_dict())
        return
    for one in found.memories:
        day = datetime.fromtimestamp(one.timestamp, timezone.utc).strftime("%Y-%m-%d")
        echo(visible(f"{day}  {one.type:<10}  {one.file}"))
    more = found.count - len(found.memories)
    if more:
        echo(f"{plural(more, 'more memory', 'more memories')}; --limit shows them.", err=True)
    elif not found.count:
        echo("No memories.")


def show_memory(
    key: str,
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Show a memory as `show` without an index file does."""
    memory = open_memory(root, target_url, remote_url, NO_ROOT)
    found = memory.read(key)
    if as_json:
        write_json(found.to_dict())
        return
    echo(visible(found.file), err=True)
    echo(found.text.rstrip("\n"))


@click.command("edit", cls=Command, short_help="Edit a memory.")
@click.argument("key", type=TEXT)
@click.argument("text", type=TEXT, required=False)
@click.option(
    "--expect", metavar="DIGEST", type=TEXT, help="The digest of the text that this one replaces."
)
@root_option
@scope_option
@target_option
@json_option
def edit(  # noqa: PLR0913 - one argument for each option
    *,
    key: str,
    text: str | None,
    expect: str | None,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Edit the memory KEY, a path, a file name or a title, in $EDITOR.

    \b
      hedgerow edit decisions/2025-02-no-pellets.md
      hedgerow edit "Hedge plan" --expect 9f86d081... < plan.md

    With --expect, TEXT or standard input is the whole new file, and it is written only if the
    memory still has the digest that `hedgerow show KEY --json` printed.
    """
    if text is not None and expect is None:
        raise click.UsageError(
            "Pass --expect DIGEST with a text: `hedgerow show KEY --json` tells the digest."
        )
    memory = open_memory(root, target_url, remote_url, writes=True)
    found = memory.read(key)
    if expect is None:
        new = _edited(found.text, found.file)
        if new is None:
            echo("Nothing was changed.")
            return
    else:
        new = read_stdin() if text is None else text
    done = _written(memory, found, new, expect)
    if as_json:
        write_json(done.to_dict())
    else:
        echo(f"Changed: {visible(done.file)}")


@click.command("rename", cls=Command, short_help="Rename a memory, and repair links to it.")
@click.argument("key", type=TEXT)
@click.argument("new", type=TEXT)
@root_option
@scope_option
@json_option
def rename(  # noqa: PLR0913 - one argument for each option
    *,
    key: str,
    new: str,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Give the memory KEY another path, and change the links to it in all files.

    \b
      hedgerow rename "Hedge plan" hedge-2026
      hedgerow rename notes/hedge.md decisions/hedge.md

    KEY is a path, a file name or a title; NEW a path, or a name in the same folder.
    """
    done = open_root(root, target_url, remote_url).rename(key, new)
    if as_json:
        write_json(done.to_dict())
        return
    echo(f"Renamed: {visible(done.file)} to {visible(done.to)}")
    for file in done.changed:
        echo(f"Changed: {visible(file)}")
    for skip in done.by_hand:
        echo(f"To be changed by hand: {visible(str(skip))}", err=True)


def _edited(text: str, file: str) -> str | None:
    """Have a text edited; None where it stays as it is."""
    if not has_terminal():
        raise click.UsageError(
            f"There is no terminal to edit {file} in: pass --expect DIGEST with the new text."
        )
    new = click.edit(text, extension=".md")
    return None if new is None or new == text else new


def _written(
    memory: MemoryRoot | RemoteRoot, found: Memory, new: str, expect: str | None
) -> Memory:
    """Write a text in place of the one with a digest, by default of the one that was found.

    A text that was typed here and cannot be written is kept in a file that the error names.
    """
    try:
        return memory.edit(found.file, new, expect or found.digest)
    except HedgerowError as error:
        if expect is not None:
            raise
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", suffix=".md", prefix="hedgerow-", delete=False, newline=""
        ) as kept:
            kept.write(new)
        name = Path(kept.name)
        raise HedgerowError(f"{error.message}. Your text is in {name}", code=error.code) from error
