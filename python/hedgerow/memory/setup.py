"""Setting up a root: its configuration, folders and `.gitignore` (spec/memory.md, "Setup")."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from hedgerow._engine import __version__
from hedgerow._operations.shapes import Result
from hedgerow.embedders.by_name import check_name
from hedgerow.errors import HedgerowError

from . import files, note
from .config import Config, checked_path, existing_root, read_config
from .names import CONFIG, DERIVED, DIRECTORIES, SCHEMA_VERSION

_IGNORE_COMMENT = "# hedgerow derived state"


@dataclass(frozen=True, slots=True)
class Initialized(Result):
    """What `init` did: the configuration of the root, and whether it and `.gitignore` were written."""

    root: str
    config_file: str
    schema_version: int
    config_created: bool
    memory_dirs: tuple[str, ...]
    gitignore_updated: bool


def initialize(
    path: str | os.PathLike[str], *, force: bool = False, embedder: str | None = None
) -> Initialized:
    """Make a folder a memory root: its configuration, its six folders, its `.gitignore`.

    An existing configuration stays unless `force` writes a new one; `embedder` is written into either. A
    root of a newer schema is refused and left as it was. Raises InvalidInputError for the name of no
    embedder, HedgerowError (`model_unavailable`) for `local` without an installed model.
    """
    if embedder is not None:
        check_name(embedder)
    root = checked_path(path)
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
            root.mkdir(parents=True)
        root = root.resolve()
    for folder in DIRECTORIES.values():
        with files.system_errors("make", root / folder):
            (root / folder).mkdir(exist_ok=True)
    ignored = _ignore_derived(root / ".gitignore")
    file = config.file if config is not None and config.file and not force else None
    version = SCHEMA_VERSION if file is None or config is None else config.schema_version
    if file is None:
        data = _bytes_of(root / CONFIG)
        files.update(root / CONFIG, _fresh_config().encode(), expected=data, root=root)
    if embedder is not None:
        _write_embedder(root / (file or CONFIG), embedder, root)
    return Initialized(
        root=str(root),
        config_file=file or CONFIG,
        schema_version=version,
        config_created=file is None,
        memory_dirs=tuple(DIRECTORIES.values()),
        gitignore_updated=ignored,
    )


def _readable_config(root: Path, *, force: bool) -> Config | None:
    """Read a configuration; with `force`, one that cannot be read counts as none."""
    try:
        return read_config(root)
    except HedgerowError:
        if force:
            return None
        raise


def _fresh_config() -> str:
    value = {
        "schemaVersion": SCHEMA_VERSION,
        "canonical": "markdown",
        "derivedDir": DERIVED,
        "memoryDirs": list(DIRECTORIES.values()),
        "createdAt": note.iso_time(note.now()),
        "createdBy": {"package": "hedgerow", "version": __version__},
    }
    return json.dumps(value, indent=2) + "\n"


def _write_embedder(file: Path, embedder: str, root: Path) -> None:
    """Set the embedder in a configuration, which can be read, and leave its other keys as they are."""
    data = _bytes_of(file) or b"{}"
    value = json.loads(data)
    if value.get("embedder") != embedder:
        text = json.dumps({**value, "embedder": embedder}, indent=2, ensure_ascii=False) + "\n"
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
