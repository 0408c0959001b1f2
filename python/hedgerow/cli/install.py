"""`hedgerow install`, `uninstall` and `hook`: hedgerow in the configuration of agents."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow import HedgerowError

from .fixes import message_with_fixes
from .options import Command, F, json_option, option
from .output import echo, visible, wants_json, write_json, wrote_json
from .place import locate_root, named_roots, open_root, open_roots, place_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.memory.installing.tools import Change

_TOOLS = ("claude-code", "codex", "cursor", "vscode", "zed", "claude-desktop")
_MOST_INPUT = 1 << 20


def _install_options(command: F) -> F:
    tool = click.argument("tool", type=click.Choice(_TOOLS))
    project = option(
        "--project",
        is_flag=True,
        help="The configuration of the current folder, which others may share, not that of the user.",
    )
    write = option(
        "--apply", is_flag=True, help="Write; without it, only show what would be written."
    )
    place = place_options(scope=False, target=False, trust=False, remote=False)
    return tool(project(write(place(json_option(command)))))


@click.command("install", cls=Command)
@_install_options
def install(*, tool: str, project: bool, apply: bool) -> None:
    """Give the agent TOOL the memory: its MCP server, and hooks for the start and end of a session.

    \b
      hedgerow install claude-code
      hedgerow install claude-code --apply
      hedgerow install codex --root ~/notes --apply
      hedgerow install cursor

    Shows what would be added, and with --apply adds it to the configuration of Claude Code or
    Codex; everything else in it stays. `hedgerow uninstall TOOL` undoes it. For cursor, vscode, zed
    and claude-desktop it prints a text to paste. Without --root, the server uses the nearest memory
    root of the folder that the agent works in, or else ~/.hedgerow/memory.
    """
    from hedgerow.memory.installing.tools import APPLIED, snippet  # noqa: PLC0415
    from hedgerow.memory.installing.tools import install as add  # noqa: PLC0415 - slow to import

    roots = named_roots()
    if tool not in APPLIED:
        if apply or project:
            raise click.UsageError(
                f"{tool} is configured by hand: leave --apply and --project out, and paste the text."
            )
        found = snippet(tool, roots)
        if wrote_json({"tool": tool, "places": list(found.places), "text": found.text}):
            return
        echo(f"Add this to the configuration of {tool}:\n\n{found.text}\n")
        for place in found.places:
            echo(f"- {place}")
        return
    folder = Path.cwd() if project else None
    _show(tool, add(tool, roots, folder, apply=apply), apply=apply)
    if not roots and not wants_json() and locate_root()[0] is None:
        echo("No memory root yet: run hedgerow init ~/.hedgerow/memory")
    if find_spec("mcp") is None:
        echo('Note: the server needs the extra "mcp": pip install "hedgerow[mcp]"', err=True)


@click.command("uninstall", cls=Command)
@_install_options
def uninstall(*, tool: str, project: bool, apply: bool) -> None:
    """Take out of the configuration of the agent TOOL what `hedgerow install` added.

    \b
      hedgerow uninstall claude-code
      hedgerow uninstall claude-code --apply

    Everything else in the files stays, and a file that was not edited since is as it was before. Pass
    --project and --root as to install.
    """
    from hedgerow.memory.installing.tools import APPLIED  # noqa: PLC0415
    from hedgerow.memory.installing.tools import uninstall as remove  # noqa: PLC0415

    if tool not in APPLIED:
        raise click.UsageError(f"{tool} is configured by hand: remove the text that you pasted.")
    folder = Path.cwd() if project else None
    _show(tool, remove(tool, named_roots(), folder, apply=apply), apply=apply)


def _show(tool: str, changes: Sequence[Change], *, apply: bool) -> None:
    if wants_json():
        parts = [{"file": one.file, "state": one.state, "text": one.text} for one in changes]
        write_json({"tool": tool, "applied": apply, "changes": parts})
        return
    words = {
        "add": "Added to" if apply else "Would be added to",
        "remove": "Removed from" if apply else "Would be removed from",
        "present": "Already in",
        "absent": "Not in",
    }
    for one in changes:
        echo(visible(f"{words[one.state]} {one.file}:"))
        echo("\n".join(f"  {visible(line)}" for line in one.text.split("\n")))
    is_open = any(one.state in {"add", "remove"} for one in changes)
    if is_open and not apply:
        echo("\nDry run. Add --apply to write.")
    elif is_open:
        echo(f"\nStart {tool} again for this to take effect.")


@click.group("hook", hidden=True)
def hook() -> None:
    """Answer an agent's hook; agents run this themselves after `hedgerow install`."""


@hook.command("start", cls=Command)
@place_options(target=False, remote=False)
def start() -> None:
    """Print memories about the folder of the session, for the agent to read."""
    _quietly(_start)


@hook.command("end", cls=Command)
@place_options(target=False, remote=False)
def end() -> None:
    """Note that a session ended, so that the next one offers to record it."""
    _quietly(_end)


def _quietly(work: Callable[[dict[str, Any]], None]) -> None:
    """Run a hook; an error is printed on stderr and never stops the agent."""
    given: Any = None
    with suppress(ValueError, OSError, RecursionError):
        if sys.stdin is not None and not sys.stdin.isatty():
            given = json.loads(sys.stdin.buffer.read(_MOST_INPUT))
    try:
        work(given if isinstance(given, dict) else {})
    except click.UsageError:
        return  # No memory root: the hook has nothing to do.
    except HedgerowError as error:
        message = message_with_fixes(error, click.get_current_context())
        echo(visible(f"hedgerow: {message}"), err=True)


def _start(event: dict[str, Any]) -> None:
    from hedgerow.memory.installing.sessions import opening  # noqa: PLC0415 - slow to import

    text = opening(open_roots() or open_root(), event, Path.cwd())
    echo("\n".join(visible(line) for line in text.split("\n")))


def _end(event: dict[str, Any]) -> None:
    from hedgerow.memory.installing.sessions import note_end  # noqa: PLC0415 - slow to import

    note_end(open_roots() or open_root(), event)
