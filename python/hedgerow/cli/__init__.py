"""The `hedgerow` command; `main` is the console entry point.

Commands are imported when they are called, and what is slow to import where it is used, so that
`hedgerow` starts fast: the main help imports none of them. Nothing outside this folder imports it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hedgerow import __version__

from .failures import run_group
from .output import echo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["cli", "load", "main"]


class _Entry(NamedTuple):
    """A command: its module, its attribute there, and its line in the help."""

    module: str
    attribute: str
    summary: str


_MAIN = {
    "Memory": {
        "init": _Entry("maintenance", "init", "Make a folder a memory root."),
        "remember": _Entry("memories", "remember", "Write a text as a memory."),
        "recall": _Entry("recall", "recall", "Search a memory root."),
        "grep": _Entry("memories", "grep", "Find lines by a text or a pattern."),
        "list": _Entry("memories", "list_", "List memories, the last changed first."),
        "show": _Entry("files", "show", "Print a memory, or chunks of an index."),
        "history": _Entry("memories", "history", "Say what happened to a memory."),
        "diff": _Entry("memories", "diff", "Compare two states of a memory."),
        "edit": _Entry("memories", "edit", "Edit a memory."),
        "supersede": _Entry("memories", "supersede", "Replace a memory; both are kept."),
        "retract": _Entry("memories", "retract", "Mark a memory as no longer true."),
        "restore": _Entry("memories", "restore", "Undo supersede or retract."),
        "forget": _Entry("memories", "forget", "Delete a memory for good."),
        "rename": _Entry("memories", "rename", "Rename a memory, and repair links to it."),
        "link": _Entry("graph", "link", "Link two memories, or unlink them."),
        "import": _Entry("maintenance", "import_", "Import memories from another tool."),
        "lint": _Entry("maintenance", "lint", "Find memories that need attention."),
        "audit": _Entry("maintenance", "audit", "Find secrets, copies and contradictions."),
        "dedupe": _Entry("maintenance", "dedupe", "Find similar memories, and mark copies."),
        "synthesize": _Entry("maintenance", "synthesize", "Write a page about a topic."),
        "doctor": _Entry("maintenance", "doctor", "Check that everything works."),
        "trust": _Entry("maintenance", "trust", "Allow the requests of a memory root."),
    },
    "Index files": {
        "index": _Entry("index", "command", "Read files, or a root, into an index."),
        "search": _Entry("search", "command", "Search an index."),
        "stats": _Entry("files", "stats", "Show the counts of an index."),
        "check": _Entry("files", "check", "Look for damage in an index."),
        "backup": _Entry("files", "backup", "Copy an index into a new file."),
    },
    "Services": {
        "install": _Entry("install", "install", "Give an agent the memory."),
        "uninstall": _Entry("install", "uninstall", "Take it out of an agent again."),
        "mcp": _Entry("serve", "mcp", "Serve a memory root to agents, over stdio."),
        "serve": _Entry("serve", "serve", "Serve a root or an index over HTTP."),
    },
    "Evaluation": {
        "eval": _Entry("eval", "command", "Measure retrieval against judged queries."),
    },
}
"""The commands of the main help, by section."""

_FURTHER = {
    "Memory": {
        "wrapup": _Entry("memories", "wrapup", "Record the results of a session."),
        "query": _Entry("query", "command", "Select memories by a pipeline."),
        "graph": _Entry("graph", "graph", "Show how memories are linked, or draw it."),
        "visit": _Entry("graph", "visit", "Record that an agent visited memories."),
        "agents": _Entry("agents", "agents", "Run agents on a store."),
    },
    "Index files": {
        "chunks": _Entry("files", "chunks", "List or count chunks of an index."),
        "update": _Entry("files", "update", "Change metadata and tags of chunks."),
        "delete": _Entry("files", "delete", "Remove chunks from an index."),
        "explain": _Entry("search", "explain", "Show how a query is compiled."),
        "cluster": _Entry("cluster", "cluster", "Copy an index to an OpenSearch server."),
    },
    "Compatibility": {
        "status": _Entry("compatibility", "status", "Show the state of a memory root."),
        "process": _Entry("compatibility", "process", "As lint, dedupe and synthesize."),
        "instructions": _Entry("compatibility", "instructions", "Print a hint for agents."),
        "hook": _Entry("install", "hook", "Answer the hooks of agents."),
        "run": _Entry("compatibility", "run", "The same commands as recipes for agents."),
    },
}
"""The commands that only `hedgerow help all` lists as well, by section."""

_COMMANDS = {
    name: entry
    for groups in (_MAIN, _FURTHER)
    for commands in groups.values()
    for name, entry in commands.items()
}

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
"""First guesses of people, and names in other tools."""

_MOVED = {
    "note": "note was renamed: use remember.",
    "reembed": "reembed is an option: hedgerow index --reembed --db FILE --embedder NAME",
}
"""Names in the contract of another tool, and in messages of the engine, with what to type instead."""

_HELP = """\
Memory as Markdown files in a folder, and search in notes with a small query language.

\b
  hedgerow init memory
  hedgerow remember "No pellets: they harm the hedgehogs." --type decision
  hedgerow recall what do we do about slugs

\b
  hedgerow index notes --db notes.db
  hedgerow search winter feeding --db notes.db

--root DIR names a memory root, --db FILE an index file, before or after the command; HEDGEROW_DB
is the default of --db. Without either, hedgerow uses the root that HEDGEROW_MEMORY_ROOT names, or
else the nearest memory root from the current folder upward: a folder that has hedgerow.json, or
whose `memory` folder has it. A root can use models, servers or folders outside itself only after
you run `hedgerow trust`.

A query finds texts with any of its words; texts with more of them rank higher. "A phrase" matches
as a whole, hedg* is a prefix, and AND, OR and NOT in capitals are operators.

`hedgerow COMMAND --help` describes a command, and `hedgerow help all` lists all of them. Exit
codes: 0 done (also when nothing was found), 1 failed, 2 wrong usage, 130 interrupted.
"""


class _LazyGroup(click.Group):
    """A group whose commands are in modules of this package, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "version":
            return click.Command(cmd_name, callback=lambda: echo(__version__))
        if cmd_name == "help":
            return click.Command(
                cmd_name,
                params=[click.Argument(["what"], type=click.Choice(["all"]), required=False)],
                callback=lambda what: _show_help(ctx, is_whole=what is not None),
            )
        if cmd_name in _MOVED:
            raise click.UsageError(_MOVED[cmd_name], ctx)
        name = _OTHER_NAMES.get(cmd_name, cmd_name)
        return load(name) if name in _COMMANDS else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move options of the place, such as `--root DIR`, from before a command to after it."""
        own = [one for one in self.params if isinstance(one, click.Option) and not one.is_eager]
        movable = {one.opts[0]: one.is_flag for one in own}
        return super().parse_args(ctx, _options_after_command(args, movable))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one names the nearest."""
        if args[0] == "help" and len(args) > 1 and args[1] != "all" and args[1][:1] != "-":
            args = [*args[1:], "--help"]
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from hedgerow._engine import _nearest  # noqa: PLC0415 - slow to import

            if near := _nearest(name, [*_COMMANDS, *_OTHER_NAMES]):
                meant = _OTHER_NAMES.get(near, near)
                raise click.UsageError(f"No such command {name!r}; did you mean {meant!r}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section, the further ones for `help all` alone."""
        widest = max(map(len, _COMMANDS))
        sections = {title: dict(commands) for title, commands in _MAIN.items()}
        if ctx.meta.get(_WHOLE):
            for title, commands in _FURTHER.items():
                sections.setdefault(title, {}).update(commands)
        for title, commands in sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(widest), entry.summary) for name, entry in commands.items()]
                )

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


_WHOLE = "hedgerow.help_all"


def _options_after_command(args: list[str], movable: Mapping[str, bool]) -> list[str]:
    """Return arguments with leading options after the names of groups and commands.

    `movable` has the options, each with whether it is a flag.
    """
    end = 0
    while end < len(args):
        name, has_value, _ = args[end].partition("=")
        if name not in movable:
            break
        end += 1 if movable[name] or has_value else 2
    named = 2 if args[end : end + 1] and args[end] in {"agents", "cluster", "run"} else 1
    if not end or end >= len(args) or args[end].startswith("-"):
        return args
    return [*args[end : end + named], *args[:end], *args[end + named :]]


def load(name: str) -> click.Command:
    """Import one command."""
    entry = _COMMANDS[name]
    module = importlib.import_module(f"hedgerow.cli.{entry.module}")
    command: click.Command = getattr(module, entry.attribute)
    return command


def _show_help(context: click.Context, *, is_whole: bool) -> None:
    context.meta[_WHOLE] = is_whole
    echo(context.get_help())


@click.group(
    "hedgerow",
    cls=_LazyGroup,
    invoke_without_command=True,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--root", metavar="DIR", expose_value=False, help="The memory root.")
@click.option("--db", metavar="FILE", expose_value=False, help="The index file.")
@click.option("--json", is_flag=True, expose_value=False, help="Write the result as JSON.")
@click.option("--scope", expose_value=False, hidden=True)
@click.option("--shared", is_flag=True, expose_value=False, hidden=True)
@click.option("--target", expose_value=False, hidden=True)
@click.option("--trust", is_flag=True, expose_value=False, hidden=True)
@click.version_option(__version__, "-V", "-v", "--v", "--version", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Show the help when no command is given."""
    if context.invoked_subcommand is None:
        echo(context.get_help())


def main() -> None:
    """Run `hedgerow` with the arguments of the process."""
    cli()
