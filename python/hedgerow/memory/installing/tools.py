"""The agents that hedgerow can be installed into, and the entries that each needs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow._checks import shown
from hedgerow.errors import HedgerowError, InvalidInputError

NAME = "hedgerow"
"""The name of the entry in every configuration."""

_TIMEOUT = 30


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a configuration: its file, its path in it, and its value.

    `is_item` says that the path is an array, of which the value is an item. `private` files are made
    readable for their owner alone. `word` is the hook's, start or end.
    """

    file: Path
    path: tuple[str, ...]
    value: Mapping[str, Any]
    is_item: bool = False
    private: bool = False
    word: str = ""

    @property
    def is_toml(self) -> bool:
        """Whether the file is TOML, else JSON."""
        return self.file.suffix == ".toml"

    @property
    def text(self) -> str:
        """The entry as it is written into an empty file."""
        if self.is_toml:
            return toml_table(self.path, self.value)
        inner: Any = [self.value] if self.is_item else self.value
        for key in reversed(self.path):
            inner = {key: inner}
        return json.dumps(inner, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to paste into the configuration of a tool, and the files of each system."""

    places: tuple[str, ...]
    text: str


APPLIED = ("claude-code", "codex")
"""The tools whose configuration can be changed."""

SHOWN = ("cursor", "vscode", "zed", "claude-desktop")
"""The tools for which a text to paste is shown."""


def checked_tool(tool: str) -> str:
    """Return the name of a tool; InvalidInputError for any other."""
    if tool not in (*APPLIED, *SHOWN):
        raise InvalidInputError(
            f"the tool must be one of {', '.join((*APPLIED, *SHOWN))}, not {shown(tool)}",
            code="invalid_option",
        )
    return tool


def server_command(roots: Sequence[Path], *, is_shared: bool) -> list[str]:
    """Return the command that an agent starts; by its name alone in a file that others share."""
    return [*_program(is_shared=is_shared), "mcp", *_root_options(roots)]


def entries(tool: str, roots: Sequence[Path], project: Path | None) -> tuple[Entry, ...]:
    """Return the entries for a tool: of the user, or of a project folder.

    Raises HedgerowError (`user_folder_unusable`) without a home folder.
    """
    command, *args = server_command(roots, is_shared=project is not None)
    server: dict[str, Any] = {"command": command, "args": args}
    if tool == "codex":
        given = os.environ.get("CODEX_HOME", "").strip()
        folder = _home(given, "CODEX_HOME", ".codex") if project is None else project / ".codex"
        return (
            Entry(folder / "config.toml", ("mcp_servers", NAME), server, private=project is None),
            *_hooks(folder / "hooks.json", "Stop", roots, is_shared=project is not None),
        )
    if project is not None:
        servers, settings = project / ".mcp.json", project / ".claude" / "settings.json"
    else:
        given = os.environ.get("CLAUDE_CONFIG_DIR", "").strip()
        folder = _home(given, "CLAUDE_CONFIG_DIR", ".claude")
        servers = (folder if given else folder.parent) / ".claude.json"
        settings = folder / "settings.json"
    value = {"type": "stdio", **server}
    return (
        Entry(servers, ("mcpServers", NAME), value, private=project is None),
        *_hooks(settings, "SessionEnd", roots, is_shared=project is not None),
    )


def snippet(tool: str, roots: Sequence[Path]) -> Snippet:
    """Return the text to paste into the configuration of a tool, and its files."""
    command, *args = server_command(roots, is_shared=False)
    server: dict[str, Any] = {"command": command, "args": args}
    if tool == "vscode":
        places: tuple[str, ...] = (
            ".vscode/mcp.json in the folder of a project",
            "for all projects: the file that the command `MCP: Open User Configuration` opens",
        )
        return Snippet(places, _json({"servers": {NAME: {"type": "stdio", **server}}}))
    if tool == "zed":
        places = ("~/.config/zed/settings.json", ".zed/settings.json in the folder of a project")
        return Snippet(places, _json({"context_servers": {NAME: server}}))
    if tool == "cursor":
        places = ("~/.cursor/mcp.json", ".cursor/mcp.json in the folder of a project")
    else:
        places = (
            "macOS: ~/Library/Application Support/Claude/claude_desktop_config.json",
            "Windows: %APPDATA%\\Claude\\claude_desktop_config.json",
        )
    return Snippet(places, _json({"mcpServers": {NAME: server}}))


def toml_table(path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return a table of TOML with texts and lists of texts."""
    # A string of JSON is a basic string of TOML, except for DEL.
    lines = [f"{key} = {json.dumps(one, ensure_ascii=False)}" for key, one in value.items()]
    text = "\n".join([f"[{'.'.join(path)}]", *lines])
    return text.replace("\x7f", "\\u007F")


def _hooks(file: Path, end: str, roots: Sequence[Path], *, is_shared: bool) -> tuple[Entry, ...]:
    found = []
    for event, word in (("SessionStart", "start"), (end, "end")):
        command = _quoted([*_program(is_shared=is_shared), "hook", word, *_root_options(roots)])
        hook = {"type": "command", "command": command, "timeout": _TIMEOUT}
        found.append(Entry(file, ("hooks", event), {"hooks": [hook]}, is_item=True, word=word))
    return tuple(found)


def _program(*, is_shared: bool) -> list[str]:
    """Return this program: agents may be started without the PATH of a virtual environment."""
    if is_shared:
        return [NAME]
    script = Path(sys.argv[0])
    if script.stem == NAME and script.is_file():
        return [str(script.absolute())]
    return [sys.executable, "-m", NAME]


def _root_options(roots: Sequence[Path]) -> list[str]:
    return [part for root in roots for part in ("--root", str(root.absolute()))]


def _quoted(command: Sequence[str]) -> str:
    """Return a command as a shell reads it."""
    if os.name == "nt":
        from subprocess import list2cmdline  # noqa: PLC0415 - for Windows alone

        return list2cmdline(command)
    import shlex  # noqa: PLC0415

    return shlex.join(command)


def _home(given: str, variable: str, name: str) -> Path:
    try:
        return Path(given).absolute() if given else Path.home() / name
    except RuntimeError as error:
        raise HedgerowError(
            f"there is no home folder for {name}; set HOME, or {variable} to the folder of the tool's "
            "configuration",
            code="user_folder_unusable",
        ) from error


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
