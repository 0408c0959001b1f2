"""The agents that hedgerow can be installed into: the entries that each needs, adding them to its configuration, and taking
exactly these out again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hedgerow._checks import shown
from hedgerow._engine import _toml_without, _TomlText
from hedgerow._regular_files import read_regular
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.memory import files
from hedgerow.memory.files import system_errors
from hedgerow.memory.identity import user_folder
from hedgerow.memory.text_format import TextFormat, decode_text

from .json_text import added, removed

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


_LIMIT = 64 << 20
"""The most bytes of a configuration."""

_RECORD = "installed.json"


@dataclass(frozen=True, slots=True)
class Change:
    """A planned or applied change of one entry: its file, its text, and its state.

    `state` is add, remove, present (it is there already) or absent (it is not there).
    """

    file: str
    text: str
    state: str


@dataclass(slots=True)
class _File:
    """A configuration: the bytes that were read, and the text to write. Both are None for a missing file."""

    path: Path
    data: bytes | None
    text: str | None
    form: TextFormat = TextFormat()  # noqa: RUF009 - it is frozen
    private: bool = False
    records: list[dict[str, Any]] = field(default_factory=list)


def install(
    tool: str, roots: Sequence[Path] = (), project: Path | None = None, *, apply: bool = False
) -> tuple[Change, ...]:
    """Add the entries of hedgerow to the configuration of a tool; without `apply` only plan it.

    Every other character of the files stays. Raises HedgerowError (`agent_config_invalid`) for a file that
    cannot be read, or has another entry named hedgerow; nothing is written then.
    """
    opened: dict[Path, _File] = {}
    changes = []
    for entry in entries(checked_tool(tool), roots, project):
        file = opened.setdefault(entry.file, _read(entry.file))
        file.private = file.private or entry.private
        state = "present" if _is_present(file, entry) else "add"
        if state == "add":
            _add(file, entry)
        changes.append(Change(str(entry.file), entry.text, state))
    if apply:
        _write(tool, opened.values())
    return tuple(changes)


def uninstall(
    tool: str, roots: Sequence[Path] = (), project: Path | None = None, *, apply: bool = False
) -> tuple[Change, ...]:
    """Remove the entries that `install` added; without `apply` only plan it.

    A file that was not edited since has the bytes from before again, and one that `install` made is
    deleted. Raises HedgerowError (`agent_config_invalid`) for a file that cannot be read.
    """
    records = _records().get(checked_tool(tool), [])
    opened: dict[Path, _File] = {}
    changes = []
    for entry in reversed(entries(tool, roots, project)):
        file = opened.setdefault(entry.file, _read(entry.file))
        known = next((one for one in records if _is_of(one, entry)), None)
        is_removed = file.text is not None and _remove(file, entry, known)
        state = "remove" if is_removed else "absent"
        changes.append(Change(str(entry.file), entry.text, state))
    if apply:
        _write(tool, opened.values(), undo=True)
    return tuple(reversed(changes))


def configured_file(tool: str) -> Path | None:
    """Return the user's configuration of a tool in which hedgerow is a server; None if there is none.

    Raises HedgerowError (`agent_config_invalid`) for a file that cannot be read.
    """
    entry = entries(checked_tool(tool), (), None)[0]
    return None if _value(_read(entry.file), entry.path) is None else entry.file


# Files.


def _read(path: Path) -> _File:
    with system_errors("read", path):
        try:
            data = read_regular(path, _LIMIT + 1)
        except FileNotFoundError:
            return _File(path, None, None)
    if len(data) > _LIMIT:
        raise _invalid(path, f"it is larger than {_LIMIT >> 20} MiB")
    try:
        text, form = decode_text(data)
    except UnicodeDecodeError as error:
        raise _invalid(path, f"it is not UTF-8 (byte {error.start})") from error
    return _File(path, data, text, form)


def _write(tool: str, opened: Iterable[_File], *, undo: bool = False) -> None:
    for file in opened:
        target = Path(os.path.realpath(file.path))
        if file.text is None:
            if file.data is not None:
                with system_errors("delete", target):
                    target.unlink()
        elif (new := file.form.encode(file.text)) != file.data:
            if file.data is None and file.private:
                files.replace_private(target, file.text)
            else:
                files.update(target, new, expected=file.data, root=target.parent)
        _record(tool, file, undo=undo)


def _invalid(path: Path, problem: str) -> HedgerowError:
    return HedgerowError(
        f"{path} was not changed: {problem}; repair it, or add the entry by hand",
        code="agent_config_invalid",
    )


# Entries.


def _parsed(file: _File) -> dict[str, Any]:
    """Return the value of a file; a blank one is empty."""
    text = file.text or ""
    if not text.strip():
        return {}
    try:
        value = _TomlText(text).values() if file.path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "TOML" if file.path.suffix == ".toml" else "JSON"
        raise _invalid(file.path, f"it is not {kind} ({error})") from error
    if not isinstance(value, dict):
        raise _invalid(file.path, "it is not a JSON object")
    return value


def _value(file: _File, path: Sequence[str]) -> Any:
    found: Any = _parsed(file)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _is_present(file: _File, entry: Entry) -> bool:
    found = _value(file, entry.path)
    if entry.is_item:
        return _place(found, entry) is not None
    if found is not None and found != entry.value:
        name = ".".join(entry.path)
        raise _invalid(
            file.path,
            f"it has another {name}, which stays as it is (to replace it, remove it first)",
        )
    return found is not None


def _place(items: Any, entry: Entry) -> int | None:
    """Return the position of a hook of hedgerow in an array; its program may have moved since."""
    word = f" hook {entry.word}"
    for at, item in enumerate(items if isinstance(items, list) else []):
        hooks = item.get("hooks") if isinstance(item, dict) else None
        commands = [
            str(one.get("command"))
            for one in (hooks if isinstance(hooks, list) else [])
            if isinstance(one, dict)
        ]
        if any("hedgerow" in one and f"{word} " in f"{one} " for one in commands):
            return at
    return None


def _add(file: _File, entry: Entry) -> None:
    text = file.text or ""
    record = {
        "file": str(entry.file),
        "path": list(entry.path),
        "isItem": entry.is_item,
        "isNewFile": file.data is None,
        "parents": _parents(file, entry.path),
    }
    if entry.is_toml:
        before = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        at, inserted = len(text), f"{before}{entry.text}\n"
    elif not text.strip():
        at, inserted = len(text), f"{entry.text}\n"
    else:
        try:
            at, inserted = added(text, entry.path, entry.value, to_array=entry.is_item)
        except ValueError as error:
            raise _invalid(file.path, str(error)) from error
    inserted = file.form.lines(inserted)
    new = replace(file, text=text[:at] + inserted + text[at:])
    if entry.is_toml:
        _check_table(file, new, entry)
    file.text = new.text
    file.records.append({**record, "inserted": inserted})


def _check_table(old: _File, new: _File, entry: Entry) -> None:
    """Raise HedgerowError if a table at the end of a file of TOML is not the value of the entry.

    Nothing can be added to an inline table, an array or a text of the same name.
    """
    try:
        if _value(new, entry.path) == entry.value:
            return
    except HedgerowError:  # The old text is TOML: the table cannot follow what it has.
        pass
    parent = entry.path[0]
    kind = "an inline table" if isinstance(_value(old, [parent]), dict) else "not a table"
    raise _invalid(
        old.path,
        f"{parent} is {kind}, to which no table can be added; write it as tables [{parent}.NAME]",
    )


def _parents(file: _File, path: Sequence[str]) -> int:
    """Return the number of existing objects and arrays on a path."""
    return sum(_value(file, path[:depth]) is not None for depth in range(1, len(path) + 1))


def _remove(file: _File, entry: Entry, known: dict[str, Any] | None) -> bool:
    """Take an entry out of the text of a file; returns whether it was there."""
    text = file.text or ""
    inserted = str(known["inserted"]) if known else ""
    if inserted and text.count(inserted) == 1:
        file.text = text.replace(inserted, "")
    elif entry.is_toml:
        without = _toml_without(text, entry.path)
        if without is None:
            return False
        file.text = without
    elif not _remove_value(file, entry, known):
        return False
    is_new = bool(known and known.get("isNewFile"))
    rest = file.text or ""
    if is_new and (not rest.strip() or (not entry.is_toml and not _parsed(file))):
        file.text = None
    file.records.append({"file": str(entry.file), "path": list(entry.path)})
    return True


def _remove_value(file: _File, entry: Entry, known: dict[str, Any] | None) -> bool:
    """Take a value out of an edited file, with the parents that were made for it and are empty."""
    found, path = _value(file, entry.path), list[str | int](entry.path)
    if entry.is_item:
        place = _place(found, entry)
        if place is None:
            return False
        path.append(place)
    elif found is None:
        return False
    file.text = removed(file.text or "", path)
    parents = int(known["parents"]) if known else len(entry.path)
    for depth in range(len(path) - 1, parents, -1):
        if _value(file, entry.path[:depth]):
            break
        file.text = removed(file.text, entry.path[:depth])
    return True


# Records of installed entries.


def _records() -> dict[str, list[dict[str, Any]]]:
    """Return the records of added entries; an unreadable file counts as empty."""
    try:
        value = json.loads(read_regular(user_folder() / _RECORD))
    except (OSError, ValueError, HedgerowError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_of(record: dict[str, Any], entry: Entry) -> bool:
    return record.get("file") == str(entry.file) and record.get("path") == list(entry.path)


def _record(tool: str, file: _File, *, undo: bool) -> None:
    if not file.records:
        return
    all_records = _records()
    gone = [(one["file"], one["path"]) for one in file.records]
    kept = [
        one for one in all_records.get(tool, []) if (one.get("file"), one.get("path")) not in gone
    ]
    all_records[tool] = kept if undo else [*kept, *file.records]
    folder = user_folder()
    files.replace_private(folder / _RECORD, json.dumps(all_records, indent=2) + "\n")
