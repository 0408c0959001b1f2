"""`hedgerow run memory:RECIPE`: the commands of a memory root under the names agents know."""

from __future__ import annotations

import importlib

import click

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
        package = importlib.import_module("hedgerow.cli")
        found: click.Command = package.load_command(name)
        return found


@click.group("run", cls=_Recipes, short_help="The same commands as recipes for agents.")
def run() -> None:
    """Run a command of a memory root under its name with `memory:` before it.

    \b
      hedgerow run memory:recall --topic "slug control"
      hedgerow run memory:status --json
    """
