"""`hedgerow import`: memories of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .failures import UnfinishedError
from .output import echo, plural, progress_bar, visible, write_json
from .params import TEXT, Command
from .roots import json_option, open_root, root_option

if TYPE_CHECKING:
    from hedgerow.memory import Imported

FORMATS = ("obsidian", "basic-memory", "mem0", "chatgpt", "claude", "jsonl")

_SHOWN = 20
_SAID = {
    "new": ("New", "New"),
    "changed": ("Would be written anew", "Written anew"),
    "edited": ("Left, edited here", "Left, edited here"),
    "taken": ("Left, the name is taken", "Left, the name is taken"),
}


@click.command("import", cls=Command, short_help="Import memories from another tool.")
@click.argument("format", type=click.Choice(FORMATS))
@click.argument("source", type=TEXT)
@click.option("--apply", is_flag=True, help="Do it; without, only what would be done is shown.")
@root_option
@json_option
def import_(  # noqa: PLR0913 - one argument for each option
    *,
    format: str,  # noqa: A002 - what it is called in the help
    source: str,
    apply: bool,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Read memories from SOURCE, a file or folder of another tool, and write each as a file.

    \b
      hedgerow import obsidian ~/vault
      hedgerow import chatgpt export.zip --apply
      hedgerow import mem0 memories.json --root memory --apply

    obsidian and basic-memory read a folder of Markdown, chatgpt and claude the archive of an export or
    its conversations.json, mem0 what its get_all returns, jsonl an object with text on each line.
    Importing again updates what changed at the source and keeps what you edited here.
    """
    memory = open_root(root, target_url, remote_url)
    with progress_bar("Importing") as progress:
        done = memory.import_from(source, format, apply=apply, progress=progress)
    if as_json:
        write_json(done.to_dict())
    else:
        _show(done)
    if not apply and done.counts.keys() & {"new", "changed"}:
        raise UnfinishedError("Nothing was written: this is what would be. To do it, add --apply.")


def _show(done: Imported) -> None:
    for skip in done.unreadable[:_SHOWN]:
        echo(f"Not imported: {visible(str(skip))}", err=True)
    if len(done.unreadable) > _SHOWN:
        more = len(done.unreadable) - _SHOWN
        echo(f"Not imported: {more:,} more (--json has all)", err=True)
    for action, said in _SAID.items():
        files = [one.file for one in done.memories if one.action == action]
        for file in files[:_SHOWN]:
            echo(f"{said[done.applied]}: {visible(file)}")
        if len(files) > _SHOWN:
            echo(f"{said[done.applied]}: {len(files) - _SHOWN:,} more (--json has all)")
    for file in done.gone[:_SHOWN]:
        echo(f"No longer in the export, kept: {visible(file)}")
    if len(done.gone) > _SHOWN:
        echo(f"No longer in the export, kept: {len(done.gone) - _SHOWN:,} more (--json has all)")
    counts = ", ".join(f"{count:,} {action}" for action, count in done.counts.items())
    echo(f"{plural(len(done.memories), 'memory', 'memories')}: {counts or 'none'}.")
