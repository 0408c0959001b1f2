"""Bringing the index of a root up to date with its files (spec/memory.md, "Sync")."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hedgerow.errors import InvalidInputError
from hedgerow.index import Chunk, Index
from hedgerow.ingest.discovery import (
    Listing,
    PassedBy,
    check_not_empty,
    list_folder,
    signature,
)
from hedgerow.ingest.markdown import bad_front_matter, markdown_chunks
from hedgerow.ingest.source import Skip, Source, UnreadableSourceError, read_bytes

from . import documents
from .derived import Derived, discard, open_to_write
from .files import system_errors
from .freshness import differences
from .ledger import Entry, Ledger, digest_of, is_settled, pending
from .lock import locked

if TYPE_CHECKING:
    from hedgerow.ingest.run import Progress

_BATCH = 2000
"""Chunks that are written together, once whole files come to as many."""

_STEP = 64
"""Files from one step of a progress bar to the next."""

_OLD = 600.0


@dataclass(slots=True)
class SyncReport:
    """What a sync did, in files: `documents` are in the index now, `skips` could not be read.

    `passed_by` counts what is below the root and is not read, by reason; `named` lists it.
    """

    root: str
    documents: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    skips: list[Skip] = field(default_factory=list)
    passed_by: Counter[str] = field(default_factory=Counter)
    named: list[PassedBy] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON."""
        return {
            "root": self.root,
            "documents": self.documents,
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "skipped": [skip.to_dict() for skip in self.skips],
        }


def sync(
    derived: Derived, progress: Progress | None = None, *, allow_empty: bool = False
) -> SyncReport:
    """Read what changed and write the differences; `progress(done, total)` counts files to read.

    A file that cannot be read is named in the report, and the rest goes on. Raises
    HedgerowError when the index cannot be written; what was written before stays. Raises
    InvalidInputError when the root has no memory any more and had several, unless `allow_empty`.
    """
    with locked(derived.lock):
        listing = list_folder(str(derived.source_root), derived.rules, named=True)
        ledger = Ledger.load(derived.ledger, derived.scope)
        with open_to_write(derived) as index:
            # An index that was made anew has none of what a ledger tells.
            ledger = _trusted(derived, ledger, index)
            run = _Run(derived, ledger, index, progress)
            run.update(listing, allow_empty=allow_empty)
            ledger.compact()
        _remove_leftovers(listing.leftovers)
        return _report(derived, ledger, listing, run)


def sync_one(derived: Derived, path: str) -> Skip | None:
    """Read one file that was just written; all, where the index has read nothing yet.

    Returns why the index does not have it, or None when it does.
    """
    if derived.index.exists() and derived.ledger.exists():
        with locked(derived.lock):
            ledger = Ledger.load(derived.ledger, derived.scope)
            with system_errors("read", derived.source_root / path):
                status = (derived.source_root / path).stat()
            if ledger is not None and path not in ledger.lines:
                with open_to_write(derived) as index:
                    if len(index) or not ledger.lines:
                        run = _Run(derived, ledger, index)
                        run.read({path: signature(status)})
                        entry = ledger.entry(path)
                        return entry.skips[0] if entry and entry.failed else None
    skips = (skip for skip in sync(derived).skips if skip.code != "bad_front_matter")
    return next((skip for skip in skips if skip.path == path), None)


def _trusted(derived: Derived, ledger: Ledger | None, index: Index) -> Ledger:
    """Give the ledger when it agrees with the index, else one in which all is pending."""
    if ledger is not None and derived.ledger.exists():
        expected = sum(int(rest.split("\t")[2]) for rest in ledger.lines.values())
        uncertain = any(rest.startswith("\t") for rest in ledger.lines.values())
        if uncertain or expected == len(index):
            return ledger
    known: dict[str, int] = {}
    for chunk in index.chunks():
        known[chunk.path] = max(known.get(chunk.path, 0), chunk.ordinal + 1)
    ledger = Ledger(derived.ledger, derived.scope)
    ledger.lines = {path: pending(count).line() for path, count in known.items()}
    ledger.rewrite()
    return ledger


@dataclass(slots=True)
class _Reading:
    """One file that was read: what it was before, and what it is now."""

    path: str
    before: Entry | None
    entry: Entry
    chunks: list[Chunk]

    @property
    def is_same(self) -> bool:
        """Whether the file says what it said."""
        return self.before is not None and self.before.digest == self.entry.digest != ""


class _Run:
    """One run of differences into an index, by a holder of the lock."""

    def __init__(
        self, derived: Derived, ledger: Ledger, index: Index, progress: Progress | None = None
    ) -> None:
        self.added = self.changed = self.removed = 0
        self._derived = derived
        self._ledger = ledger
        self._index = index
        self._progress = progress

    def update(self, listing: Listing, *, allow_empty: bool) -> None:
        """Read what changed, first; then drop what is gone."""
        changed, gone = differences(self._ledger, listing)
        if not allow_empty:
            check_not_empty(str(self._derived.source_root), len(gone), len(listing.files))
        self.read(changed)
        self._drop(gone)

    def read(self, changed: dict[str, str]) -> None:
        """Read files and write them, the next ones being read meanwhile."""
        batches = self._batches(changed)
        first = next(batches, None)
        second = next(batches, None)
        if first is None:
            return
        if second is None:
            self._write(first)
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - slow to import

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._write, first)
            batch: list[_Reading] | None = second
            while batch is not None:
                following = next(batches, None)
                running.result()
                running = pool.submit(self._write, batch)
                batch = following
            running.result()

    def _batches(self, changed: dict[str, str]) -> Iterator[list[_Reading]]:
        batch: list[_Reading] = []
        size = 0
        for done, path in enumerate(sorted(changed), start=1):
            if self._progress is not None and (done % _STEP == 0 or done == len(changed)):
                self._progress(done, len(changed))
            reading = self._read(path, changed[path])
            if reading is None:
                continue
            batch.append(reading)
            size += len(reading.chunks) + 1
            if size >= _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _read(self, path: str, signature: str) -> _Reading | None:
        """Read one file; None when it has gone meanwhile, which the next run will see."""
        before = self._ledger.entry(path)
        source = Source(path, str(self._derived.source_root / path))
        settled = is_settled(signature, time.time_ns())
        try:
            data = read_bytes(source)
        except UnreadableSourceError as error:
            if not os.path.lexists(source.file):
                return None
            skip = Skip(path, error.code, error.reason)
            return _Reading(path, before, Entry(signature, "-", 0, (skip,), settled), [])
        digest = digest_of(data)
        if before is not None and before.digest == digest:
            entry = Entry(signature, digest, before.chunks, before.skips, settled)
            return _Reading(path, before, entry, [])
        chunks, skips = _chunks_of(source, data)
        return _Reading(path, before, Entry(signature, digest, len(chunks), skips, settled), chunks)

    def _write(self, batch: Sequence[_Reading]) -> None:
        new = [reading for reading in batch if not reading.is_same]
        if new:
            self._ledger.append((reading.path, pending(_most(reading))) for reading in new)
            self._index.upsert(chunk for reading in new for chunk in reading.chunks)
            self._index.delete(
                f"{reading.path}#{ordinal}"
                for reading in new
                for ordinal in range(reading.entry.chunks, _before(reading))
            )
        self._ledger.append((reading.path, reading.entry) for reading in batch)
        for reading in new:
            if reading.before is not None:
                self.changed += 1
            elif not reading.entry.failed:
                self.added += 1

    def _drop(self, gone: Sequence[str]) -> None:
        if not gone:
            return
        entries = [(path, self._ledger.entry(path)) for path in gone]
        self._ledger.append((path, pending(entry.chunks)) for path, entry in entries if entry)
        self._index.delete(
            f"{path}#{ordinal}"
            for path, entry in entries
            if entry
            for ordinal in range(entry.chunks)
        )
        self._ledger.append((path, None) for path in gone)
        self.removed += len(gone)


def _chunks_of(source: Source, data: bytes) -> tuple[list[Chunk], tuple[Skip, ...]]:
    """Cut a file into chunks, with its front matter in each; say why where there are none."""
    try:
        document = documents.parse_document(source.path, data)
    except UnreadableSourceError as error:
        return [], (Skip(source.path, error.code, error.reason),)
    matter = document.matter
    skips = (bad_front_matter(source, matter),) if matter.problem else ()
    metadata = {
        "front_matter": document.metadata,
        "body_start_line": document.body_start_line,
    }
    try:
        return list(markdown_chunks(source, document.lines, matter, metadata)), skips
    except UnreadableSourceError:
        # An empty note is a note; there is nothing in it to find.
        return [], skips
    except InvalidInputError as error:
        return [], (Skip(source.path, "refused", error.message),)


def _before(reading: _Reading) -> int:
    return reading.before.chunks if reading.before else 0


def _most(reading: _Reading) -> int:
    return max(_before(reading), reading.entry.chunks)


def _report(derived: Derived, ledger: Ledger, listing: Listing, run: _Run) -> SyncReport:
    reported = [skip for entry in ledger.failures() for skip in entry.skips]
    return SyncReport(
        root=str(derived.root),
        documents=ledger.documents,
        added=run.added,
        changed=run.changed,
        removed=run.removed,
        skips=[*listing.skips, *reported],
        passed_by=listing.passed_by,
        named=listing.named,
    )


def _remove_leftovers(files: Sequence[str]) -> None:
    """Remove what writers left that were killed; a young file may still have a writer."""
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 - as listed
            if time.time() - status.st_mtime > _OLD:
                os.unlink(file)  # noqa: PTH108
        except FileNotFoundError:  # noqa: PERF203 - each file by itself
            continue


def rebuild(derived: Derived) -> SyncReport:
    """Make the index anew from nothing."""
    with locked(derived.lock), system_errors("remove", derived.index):
        discard(derived)
    return sync(derived)
