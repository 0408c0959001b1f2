"""The fixes of errors, as commands and options."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hedgerow.errors import with_fixes

if TYPE_CHECKING:
    from hedgerow.errors import Fix, HedgerowError

PLACE = "hedgerow.place"
"""The options of the place that were given, in the `meta` of click."""

_RUNNING = "hedgerow.running"

_COMMANDS = {
    "links": "graph",
    "open": "index",
    "reembed": "index --reembed",
    "reembed_collection": "cluster reembed",
    "sync": "index",
}
"""The commands of operations with another name."""

_OPTIONS = {"path": "root"}
"""The options of arguments with another name."""


def note_running(context: click.Context) -> None:
    """Note the command that runs, whose options the fixes of its errors name."""
    context.meta[_RUNNING] = context


def message_with_fixes(error: HedgerowError, context: click.Context) -> str:
    """Return the message of an error, and its fixes as options of the command that ran, or as commands."""
    return with_fixes(error.message, error.fixes, partial(words_of, context))


def words_of(context: click.Context, fix: Fix) -> str | None:
    """Return the words of a fix; None if the command has no option for one of the arguments.

    Another command gets the root or the file of the one that ran.
    """
    running: click.Context | None = context.meta.get(_RUNNING)
    if running is None:
        return None
    command, said, arguments = running.command, [], dict(fix.arguments)
    if fix.operation not in (None, "connect"):
        name = _COMMANDS.get(fix.operation, fix.operation)
        main = context.find_root().command
        found = (
            main.get_command(context, name.split()[0]) if isinstance(main, click.Group) else None
        )
        if found is None:
            return None
        command = found
        said.append(f"hedgerow {name}")
        place = {"path": context.meta.get(PLACE, {}).get("root"), "db": running.params.get("db")}
        arguments |= {one: value for one, value in place.items() if value and one not in arguments}
    for name, value in arguments.items():
        option = _option(command, name, value)
        if option is None:
            return None
        said.append(option)
    return " ".join(said)


def _option(command: click.Command, name: str, value: Any) -> str | None:
    """Return an argument as the command takes it; None if it has no parameter of that name."""
    known = _OPTIONS.get(name, name)
    spelled = f"--{known.replace('_', '-')}"
    named = (one for one in command.params if one.name == known or spelled in one.opts)
    param = next(named, None)
    if param is None:
        return None
    if isinstance(param, click.Option) and param.is_flag:
        return _flag(param, is_on=bool(value))
    placeholder = param.metavar or name.upper()
    values = value if isinstance(value, (list, tuple)) else [value]
    said = [placeholder if one is None else shlex.quote(str(one)) for one in values]
    if isinstance(param, click.Argument):
        return " ".join(said)
    return " ".join(f"{param.opts[-1]} {one}" for one in said)


def _flag(param: click.Option, *, is_on: bool) -> str:
    """Return the flag that turns something on or off, or that it is left out."""
    if param.secondary_opts:
        return (param.opts if is_on else param.secondary_opts)[0]
    turns_off = param.opts[0].startswith("--no-")
    return param.opts[0] if is_on is not turns_off else f"without {param.opts[0]}"
