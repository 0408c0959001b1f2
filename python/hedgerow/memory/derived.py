"""The folder `.hedgerow` of a root: what can be rebuilt from the Markdown files."""

from __future__ import annotations

import glob
import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hedgerow._engine import Index, Store
from hedgerow.errors import HedgerowError, IndexFileError, RetrievalError
from hedgerow.ingest.discovery import Rules

from .config import Config
from .documents import memory_rules
from .names import AGENTS, DERIVED, NODE_TYPES

_logger = logging.getLogger("hedgerow")

_OF_NO_USE = frozenset({"index_damaged", "not_an_index"})

OLDER = "index_read_only"
"""The code of a file that has to be opened for writing once, since an earlier version made it."""


@dataclass(frozen=True, slots=True)
class Derived:
    """The paths of the derived files of a root."""

    root: Path
    source_root: Path
    rules: Rules

    @classmethod
    def of(cls, config: Config) -> Derived:
        """Return the derived files of a configured root."""
        exclude = config.exclude
        agents = config.root / AGENTS
        if agents.is_relative_to(config.source_root):
            # Prompts, not memories; as a pattern that means this one folder.
            path = agents.relative_to(config.source_root).as_posix()
            exclude = (f"/{glob.escape(path)}", *exclude)
        return cls(config.root, config.source_root, memory_rules(exclude, config.include))

    @property
    def folder(self) -> Path:
        """The folder itself, which need not exist."""
        return self.root / DERIVED

    @property
    def index(self) -> Path:
        """The embedded index."""
        return self.folder / "index.db"

    @property
    def store(self) -> Path:
        """The store whose nodes are the files."""
        return self.folder / "store.db"

    @property
    def lock(self) -> Path:
        """The file that a writer locks."""
        return self.folder / "lock"

    @property
    def embedding_lock(self) -> Path:
        """What a process holds that embeds."""
        return self.folder / "embedding.lock"

    @property
    def manifest(self) -> Path:
        """The list of documents for other programs."""
        return self.folder / "index.json"

    @property
    def reports(self) -> Path:
        """The folder of the reports of lint."""
        return self.folder / "reports"

    @property
    def scope(self) -> str:
        """The indexed folder relative to the root."""
        return os.path.relpath(self.source_root, self.root).replace(os.sep, "/")


def open_to_write(derived: Derived) -> Index:
    """Open the index; one that is damaged or not an index is made anew."""
    try:
        return Index.open(derived.index)
    except IndexFileError as error:
        if not is_of_no_use(error):
            raise
        discard(derived, error)
        return Index.open(derived.index)


def is_of_no_use(error: IndexFileError) -> bool:
    """Report whether the file cannot be read at all, so that a new one loses nothing."""
    return error.code in _OF_NO_USE


def damage_in(error: HedgerowError) -> IndexFileError | None:
    """Return the damage that an error tells of, or that kept a search from answering; else None."""
    cause = error.__cause__ if isinstance(error, RetrievalError) else error
    return cause if isinstance(cause, IndexFileError) and is_of_no_use(cause) else None


def open_store_to_write(derived: Derived) -> Store:
    """Open the store; one that is damaged or not a store is made anew."""
    try:
        return Store.open(derived.store, types=NODE_TYPES)
    except IndexFileError as error:
        if not is_of_no_use(error):
            raise
        put_store_aside(derived, error)
        return Store.open(derived.store, types=NODE_TYPES)


def make_room(derived: Derived, damage: IndexFileError) -> bool:
    """Remove the index, or put the store aside, whichever the damage is in; False where neither.

    The caller holds the lock, and makes the file anew.
    """
    if str(derived.store) in damage.message:
        put_store_aside(derived, damage)
    elif str(derived.index) in damage.message:
        discard(derived, damage)
    else:
        return False
    return True


def put_store_aside(derived: Derived, damage: IndexFileError) -> None:
    """Keep a damaged store under another name, for only the store has visits; which is logged."""
    kept = derived.store.with_name(f"{derived.store.name}.damaged")
    _logger.warning(
        "%s; it is rebuilt from the files, without visits, and the old one kept as %s",
        damage.message,
        kept,
    )
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            derived.store.with_name(derived.store.name + suffix).replace(f"{kept}{suffix}")


def discard(derived: Derived, damage: IndexFileError) -> None:
    """Remove a damaged index, with its WAL and shared memory, which is logged.

    The caller holds the lock.
    """
    if derived.index.exists() and derived.index.stat().st_size > 0:
        _logger.warning("%s; it is rebuilt from the files", damage.message)
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            derived.index.with_name(derived.index.name + suffix).unlink()


def identity_of(file: Path) -> tuple[int, int] | None:
    """Tell a file from the one that takes its name later; None where there is none."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
