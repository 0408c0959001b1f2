"""The `hedgerow` command. One file for each command; `main` is the console entry point.

Commands are imported when they are called, and what is slow to import where it is used, so
that `hedgerow` answers at once. Nothing outside this folder imports it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import click

from hedgerow import __version__

from .failures import run_group

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cli", "main"]

_COMMANDS = ("index", "search", "reembed", "eval", "parse", "compile")

_HELP = """\
Search notes and documents with a small query language, from one SQLite file.

\b
  hedgerow index notes --db notes.db
  hedgerow search "winter feeding" --db notes.db
  hedgerow search 'kube* NOT "old cluster"' --db notes.db --explain

In a query, plain words are alternatives; "a phrase" stands together, hedg* is a beginning,
and AND, OR and NOT in capitals join what is around them. `hedgerow COMMAND --help` says
what each command takes. Exit codes: 0 done (also when nothing was found), 1 failed, 2 wrong
usage, 130 interrupted.
"""


class _LazyGroup(click.Group):
    """A group whose commands are modules of this package, imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"hedgerow.cli.{cmd_name}")
        command: click.Command = module.command
        return command

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


@click.group(
    "hedgerow",
    cls=_LazyGroup,
    invoke_without_command=True,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Hold the commands together; alone, show the help."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run `hedgerow` with the arguments of the process."""
    cli()
