"""Bringing the index and the store of a root up to date with its files (spec/memory.md, "Sync")."""

from __future__ import annotations

import json
import logging
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any

from hedgerow._engine import Index, _Ledger, _Listing, _sync_root
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow.errors import IndexFileError
from hedgerow.ingest.source import (
    PassedBy,
    Skip,
    check_not_empty,
    passes_by,
    signature,
)
from hedgerow.typing import Progress

from . import files, note
from .derived import (
    Derived,
    check_folder,
    discard,
    identity_of,
    is_of_no_use,
    quarantine_foreign,
    remove_damaged,
)
from .files import locked, system_errors
from .names import TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from .root_files import RootFiles

__all__ = ["PassedBy", "SyncReport"]

_logger = logging.getLogger("hedgerow.memory")

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


def sync(  # noqa: PLR0913 - the options of a sync
    derived: Derived,
    progress: Progress | None = None,
    *,
    files: RootFiles | None = None,
    listing: _Listing | None = None,
    allow_empty: bool = False,
    with_store: bool = False,
) -> SyncReport:
    """Read what changed and write the differences; `progress(done, total)` counts files to read.

    `files` are the index and the store of a handle: what it knows is not read again. `listing` has the
    files of the root as of a moment ago; without it they are listed, and `named` in the report.

    The nodes of an existing store are brought up to date too; `with_store` makes a store, and the
    edges. A file that cannot be read is named in the report, and the run continues. Raises
    HedgerowError if index or store cannot be written; what was written before stays. Raises
    InvalidInputError if the root has no memory any more and had several, unless `allow_empty`.

    An index or a store that turns out to be damaged is rebuilt, once.
    """
    check_folder(derived)

    def attempt() -> SyncReport:
        known = RootFiles() if files is None else files
        try:
            return _sync(
                derived,
                progress,
                known,
                listing,
                allow_empty=allow_empty,
                with_store=with_store,
            )
        finally:
            if files is None:
                known.close()

    try:
        return attempt()
    except IndexFileError as error:
        if not is_of_no_use(error):
            raise
        with locked(derived.lock), system_errors("remove", derived.folder):
            if not remove_damaged(derived, error):
                raise
    return attempt()


def _sync(  # noqa: PLR0913 - the options of a sync
    derived: Derived,
    progress: Progress | None,
    files: RootFiles,
    listing: _Listing | None,
    *,
    allow_empty: bool,
    with_store: bool,
) -> SyncReport:
    with locked(derived.lock):
        run = _Run(derived, files, with_store=with_store)
        # A file that is gone from an earlier listing may have been written since.
        if listing is None or run.sync(listing, progress, most_gone=0) is not None:
            listing = derived.listing(named=True)
            most_gone = None if allow_empty or len(listing) else 1
            gone = run.sync(listing, progress, most_gone=most_gone)
            check_not_empty(str(derived.source_root), gone or 0, len(listing), "sync")
        _remove_leftovers(derived, listing)
        return _report(derived, listing, run)


def sync_one(derived: Derived, path: str, files: RootFiles) -> Skip | None:
    """Read one file that was just written; returns why the index does not have it, if it does not."""
    failure = sync_written(derived, [path], files).failure(path)
    return None if failure is None else Skip(*failure)


def sync_written(
    derived: Derived, paths: Sequence[str], files: RootFiles, *, with_store: bool = False
) -> _Ledger:
    """Read files that were just written; all files, if index or store have read nothing yet.

    Returns the ledger of the index. `with_store` makes a store, and its edges. `files` are the index and
    the store of a handle.
    """
    check_folder(derived)
    if derived.has_index:
        with locked(derived.lock):
            run = _Run(derived, files, with_store=with_store)
            if run.read_written(_signed(derived, paths)):
                return run.ledger
    sync(derived, files=files, with_store=with_store)
    return files.ledger(derived)


def _signed(derived: Derived, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Return the files that the rules take, each with its signature."""
    read = [path for path in paths if not passes_by(derived.rules, path)]
    files = []
    for path in read:
        with system_errors("read", derived.source_root / path):
            files.append((path, signature(derived.source_root / path)))
    return files


class _Run:
    """A sync into the index and perhaps the store of a root, by the holder of the lock."""

    def __init__(self, derived: Derived, files: RootFiles, *, with_store: bool = False) -> None:
        self._derived = derived
        self._files = files
        self._relinks = with_store
        quarantine_foreign(derived, files.known())
        self._index = files.index_to_write(derived)
        has_store = with_store or derived.has_store
        self._store = files.store_to_write(derived) if has_store else None
        self.ledger = files.ledger_in(derived, self._index)
        self.added = self.changed = self.gone = 0

    def sync(
        self, listing: _Listing, progress: Progress | None, *, most_gone: int | None
    ) -> int | None:
        """Read the files of a listing, and drop all others: at most `most_gone`.

        Returns None, or their count if they are more, and then nothing is changed.
        """
        return self._sync(listing, progress, most_gone)

    def read_written(self, written: Sequence[tuple[str, str]]) -> bool:
        """Read files that were just written. Returns False if index or store have read nothing before."""
        return self._sync(written) is None

    def _sync(
        self,
        found: _Listing | Sequence[tuple[str, str]],
        progress: Progress | None = None,
        most_gone: int | None = None,
    ) -> int | None:
        derived, files, store = self._derived, self._files, self._store
        done = _sync_root(
            self._index,
            self.ledger,
            store,
            None if store is None else files.nodes_in(derived, store),
            files.linked(derived),
            found,
            derived.source_root,
            derived.kinds,
            most_gone=most_gone,
            relinks=self._relinks,
            progress=progress,
        )
        if not isinstance(done, tuple):
            return 0 if done is None else done
        self.added, self.changed, self.gone, skips, self.ledger, nodes = done
        for skip in skips:
            _logger.warning("%s", Skip(*skip))
        files.note(derived, self.ledger, nodes)
        return None


def _report(derived: Derived, listing: _Listing, run: _Run) -> SyncReport:
    ledger = run.ledger
    return SyncReport(
        root=str(derived.root),
        documents=ledger.documents,
        added=run.added,
        changed=run.changed,
        removed=run.gone,
        skips=list(starmap(Skip, (*listing.skips, *ledger.skips))),
        passed_by=Counter(dict(listing.passed_by)),
        named=list(starmap(PassedBy, listing.named)),
        unused=derived.unused(listing),
    )


def _remove_leftovers(derived: Derived, listing: _Listing) -> None:
    """Remove the temporary files of killed writers in the indexed folder, the root and the derived folder.

    Those of several roots that are recalled together are left to the syncs of each root, which hold its
    lock.
    """
    for name in _EARLIER:
        (derived.folder / name).unlink(missing_ok=True)
    if not derived.members:
        files.remove_leftovers(map(Path, listing.leftovers))
    own = [derived.folder, derived.reports]
    if derived.source_root != derived.root:  # else listed
        own.append(derived.root)
    for folder in own:
        files.remove_leftovers(folder.glob(f"{TEMPORARY_PREFIX}*{TEMPORARY_SUFFIX}"))


def rebuild(
    derived: Derived, damage: IndexFileError, damaged: tuple[int, int] | None
) -> SyncReport:
    """Rebuild the index, unless another process has replaced the damaged file."""
    check_folder(derived)
    with locked(derived.lock), system_errors("remove", derived.index):
        if identity_of(derived.index) == damaged:
            discard(derived, damage)
    return sync(derived)


_VERSION = 1
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")


def write_manifest(derived: Derived) -> None:
    """Write the manifest from the contents of the index."""
    known: dict[str, tuple[Any, int]] = {}
    with Index.open(derived.index, read_only=True) as index:
        for chunk in index.chunks():
            if chunk.ordinal == 0:
                facts = chunk.metadata
                known[chunk.path] = facts["front_matter"], facts["body_start_line"]
        # A document without any chunk is in the ledger alone.
        for path, _, facts in _Ledger(index, derived.index_scope, True).facts():
            if "front_matter" in facts:
                known[path] = facts["front_matter"], facts["body_start_line"]
    value: dict[str, Any] = {"version": _VERSION, "root": str(derived.root)}
    if derived.source_root != derived.root:
        value["sourceRoot"] = str(derived.source_root)
    value["generatedAt"] = note.iso_time(note.now())
    base = str(derived.source_root / "_")[:-1]
    head = json.dumps(value, ensure_ascii=False)
    lines = (
        json.dumps(
            {
                "absolutePath": f"{base}{path}",
                "relativePath": path,
                "frontmatter": {name: _in_manifest(value) for name, value in fields.items()},
                "bodyStartLine": line,
            },
            ensure_ascii=False,
        )
        for path, (fields, line) in sorted(known.items())
    )
    # A line a document: quick to write, and to look through.
    listed = ",\n".join(lines)
    files.replace(derived.manifest, f'{head[:-1]}, "documents": [\n{listed}\n]}}\n')


def _in_manifest(value: Any) -> Any:
    """Return a value of front matter as other readers of the manifest expect it: `1.50` is a number there.

    JSON has no number for digits that are more than a float holds: they stay text.
    """
    if (
        isinstance(value, str)
        and _DECIMAL.fullmatch(value)
        and math.isfinite(number := float(value))
    ):
        return number
    return value
