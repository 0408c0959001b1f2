"""The `hedgerow` command. One file for each command; `main` is the console entry point.

Commands are imported when they are called, and what is slow to import where it is used, so
that `hedgerow` starts fast. Nothing outside this folder imports it.
"""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from hedgerow import __version__

from .failures import run_group
from .output import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cli", "main"]

_GROUPS = {
    "Memory": {
        "init": ("memory_setup", "init"),
        "status": ("memory_setup", "status"),
        "remember": ("memory_write", "remember"),
        "recall": ("memory_recall", "recall"),
        "list": ("memory_texts", "list_"),
        "show": ("chunks", "show"),
        "edit": ("memory_texts", "edit"),
        "rename": ("memory_texts", "rename"),
        "supersede": ("memory_marks", "supersede"),
        "retract": ("memory_marks", "retract"),
        "restore": ("memory_marks", "restore"),
        "forget": ("memory_marks", "forget"),
        "wrapup": ("memory_write", "wrapup"),
        "process": ("memory_write", "process"),
        "import": ("memory_import", "import_"),
        "trust": ("trust", "command"),
        "doctor": ("memory_setup", "doctor"),
    },
    "Graph": {
        "query": ("query", "command"),
        "link": ("link", "link"),
        "visit": ("link", "visit"),
        "graph": ("graph", "command"),
    },
    "Index files": {
        "index": ("index", "command"),
        "search": ("search", "command"),
        "reembed": ("reembed", "command"),
        "stats": ("files", "stats"),
        "check": ("files", "check"),
        "backup": ("files", "backup"),
        "delete": ("chunks", "delete"),
        "cluster": ("cluster", "cluster"),
    },
    "Agents and services": {
        "mcp": ("mcp", "command"),
        "serve": ("serve", "command"),
        "agents": ("agents", "agents"),
        "instructions": ("memory_setup", "instructions"),
        "run": ("", "run"),  # below
    },
    "Tools": {
        "eval": ("eval", "command"),
        "parse": ("language", "parse"),
        "compile": ("language", "compile_"),
    },
}
"""The commands as `--help` groups them, each with its module and its attribute there."""

_COMMANDS = {name: place for group in _GROUPS.values() for name, place in group.items()}

_OTHER_NAMES = {
    "add": "remember",
    "agent-hint": "instructions",
    "ask": "recall",
    "cat": "show",
    "find": "search",
    "ls": "list",
    "mv": "rename",
    "rm": "forget",
    "save": "remember",
}
"""What people type first, and other tools have."""

_HELP = """\
Memory as Markdown files in a folder, and search in notes with a small query language.

\b
  hedgerow init --root memory
  hedgerow remember "No pellets: they harm the hedgehogs." --type decision
  hedgerow recall "what do we do about slugs?"
  hedgerow query 'all | type:decision | age:<30d | sort:priority'

\b
  hedgerow index notes --db notes.db
  hedgerow search "winter feeding" --db notes.db
  hedgerow stats --db notes.db

--root DIR names a memory root, --db FILE an index file; HEDGEROW_DB is the default of --db.
Without either, hedgerow uses the root that HEDGEROW_MEMORY_ROOT names, or else the nearest memory
root from the current folder upward: a folder that has hedgerow.json, or whose `memory` folder has
it. Whatever a root asks for beyond itself needs `hedgerow trust`.

In a query, plain words are alternatives, "a phrase" matches as a whole, hedg* is a prefix,
and AND, OR and NOT in capitals are operators. `hedgerow COMMAND --help` describes each
command. Exit codes: 0 done (also when nothing was found), 1 failed, 2 wrong usage, 130
interrupted.
"""


class _LazyGroup(click.Group):
    """A group whose commands are in modules of this package, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in {"help", "version"}:
            return click.Command(cmd_name, callback=lambda: _show(ctx, cmd_name))
        if cmd_name == "note":
            raise click.UsageError("note was renamed: use remember.", ctx)
        name = _OTHER_NAMES.get(cmd_name, cmd_name)
        if name == "run":
            return run
        return _load(name) if name in _COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one names the nearest."""
        if args[0] == "help" and len(args) > 1 and not args[1].startswith("-"):
            args = [*args[1:], "--help"]
        name = args[0]
        near = get_close_matches(name, [*_COMMANDS, *_OTHER_NAMES], 1)
        if near and not name.startswith("-") and self.get_command(ctx, name) is None:
            meant = _OTHER_NAMES.get(near[0], near[0])
            raise click.UsageError(f"No such command {name!r}; did you mean {meant!r}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by their groups."""
        widest = max(map(len, _COMMANDS))
        limit = formatter.width - 6 - widest
        for title, names in _GROUPS.items():
            with formatter.section(title):
                rows = []
                for name in names:
                    command = self.get_command(ctx, name)
                    if command is not None:
                        rows.append((name.ljust(widest), command.get_short_help_str(limit)))
                formatter.write_dl(rows)

    def main(  # type: ignore[override]  # overloads, which this needs none of
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; the exit code and every error are those of `failures`."""
        if standalone_mode:
            run_group(self, args, prog_name)
        return super().main(args, prog_name, standalone_mode=False, **extra)


def _load(name: str) -> click.Command:
    """Import one command."""
    module, attribute = _COMMANDS[name]
    command: click.Command = getattr(importlib.import_module(f"hedgerow.cli.{module}"), attribute)
    return command


def _show(context: click.Context, what: str) -> None:
    echo(context.get_help() if what == "help" else __version__)


_RECIPES = ("status", "index", "search", "recall", "process", "remember", "wrapup")
_PREFIX = "memory:"


class _Recipes(click.Group):
    """The commands under their names with `memory:` before them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [f"{_PREFIX}{name}" for name in _RECIPES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "memory:note":
            raise click.UsageError("memory:note was renamed: use memory:remember.", ctx)
        name = cmd_name.removeprefix(_PREFIX)
        if name == cmd_name or name not in _RECIPES:
            known = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"Unknown recipe {cmd_name!r}; the recipes are {known}.", ctx)
        return _load(name)


@click.group("run", cls=_Recipes, short_help="The same commands as recipes for agents.")
def run() -> None:
    """Run a command of a memory root under its name with `memory:` before it.

    \b
      hedgerow run memory:recall --topic "slug control"
      hedgerow run memory:status --json
    """


@click.group(
    "hedgerow",
    cls=_LazyGroup,
    invoke_without_command=True,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "-v", "--v", "--version", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Show the help when no command is given."""
    if context.invoked_subcommand is None:
        echo(context.get_help())


def main() -> None:
    """Run `hedgerow` with the arguments of the process."""
    cli()
