"""Commands and options of another tool's contract, which call the same operations as our own.

They keep their names, options, JSON and exit codes (spec/memory.md), and are not in the main help:
`status`, `instructions`, `process`, `run memory:NAME` and `search` of a root.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from hedgerow.memory.operations import ProcessRequest

from .failures import UnfinishedError
from .maintenance import run_process
from .options import Command, json_option, request_options
from .output import echo, visible, wrote_json
from .place import NO_ROOT, open_memory, place_options
from .recall import RECIPE, answer, recall_mode, syncing

RECIPES = ("status", "index", "search", "recall", "process", "remember", "wrapup")
"""The commands that `run` has under their names with `memory:` before them."""


@click.command("status", cls=Command)
@place_options(scope=False)
@json_option
def status() -> None:
    """Show which memory root is used, and whether this version of hedgerow supports it.

    \b
      hedgerow status
      hedgerow status --root memory --json
    """
    found = open_memory(several=False).status()
    if wrote_json(found):
        return
    echo(f"Memory root: {visible(found.root)}")
    echo(f"Initialized: {'yes' if found.initialized else 'no'}")
    if found.config_file:
        echo(f"Config: {found.config_file} (schema v{visible(str(found.schema_version))})")
    echo(f"Compatible: {'yes' if found.compatible else 'no'}")
    echo(visible(found.message))
    if not found.initialized:
        echo(visible(f"To set it up: hedgerow init --root {shlex.quote(found.root)}"))
    for request in found.not_allowed:
        echo(visible(request.notice))


@click.command("instructions", cls=Command)
def instructions() -> None:
    """Print instructions for agents on using a memory root; add them to their rules.

    \b
      hedgerow instructions
      hedgerow instructions >> AGENTS.md
    """
    from hedgerow.memory.instructions import INSTRUCTIONS  # noqa: PLC0415

    echo(INSTRUCTIONS, nl=False)


@click.command("process", cls=Command)
@request_options(
    ProcessRequest, "mode", "apply", "topic", "since", "limit", "above", mode={"required": True}
)
@place_options()
@json_option
def process(*, apply: bool, **options: Any) -> None:
    """Process the memories of a root, as `lint`, `dedupe` and `synthesize` do.

    \b
      hedgerow process --mode lint --apply
      hedgerow process --mode synthesize --topic "hedge" --apply

    Without --apply it shows what it would do, and exits with 2.
    """
    run_process(apply=apply, **options)
    if not apply:
        raise UnfinishedError("Nothing was written: this is what would be. To do it, add --apply.")


class _Recipes(click.Group):
    """The commands under their names with `memory:` before them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [f"{RECIPE}{name}" for name in RECIPES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "memory:note":
            raise click.UsageError("memory:note was renamed: use memory:remember.", ctx)
        name = cmd_name.removeprefix(RECIPE)
        if name == cmd_name or name not in RECIPES:
            known = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"Unknown recipe {cmd_name!r}; the recipes are {known}.", ctx)
        from . import load  # noqa: PLC0415 - imports this module

        return load(name)


@click.group("run", cls=_Recipes)
def run() -> None:
    """Run a command of a memory root under its name with `memory:` before it.

    \b
      hedgerow run memory:recall --topic "slug control"
      hedgerow run memory:status --json
    """


def search_root(  # noqa: PLR0913 - the options of a search
    context: click.Context,
    *,
    text: str,
    limit: int,
    depth: Any,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    sync: bool,
    explain: bool,
    report: str | None,
) -> None:
    """Search a memory root, as `recall` does, but without heading and with fewer filters."""
    memory = open_memory(NO_ROOT, several=False)
    asked = datetime.now().astimezone()
    found = memory.recall(
        text,
        limit=limit,
        depth=depth,
        types=types,
        tags=tags,
        question_date=asked,
        explain=True,
        **syncing(memory, sync=sync),
    )
    found = replace(found, mode=recall_mode(context, "search"))
    answer(memory, found, explain=explain, report=report, sync=sync)
