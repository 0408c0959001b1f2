"""Setting up a root: its configuration, folders and `.gitignore` (spec/memory.md, "Setup")."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from hedgerow._checks import checked_flag, checked_path
from hedgerow._engine import __version__
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow.embedders.by_name import check_name
from hedgerow.errors import HedgerowError

from . import files, note
from .config import Config, existing_root, read_config
from .names import CONFIG, DERIVED, DIRECTORIES, SCHEMA_VERSION
from .vault import detect_vault, folder_for_notes

_IGNORE_COMMENT = "# hedgerow derived state"


@dataclass(frozen=True, slots=True)
class Initialized(Result):
    """What `init` did: the configuration of the root, and whether it and `.gitignore` were written.

    `memory_dirs` are the folders for new memories, and `vault` is the tool that keeps the folder, if any.
    """

    root: str
    config_file: str
    schema_version: int
    config_created: bool
    memory_dirs: tuple[str, ...]
    gitignore_updated: bool
    vault: Annotated[str | None, Field(omit_default=True)] = None


def initialize(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    embedder: str | None = None,
    vault: bool = False,
) -> Initialized:
    """Make a folder a memory root: its configuration, its six folders, its `.gitignore`.

    A vault of Obsidian or Logseq, or with `vault` any folder, gets no folders: memories are written where
    it keeps notes. A `.gitignore` is written there only if the vault is in a repository.
    An existing configuration stays unless `force` writes a new one; `embedder` is written into either. A
    root of a newer schema is refused and left as it was. Raises InvalidInputError for the name of no
    embedder, HedgerowError (`model_unavailable`) for `local` without an installed model.
    """
    checked_flag(force, "force")
    checked_flag(vault, "vault")
    if embedder is not None:
        check_name(embedder)
    root = checked_path(path, "path", code="root_not_found")
    with files.system_errors("make", root):  # as for a name that is too long
        exists = root.exists()
    if exists:
        root = existing_root(root)
        config = _readable_config(root, force=force)
        if config is not None and (config.code == "root_too_new" or not force):
            config.check()
    else:
        config = None
        with files.system_errors("make", root):
            files.make_folders(root)
        root = root.resolve()
    file = config.file if config is not None and config.file and not force else None
    kept = config.vault if file is not None and config is not None else detect_vault(root)
    tool = kept or ("obsidian" if vault else None)
    if tool is None:
        folders = tuple(DIRECTORIES.values())
        for folder in folders:
            with files.system_errors("make", root / folder):
                (root / folder).mkdir(exist_ok=True)
    else:
        folders = (folder_for_notes(root, tool),)
        with files.system_errors("make", root / DERIVED):
            (root / DERIVED).mkdir(exist_ok=True)
    is_ignorable = tool is None or _is_in_repository(root)
    ignored = is_ignorable and _ignore_derived(root / ".gitignore")
    version = SCHEMA_VERSION if file is None or config is None else config.schema_version
    if file is None:
        data = _bytes_of(root / CONFIG)
        files.update(root / CONFIG, _fresh_config(folders).encode(), expected=data, root=root)
    for key, value in (("embedder", embedder), ("vault", tool)):
        if value is not None:
            _write_setting(root / (file or CONFIG), key, value, root)
    return Initialized(
        root=str(root),
        config_file=file or CONFIG,
        schema_version=version,
        config_created=file is None,
        memory_dirs=folders,
        gitignore_updated=ignored,
        vault=tool,
    )


def _readable_config(root: Path, *, force: bool) -> Config | None:
    """Read a configuration; with `force`, one that cannot be read counts as none."""
    try:
        return read_config(root)
    except HedgerowError:
        if force:
            return None
        raise


def _is_in_repository(root: Path) -> bool:
    return any((folder / ".git").exists() for folder in (root, *root.parents))


def _fresh_config(folders: Sequence[str]) -> str:
    value = {
        "schemaVersion": SCHEMA_VERSION,
        "canonical": "markdown",
        "derivedDir": DERIVED,
        "memoryDirs": list(folders),
        "createdAt": note.iso_time(note.now()),
        "createdBy": {"package": "hedgerow", "version": __version__},
    }
    return json.dumps(value, indent=2) + "\n"


def _write_setting(file: Path, key: str, setting: str, root: Path) -> None:
    """Set a key of a configuration, which can be read, and leave its other keys as they are."""
    data = _bytes_of(file) or b"{}"
    value = json.loads(data)
    if value.get(key) != setting:
        text = json.dumps({**value, key: setting}, indent=2, ensure_ascii=False) + "\n"
        files.update(file, text.encode(), expected=data, root=root)


def _ignore_derived(file: Path) -> bool:
    """Add the derived folder to `.gitignore` unless a line has it already."""
    old = _bytes_of(file)
    data = old or b""
    names = {DERIVED.encode(), f"{DERIVED}/".encode()}
    if any(line.strip() in names for line in data.splitlines()):
        return False
    if data and not data.endswith(b"\n"):
        data += b"\n"
    data += f"{_IGNORE_COMMENT}\n{DERIVED}/\n".encode()
    files.update(file, data, expected=old, root=file.parent)
    return True


def _bytes_of(file: Path) -> bytes | None:
    with files.system_errors("read", file):
        return file.read_bytes() if file.exists() else None
