"""Vaults: folders that Obsidian or Logseq keeps, as memory roots (spec/memory.md, "Vaults")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

Vault = Literal["obsidian", "logseq"]

VAULTS: tuple[str, ...] = get_args(Vault)
"""The tools whose vaults can be roots."""

_LIMIT = 1 << 20
"""The most bytes of a file of settings that are read."""

_DRAWINGS = ("*.excalidraw.md",)
_TEMPLATES = (
    (".obsidian/templates.json", "folder"),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
)
_EXCALIDRAW = (".obsidian/plugins/obsidian-excalidraw-plugin/data.json", "folder")
_PERIODIC_NOTES = ".obsidian/plugins/periodic-notes/data.json"
_EDN_TEXT = r':%s\s+"((?:[^"\\]|\\.){1,200})"'
_JAVA_TOKEN = re.compile(r"'[^']*'|(.)\1*o?")
_MOMENT = {
    "yyyy": "YYYY", "dd": "DD", "d": "D", "do": "Do", "EEEE": "dddd", "EEE": "ddd", "EE": "ddd", "E": "ddd",
}  # fmt: skip
"""Tokens of Logseq's formats, and those of Moment.js."""
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")


def detect_vault(root: Path) -> Vault | None:
    """Return the tool that keeps a folder: by `.obsidian/`, or by `logseq/` with its `config.edn`."""
    if (root / ".obsidian").is_dir():
        return "obsidian"
    if (root / "logseq" / "config.edn").is_file():
        return "logseq"
    return None


def vault_patterns(root: Path, vault: str) -> tuple[str, ...]:
    """Return the patterns of the files of a vault that are no notes: templates, drawings, the tool's folder.

    Obsidian's settings name the folders of templates and drawings.
    """
    if vault == "logseq":
        return ("/logseq/", *_DRAWINGS)
    settings = [*_TEMPLATES, _EXCALIDRAW]
    folders = [_folder(_setting(root, file, key)) for file, key in settings]
    names = dict.fromkeys(one for one in folders if one is not None)
    return (*_DRAWINGS, *(f"/{_escaped(name)}/" for name in names))


def daily_note_format(root: Path, vault: str) -> str | None:
    """Return the format of the names of daily notes that a vault is configured with, in the tokens of Moment.js.

    None without one: the default of either tool is read as a day in any root.
    """
    if vault == "logseq":
        found = _edn_text(root, "journal/file-name-format")
        return None if found is None else _JAVA_TOKEN.sub(_moment_token, found)
    daily = _setting(root, _PERIODIC_NOTES, "daily")
    if isinstance(daily, dict) and daily.get("enabled"):
        given = daily.get("format")
    else:
        given = _setting(root, ".obsidian/daily-notes.json", "format")
    return given.strip() or None if isinstance(given, str) else None


def _moment_token(found: re.Match[str]) -> str:
    """Translate a token of Logseq's formats."""
    token = found[0]
    return f"[{token[1:-1]}]" if token.startswith("'") else _MOMENT.get(token, token)


def folder_for_notes(root: Path, vault: str) -> str:
    """Return the folder, below the root, in which a vault keeps new notes; `.` for the root itself."""
    if vault == "logseq":
        return _edn_folder(root, "pages-directory") or "pages"
    place = _setting(root, ".obsidian/app.json", "newFileLocation")
    if place != "folder":
        return "."
    return _folder(_setting(root, ".obsidian/app.json", "newFileFolderPath")) or "."


def _escaped(name: str) -> str:
    """Return a path as a pattern that matches it alone."""
    return _SPECIAL.sub(r"\\\1", name)


def _setting(root: Path, file: str, key: str) -> Any:
    """Return a value of a file of settings; None if it cannot be read."""
    text = _read(root / file)
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        return value.get(key) if isinstance(value, dict) else None
    return None


def _edn_folder(root: Path, key: str) -> str | None:
    """Return a folder that Logseq's configuration names outside of comments."""
    return _folder(_edn_text(root, key))


def _edn_text(root: Path, key: str) -> str | None:
    """Return a text of Logseq's configuration, outside of comments; None without it."""
    pattern = re.compile(_EDN_TEXT % re.escape(key))
    found = (pattern.search(line) for line in _edn_lines(root))
    return next((one[1] for one in found if one), None)


def _edn_lines(root: Path) -> Iterator[str]:
    for line in _read(root / "logseq" / "config.edn").splitlines():
        yield line.partition(";")[0]


def _read(file: Path) -> str:
    with suppress(OSError), file.open("rb") as stream:
        return stream.read(_LIMIT).decode("utf-8", "replace")
    return ""


def _folder(value: Any) -> str | None:
    """Return a folder below the root in its normal form; None for any other path."""
    if not isinstance(value, str) or any(character < " " for character in value):
        return None
    path = PurePosixPath(value.strip().replace("\\", "/").strip("/"))
    parts = path.parts
    is_inside = bool(parts) and not any(part.startswith(".") for part in parts)
    return str(path) if is_inside else None
