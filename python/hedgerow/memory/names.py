"""Names of files, folders, types and tags in a memory root (spec/memory.md, "Layout", "Tags and aliases")."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from hedgerow._checks import shown
from hedgerow._engine import _nearest
from hedgerow._regular_files import read_regular
from hedgerow.errors import InvalidInputError

CONFIG = "hedgerow.json"
LEGACY_CONFIG = "jumpybrain.json"
DERIVED = ".hedgerow"
AGENTS = "agents"
SCHEMA_VERSION = 1

DIRECTORIES = {
    "note": "notes",
    "session": "sessions",
    "finding": "findings",
    "decision": "decisions",
    "preference": "preferences",
    "page": "pages",
}
"""The folder that each type of memory is written to."""

IMPORT_ID = "import_id"
"""The field of front matter that names the tool a memory was imported from, and its id there."""

TEMPORARY_PREFIX = ".hedgerow-"
TEMPORARY_SUFFIX = ".tmp"
"""Parts of the name of a file that is being written; those of killed processes are removed."""

NODE_TYPES = tuple(kind for kind in DIRECTORIES if kind != "session")
"""The types of nodes of a root, besides those of every store, where sessions are episodic."""

LONGEST_NORMALIZED = 512
"""Longer names are compared as they are: normalizing takes the square of a run of accents."""

_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?", re.DOTALL
)
_REFUSED_BY_WINDOWS = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]\Z')


def is_device(name: str) -> bool:
    """Whether Windows takes the name of a file for a device, as `aux.md` or `COM1`."""
    return _DEVICE.fullmatch(name.lower()) is not None


def is_refused_by_windows(path: str) -> bool:
    """Whether Windows has no such path: a device, a character it refuses, or a dot or space at an end."""
    return any(is_device(one) or _REFUSED_BY_WINDOWS.search(one) for one in path.split("/"))


def type_word(text: str) -> str:
    """Return a type as it is compared: in lower case, with `-` for spaces.

    `session` is the word of a root for what nodes call `episodic`.
    """
    word = "-".join(text.lower().split())
    return "session" if word == "episodic" else word


def check_types(types: Collection[str], known: Collection[str]) -> None:
    """Raise InvalidInputError, which names the nearest type, for a type that no memory has."""
    words = sorted({*DIRECTORIES, *known})
    for one in types:
        if one not in words:
            near = _nearest(one, words)
            hint = f"did you mean {near!r}? " if near else ""
            raise InvalidInputError(
                f"there are no memories of the type {shown(one)}; {hint}there are {', '.join(words)}",
                code="invalid_option",
            )


def normalized(name: str) -> str:
    """Return a name in Unicode's form NFC, unless it is longer than any path of a memory."""
    return name if len(name) > LONGEST_NORMALIZED else unicodedata.normalize("NFC", name)


def compared(text: str) -> str:
    """Return a tag to compare: without `#`, in Unicode's form NFC, and without regard to case and emoji style."""
    tag = normalized(text.strip().removeprefix("#").strip("/")).casefold()
    return tag.replace("\N{VARIATION SELECTOR-16}", "")


def separate_tags(tags: Iterable[str]) -> list[str]:
    """Return each tag or type of a list whose items may be several with commas between."""
    parts = (part.strip() for one in tags for part in one.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def mark_of(number: int) -> str:
    """Return the beginning of paths of one of several roots, by its number from 0: `@`, `@@` and so on."""
    return "@" * (number + 1)


def repository_of(folder: Path) -> Path | None:
    """Return the folder of the git repository around a folder; None outside of a repository."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


# Vaults: folders that Obsidian or Logseq keeps, as memory roots (spec/memory.md, "Vaults").


Vault = Literal["obsidian", "logseq"]

VAULTS: tuple[str, ...] = get_args(Vault)
"""The tools whose vaults can be roots."""

_LIMIT = 1 << 20
"""The most bytes of a file of settings that are read."""

_SETTINGS = ".obsidian/app.json"
_MOST_SHOWN = 3
"""The most excluded files that a notice names."""

_DRAWINGS = ("*.excalidraw.md",)
TEMPLATES = (
    (".obsidian/templates.json", "folder"),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
)
"""The settings of Obsidian with a folder of templates: the file, and its key."""
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
    """Return the patterns of the files of a vault that are not read: templates, drawings, the tool's folder.

    Obsidian's settings name the folders of templates and drawings, and further excluded files.
    """
    if vault == "logseq":
        return ("/logseq/", *_DRAWINGS)
    settings = [*TEMPLATES, _EXCALIDRAW]
    folders = [_folder(setting(root, file, key)) for file, key in settings]
    names = dict.fromkeys(one for one in folders if one is not None)
    excluded = (_pattern_of_prefix(one) for one in _excluded_files(root) if not _is_regex(one))
    return (*_DRAWINGS, *(f"{pattern_of(name)}/" for name in names), *filter(None, excluded))


def vault_notices(root: Path, vault: str | None) -> tuple[str, ...]:
    """Return a sentence about the excluded files of Obsidian that are read, because patterns cannot name them."""
    if vault != "obsidian":
        return ()
    read = [repr(one) for one in _excluded_files(root) if _is_regex(one)]
    if not read:
        return ()
    more = f" and {len(read) - _MOST_SHOWN} more" if len(read) > _MOST_SHOWN else ""
    return (
        (
            f"{root / _SETTINGS}: the excluded files {', '.join(read[:_MOST_SHOWN])}{more} are read: a regular "
            f'expression is no pattern; name them with "exclude" in {CONFIG}'
        ),
    )


def _excluded_files(root: Path) -> list[str]:
    """Return the filters of Obsidian's setting "Excluded files": beginnings of paths, and regular expressions."""
    found = setting(root, _SETTINGS, "userIgnoreFilters")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _is_regex(text: str) -> bool:
    return len(text) > len("//") and text.startswith("/") and text.endswith("/")


def _pattern_of_prefix(text: str) -> str | None:
    """Return the pattern that matches the paths with a beginning; None for a beginning that no note has."""
    name = _folder(text)
    if name is None:
        return None
    return f"{pattern_of(name)}/" if text.rstrip().endswith("/") else f"{pattern_of(name)}*"


def daily_note_format(root: Path, vault: str) -> str | None:
    """Return the format of the names of daily notes that a vault is configured with, in the tokens of Moment.js.

    None without one: the default of either tool is read as a day in any root.
    """
    if vault == "logseq":
        return _moment_format(_edn_text(root, "journal/file-name-format"))
    daily = setting(root, _PERIODIC_NOTES, "daily")
    if isinstance(daily, dict) and daily.get("enabled"):
        given = daily.get("format")
    else:
        given = setting(root, ".obsidian/daily-notes.json", "format")
    return given.strip() or None if isinstance(given, str) else None


def title_format(root: Path, vault: str) -> str | None:
    """Return the format of the titles of daily notes, by which links name them, in the tokens of Moment.js.

    None if no setting states one: the usual title of Logseq is a name of each daily note. Obsidian names daily
    notes by their file alone.
    """
    if vault != "logseq":
        return None
    keys = ("journal/page-title-format", "date-formatter")
    return next(filter(None, (_moment_format(_edn_text(root, key)) for key in keys)), None)


def _moment_format(given: str | None) -> str | None:
    """Translate a format of Logseq."""
    return None if given is None else _JAVA_TOKEN.sub(_moment_token, given)


def _moment_token(found: re.Match[str]) -> str:
    """Translate a token of Logseq's formats."""
    token = found[0]
    return f"[{token[1:-1]}]" if token.startswith("'") else _MOMENT.get(token, token)


def folder_for_notes(root: Path, vault: str) -> str:
    """Return the folder, below the root, in which a vault keeps new notes; `.` for the root itself."""
    if vault == "logseq":
        return _folder(_edn_text(root, "pages-directory")) or "pages"
    place = setting(root, _SETTINGS, "newFileLocation")
    if place != "folder":
        return "."
    return _folder(setting(root, _SETTINGS, "newFileFolderPath")) or "."


def pattern_of(path: str) -> str:
    """Return the pattern that matches a path alone."""
    return "/" + _SPECIAL.sub(r"\\\1", path)


def setting(root: Path, file: str, key: str) -> Any:
    """Return a value of a file of settings; None if it cannot be read."""
    text = _read(root / file)
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        return value.get(key) if isinstance(value, dict) else None
    return None


def _edn_text(root: Path, key: str) -> str | None:
    """Return a text of Logseq's configuration, outside of comments; None without it."""
    pattern = re.compile(_EDN_TEXT % re.escape(key))
    lines = _read(root / "logseq" / "config.edn").splitlines()
    found = (pattern.search(line.partition(";")[0]) for line in lines)
    return next((one[1] for one in found if one), None)


def _read(file: Path) -> str:
    with suppress(OSError):
        return read_regular(file, _LIMIT).decode("utf-8", "replace")
    return ""


def _folder(value: Any) -> str | None:
    """Return a folder below the root in its normal form; None for any other path."""
    if not isinstance(value, str) or any(character < " " for character in value):
        return None
    path = PurePosixPath(value.strip().replace("\\", "/").strip("/"))
    parts = path.parts
    is_inside = bool(parts) and not any(part.startswith(".") for part in parts)
    return str(path) if is_inside else None
