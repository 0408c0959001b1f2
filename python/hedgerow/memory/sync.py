"""Bringing the index and the store of a root up to date with its files (spec/memory.md, "Sync")."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated

from hedgerow._engine import Index
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow.errors import IndexFileError
from hedgerow.ingest.discovery import (
    Listing,
    PassedBy,
    check_not_empty,
    list_folder,
    passes_by,
    signature,
)
from hedgerow.ingest.ledger import Ledger
from hedgerow.ingest.source import Skip
from hedgerow.typing import Progress

from .derived import (
    Derived,
    check_folder,
    discard,
    disown,
    identity_of,
    is_of_no_use,
    make_room,
    open_store_to_write,
    open_to_write,
)
from .files import system_errors
from .lock import locked
from .targets import RootIndex, RootStore

__all__ = ["PassedBy", "SyncReport"]

_OLD = 600.0
_EARLIER = ("ledger", "nodes.json")
"""Files that an earlier hedgerow kept of what it had read."""


@dataclass(slots=True)
class SyncReport(Result):
    """What a sync did, in files: `documents` is how many are in the index now.

    `skips` has what could not be read. `passed_by` counts, by reason, what is below the indexed
    folder and is not read (spec/memory.md, "Discovery"); `named` lists it. `unused` are patterns of
    `exclude` in hedgerow.json that match nothing.
    """

    root: str
    documents: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    skips: Annotated[list[Skip], Field(key="skipped")] = field(default_factory=list)
    passed_by: Annotated[Counter[str], Field(local=True)] = field(default_factory=Counter)
    named: Annotated[list[PassedBy], Field(local=True)] = field(default_factory=list)
    unused: Annotated[list[str], Field(key="unusedPatterns", omit_default=True)] = field(
        default_factory=list
    )


def sync(
    derived: Derived,
    progress: Progress | None = None,
    *,
    allow_empty: bool = False,
    with_store: bool = False,
) -> SyncReport:
    """Read what changed and write the differences; `progress(done, total)` counts files to read.

    The nodes of an existing store are brought up to date too; `with_store` makes a store, and the
    edges. A file that cannot be read is named in the report, and the run continues. Raises
    HedgerowError if index or store cannot be written; what was written before stays. Raises
    InvalidInputError if the root has no memory any more and had several, unless `allow_empty`.

    An index or a store that turns out to be damaged is rebuilt, once.
    """
    check_folder(derived)

    def attempt() -> SyncReport:
        return _sync(derived, progress, allow_empty=allow_empty, with_store=with_store)

    try:
        return attempt()
    except IndexFileError as error:
        if not is_of_no_use(error):
            raise
        with locked(derived.lock), system_errors("remove", derived.folder):
            if not make_room(derived, error):
                raise
    return attempt()


def _sync(
    derived: Derived, progress: Progress | None, *, allow_empty: bool, with_store: bool
) -> SyncReport:
    with locked(derived.lock), _Run(derived, with_store=with_store) as run:
        listing = list_folder(derived.source_root, derived.rules, named=True)
        gone = run.gone(listing)
        if not allow_empty:
            folder = str(derived.source_root)
            check_not_empty(folder, max(map(len, gone)), len(listing.found))
        run.read(run.changed(listing), progress)
        run.drop(gone, relink=with_store)
        _remove_leftovers(derived, listing.leftovers)
        return _report(derived, listing, run, len(gone[0]))


def sync_one(derived: Derived, path: str) -> Skip | None:
    """Read one file that was just written; returns why the index does not have it, if it does not."""
    return _failure(sync_written(derived, [path]), path)


def sync_written(derived: Derived, paths: Sequence[str], *, with_store: bool = False) -> Ledger:
    """Read files that were just written; all files, where index or store have read nothing yet.

    Returns the ledger of the index. `with_store` makes a store, and its edges.
    """
    check_folder(derived)
    if derived.index.exists():
        with locked(derived.lock), _Run(derived, with_store=with_store) as run:
            if all(len(target.ledger) for target in run.targets):
                files = {}
                read = [path for path in paths if not passes_by(derived.rules, path)]
                for path in read:
                    with system_errors("read", derived.source_root / path):
                        files[path] = signature(derived.source_root / path)
                run.read([files for _ in run.targets])
                run.drop([[] for _ in run.targets], relink=with_store)
                return run.index.ledger
    sync(derived, with_store=with_store)
    with Index.open(derived.index, read_only=True) as index:
        return Ledger.load(index, derived.scope)


class _Run:
    """One run into the index and perhaps the store of a root, by a holder of the lock."""

    def __init__(self, derived: Derived, *, with_store: bool = False) -> None:
        self._derived = derived
        self._with_store = with_store or derived.store.exists()
        self._opened = ExitStack()
        self.store: RootStore | None = None

    def __enter__(self) -> _Run:  # noqa: PYI034 - not for subclasses
        derived = self._derived
        disown(derived)
        with self._opened as opened:
            self.index = RootIndex(opened.enter_context(open_to_write(derived)), derived.scope)
            if self._with_store:
                store = opened.enter_context(open_store_to_write(derived))
                self.store = RootStore(store, derived.scope)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def targets(self) -> list[RootIndex | RootStore]:
        """The index, and the store if there is one."""
        return [self.index] if self.store is None else [self.index, self.store]

    def gone(self, listing: Listing) -> list[list[str]]:
        """Return the files that each target knows and that are no more."""
        return [target.ledger.gone(listing) for target in self.targets]

    def changed(self, listing: Listing) -> list[dict[str, str]]:
        """Return the files that each target has to read, with their signatures."""
        return [target.ledger.changed(listing) for target in self.targets]

    def read(self, changed: Sequence[Mapping[str, str]], progress: Progress | None = None) -> None:
        """Have each target read files."""
        for target, files in zip(self.targets, changed, strict=True):
            target.read(self._derived.source_root, files, progress)

    def drop(self, gone: Sequence[Sequence[str]], *, relink: bool) -> None:
        """Drop what is gone from each target, and with `relink` join what is linked."""
        self.index.drop(gone[0])
        if self.store is not None:
            self.store.finish(gone[1], relink=relink)


def _failure(ledger: Ledger, path: str) -> Skip | None:
    """Return why a file could not be read."""
    record = ledger.record(path)
    return record.skips[0] if record is not None and record.failed else None


def _report(derived: Derived, listing: Listing, run: _Run, removed: int) -> SyncReport:
    ledger = run.index.ledger
    reported = [skip for record in ledger.failures() for skip in record.skips]
    return SyncReport(
        root=str(derived.root),
        documents=ledger.documents,
        added=run.index.added_files,
        changed=run.index.changed_files,
        removed=removed,
        skips=[*listing.skips, *reported],
        passed_by=listing.passed_by,
        named=listing.named,
        unused=derived.unused(listing),
    )


def _remove_leftovers(derived: Derived, files: Sequence[str]) -> None:
    """Remove what writers left that were killed; a young file may still have a writer."""
    for name in _EARLIER:
        (derived.folder / name).unlink(missing_ok=True)
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 - as listed
            if time.time() - status.st_mtime > _OLD:
                os.unlink(file)  # noqa: PTH108
        except FileNotFoundError:  # noqa: PERF203 - each file by itself
            continue


def rebuild(
    derived: Derived, damage: IndexFileError, damaged: tuple[int, int] | None
) -> SyncReport:
    """Make the index anew from nothing, unless another process has replaced the damaged file."""
    check_folder(derived)
    with locked(derived.lock), system_errors("remove", derived.index):
        if identity_of(derived.index) == damaged:
            discard(derived, damage)
    return sync(derived)
