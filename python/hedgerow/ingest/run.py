"""Bring an index up to date with files and folders (spec/ingest.md, "Runs")."""

# Not pathlib: names of files may hold bytes that are no UTF-8, and folders may be large.
# ruff: noqa: PTH110,PTH121
from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hedgerow import Chunk, Index, InvalidInputError

from .discovery import Discovery, PassedBy, check_not_empty, is_within
from .readers import read_chunks
from .source import Skip, Source, UnreadableSourceError

_BATCH = 512
"""Chunks that are written together, once whole files come to as many."""

_LONGEST_QUEUE = 10_000
"""Only a file of more chunks than this (JSON Lines) is written in parts."""

Progress = Callable[[int, int], None]
"""Told after each file: how many are done, of how many."""


@dataclass(slots=True)
class RunReport:
    """What a run did, in chunks where not said otherwise.

    `files` were read, `total_files` were found; `passed_by` counts what was found and not read,
    by reason, and `named` lists it where the discovery did. `added + changed + unchanged` is what the files hold now; `removed` chunks, of
    which `removed_files` files are wholly gone, no longer stand in any file.
    """

    files: int = 0
    total_files: int = 0
    removed_files: int = 0
    passed_by: Counter[str] = field(default_factory=Counter)
    named: list[PassedBy] = field(default_factory=list)
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skips: list[Skip] = field(default_factory=list)

    @property
    def ignored(self) -> int:
        """How many files have a name of another kind."""
        return self.passed_by["other"]


class IndexRun:
    """One run over the files `found` into `index`; `report` holds good when it is stopped.

    Files that changed are replaced, unchanged chunks are left alone (an embedding stays),
    and chunks of sections and files that are gone are deleted. Chunks that were not made
    from files are never touched.
    """

    def __init__(self, index: Index, found: Discovery, *, allow_empty: bool = False) -> None:
        self.report = RunReport(
            total_files=len(found.sources),
            passed_by=found.passed_by,
            named=found.named,
            skips=list(found.skips),
        )
        self._index = index
        self._allow_empty = allow_empty
        self._found = found
        self._claimed: set[str] = set()
        self._writes: list[Chunk] = []
        self._deletes: list[str] = []

    def run(self, progress: Progress | None = None) -> RunReport:
        """Read everything and write the differences.

        Raises IndexFileError when the index cannot be read or written; what was committed
        before stays. Raises InvalidInputError, with nothing changed, when a path has nothing to
        read and the index has files from there, unless `allow_empty`.
        """
        found = self._found
        self._held = _Held(self._index.chunks())
        gone = self._gone()
        if not self._allow_empty:
            self._check_not_empty(gone)
        for done, source in enumerate(found.sources, start=1):
            self._read(source)
            if len(self._writes) + len(self._deletes) >= _BATCH:
                self._write()
            if progress:
                progress(done, len(found.sources))
        for file in gone:
            if self._delete(self._held.ids_of(file)):
                self.report.removed_files += 1
        self._write()
        return self.report

    def _read(self, source: Source) -> None:
        """Queue what is new or changed in one file, and what has vanished from it."""
        notes: list[Skip] = []
        seen: set[str] = set()
        whole = True
        try:
            for chunk in read_chunks(source, notes):
                self._take(chunk, source, notes)
                seen.add(chunk.id)
                if len(self._writes) >= _LONGEST_QUEUE:
                    self._write()
            self.report.files += 1
        except UnreadableSourceError as error:
            notes.append(Skip(source.path, error.code, error.reason))
            whole = error.code == "empty"
        except InvalidInputError as error:
            notes.append(Skip(source.path, "refused", str(error)))
            whole = False
        self.report.skips.extend(notes)
        # A file that did not read whole says nothing about what it no longer holds.
        if whole and not any(note.code == "bad_line" for note in notes):
            self._delete(self._held.ids_of(source.file) - seen)

    def _take(self, chunk: Chunk, source: Source, notes: list[Skip]) -> None:
        line = (chunk.metadata or {}).get("line_start")
        if chunk.id in self._claimed:
            reason = f'the id "{chunk.id}" is used twice; make it unique'
            notes.append(Skip(source.path, "bad_line", reason, line))
            return
        owner = self._held.owner(chunk.id)
        if owner is not None and not _may_take(owner, source.file):
            if chunk.id == f"{source.path}#{chunk.ordinal}":
                raise UnreadableSourceError(
                    "path_taken",
                    f"the index holds {source.path} from {owner or 'elsewhere'} already; "
                    f"name this one in full: {source.file}",
                )
            reason = f'the id "{chunk.id}" belongs to {owner or "a chunk not made from files"}'
            notes.append(Skip(source.path, "bad_line", reason, line))
            return
        self._claimed.add(chunk.id)
        fingerprint = self._held.fingerprint(chunk.id)
        if fingerprint == _fingerprint(chunk):
            self.report.unchanged += 1
            return
        self._writes.append(chunk)

    def _gone(self) -> list[str]:
        """Give the files that no longer exist under the paths."""
        found = self._found
        known = {source.file for source in found.sources}
        return [
            file
            for file in self._held.files()
            if file not in known
            and is_within(file, found.covered)
            and not is_within(file, found.unknown)
            and not os.path.exists(file)
        ]

    def _check_not_empty(self, gone: list[str]) -> None:
        for folder in self._found.covered:
            here = [folder]
            found = sum(is_within(source.file, here) for source in self._found.sources)
            check_not_empty(folder, sum(is_within(file, here) for file in gone), found)

    def _delete(self, ids: set[str]) -> bool:
        """Queue deletions, but of no id that a file of this run has taken over."""
        free = sorted(ids - self._claimed)
        self._deletes.extend(free)
        return bool(free)

    def _write(self) -> None:
        """Write the queue: first what is new, so that a stop in between loses nothing."""
        writes, self._writes = self._writes, []
        for chunk in self._upsert(writes):
            if self._held.fingerprint(chunk.id) is None:
                self.report.added += 1
            else:
                self.report.changed += 1
        deletes, self._deletes = self._deletes, []
        deletes = [chunk_id for chunk_id in deletes if chunk_id not in self._claimed]
        if deletes:
            self.report.removed += self._index.delete(deletes)

    def _upsert(self, chunks: list[Chunk]) -> list[Chunk]:
        """Write the chunks; where the index refuses one, name it and write the others."""
        if not chunks:
            return []
        try:
            self._index.upsert(chunks)
        except InvalidInputError as error:
            if len(chunks) == 1:
                line = (chunks[0].metadata or {}).get("line_start")
                self.report.skips.append(Skip(chunks[0].path, "refused", str(error), line))
                return []
            middle = len(chunks) // 2
            return [*self._upsert(chunks[:middle]), *self._upsert(chunks[middle:])]
        return chunks


class _Held:
    """What the index holds before the run: whose each id is, and what it says."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self._fingerprints: dict[str, bytes] = {}
        self._owners: dict[str, str] = {}
        self._ids: dict[str, set[str]] = {}
        for chunk in chunks:
            file = (chunk.metadata or {}).get("source_file")
            owner = file if isinstance(file, str) else ""
            self._fingerprints[chunk.id] = _fingerprint(chunk)
            self._owners[chunk.id] = owner
            if owner:
                self._ids.setdefault(owner, set()).add(chunk.id)

    def owner(self, chunk_id: str) -> str | None:
        """Give the file of an id: "" when it was not made from one, None when unknown."""
        return self._owners.get(chunk_id)

    def fingerprint(self, chunk_id: str) -> bytes | None:
        return self._fingerprints.get(chunk_id)

    def files(self) -> list[str]:
        return sorted(self._ids)

    def ids_of(self, file: str) -> set[str]:
        return self._ids.get(file, set())


def _may_take(owner: str, file: str) -> bool:
    """Tell whether an id of one file may pass to another: it is the same one, or gone."""
    if owner == file:
        return True
    if not owner:
        return False
    try:
        return os.path.samefile(owner, file)
    except OSError:
        return not os.path.lexists(owner)


def _fingerprint(chunk: Chunk) -> bytes:
    """Sum up all that a file says of a chunk; an embedding is no part of it."""
    fields: list[Any] = [
        chunk.path,
        chunk.ordinal,
        chunk.title,
        chunk.summary,
        chunk.content,
        list(chunk.tags),
        chunk.metadata or {},
    ]
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
