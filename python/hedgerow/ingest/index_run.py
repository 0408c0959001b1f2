"""Bring an index up to date with files and folders (spec/ingest.md, "Runs")."""

# Not pathlib: names of files may hold bytes that are no UTF-8, and folders may be large.
# ruff: noqa: PTH110,PTH121
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from hedgerow._engine import Chunk, Index, _source_chunks, _source_files
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Progress

from .discovery import Discovery, PassedBy, check_not_empty, is_within
from .index_target import IndexTarget
from .ledger import Ledger, Record
from .readers import read_chunks
from .source import Skip, Source, UnreadableSourceError
from .sync import Reading, Writer, sync_files

_BATCH = 512
"""Chunks that are written together, once whole files come to as many."""

_LONGEST_QUEUE = 10_000
"""Only a file of more chunks than this (JSON Lines) is written in parts."""

_GROUP = 500
"""Chunks of a file that are looked up together."""

_SCOPE = "files"
_OF_OTHERS = frozenset({"path_taken", "bad_line", "refused"})
"""Reasons that may lie in other files: a file with one of them is read again each time."""


@dataclass(slots=True)
class IndexReport:
    """What a run did, in chunks where not said otherwise.

    `files` were read, now or before, `total_files` were found; `passed_by` counts what was found
    and not read, by reason, and `named` lists it where the discovery did. `added + changed +
    unchanged` is what the files hold now; `removed` chunks, of which `removed_files` files are
    wholly gone, no longer stand in any file. `skips` says what was left out and why. `embedded` chunks
    were given a vector; None where that was not asked for.
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
    embedded: int | None = None

    @property
    def ignored(self) -> int:
        """How many files have a name of another kind."""
        return self.passed_by["other"]

    def to_dict(self) -> dict[str, Any]:
        """Return what `hedgerow index --json` says of the run."""
        return {
            "files": self.files,
            "removedFiles": self.removed_files,
            "ignored": self.ignored,
            "added": self.added,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "skipped": [skip.to_dict() for skip in self.skips],
            **({} if self.embedded is None else {"embedded": self.embedded}),
        }


class IndexRun:
    """One run over the files `found` into `index`; `report` is right even when it is stopped.

    Files that changed are replaced, unchanged chunks are left alone (an embedding stays),
    and chunks of sections and files that are gone are deleted. Chunks that were not made
    from files are never touched.
    """

    def __init__(self, index: Index, found: Discovery, *, allow_empty: bool = False) -> None:
        self.report = IndexReport(
            total_files=len(found.sources),
            passed_by=found.passed_by,
            named=found.named,
            skips=list(found.skips),
        )
        self._index = index
        self._found = found
        self._allow_empty = allow_empty

    def run(self, progress: Progress | None = None) -> IndexReport:
        """Read what changed and write the differences.

        Raises IndexFileError when the index cannot be read or written; what was committed
        before stays. Raises InvalidInputError, with nothing changed, when a path has nothing to
        read and the index has files from there, unless `allow_empty`.
        """
        ledger = Ledger.load(self._index, _SCOPE).prepared(self._index, by_source_file=True)
        target = _Files(self._index, ledger, self._found.named_files, self.report)
        gone = self._gone(target)
        if not self._allow_empty:
            self._check_not_empty([record.path for record in gone if record.chunks])
        try:
            sync_files(self._found.sources, [target], progress)
            target.drop_gone(gone)
        finally:
            target.count()
        return self.report

    def _gone(self, target: _Files) -> list[Record]:
        """Return the files under the paths that are not read any more.

        One that was named stays as long as it exists, even where the rules of its folder pass it by.
        """
        found = self._found
        known = {source.file for source in found.sources}
        return [
            record
            for record in target.ledger.records()
            if record.path not in known
            and is_within(record.path, found.covered)
            and not is_within(record.path, found.unknown)
            and not (record.facts.get("named", True) and os.path.exists(record.path))
        ]

    def _check_not_empty(self, gone: Sequence[str]) -> None:
        for folder in self._found.covered:
            here = [folder]
            found = sum(is_within(source.file, here) for source in self._found.sources)
            check_not_empty(folder, sum(is_within(file, here) for file in gone), found)


class _Files(IndexTarget):
    """An index of files that are known by their absolute paths.

    What cannot be read says nothing about what it no longer holds, so its chunks stay.
    """

    def __init__(
        self, index: Index, ledger: Ledger, named: Collection[str], report: IndexReport
    ) -> None:
        super().__init__(index, ledger, _BATCH)
        self._named = named
        self._report = report
        self._claimed: set[str] = set()
        self._kept = 0

    def wants(self, source: Source) -> bool:
        """Tell whether a file is to be read; what is known of another is reported here."""
        if self.ledger.is_read(source.file, source.signature):
            record = self.ledger.record(source.file)
            if record is not None and record.facts == self._facts(source):
                self._note_unchanged(record)
                return False
        return True

    def take(self, reading: Reading, writer: Writer) -> None:
        """Queue what is new or changed in one file, and what has vanished from it."""
        source = reading.source
        before = self.ledger.record(source.file)
        if reading.error is not None:
            self._keep(reading, [Skip(source.path, reading.error.code, reading.error.reason)])
        elif (
            before is not None
            and before.digest == reading.digest
            and before.facts == self._facts(source)
        ):
            self._note_unchanged(before)
            self.put(self._record(reading, before.skips))
        else:
            self._read_chunks(reading, before, writer)

    def _read_chunks(self, reading: Reading, before: Record | None, writer: Writer) -> None:
        """Queue the chunks of a file, and report what was left out."""
        source = reading.source
        skips: list[Skip] = []
        seen: set[str] = set()
        queue: list[Chunk] = []
        try:
            for group in _groups(read_chunks(source, skips)):
                queue.extend(self._own(group, source, skips))
                seen.update(chunk.id for chunk in group)
                if len(queue) >= _LONGEST_QUEUE:
                    # Unread until its last part is written.
                    self.put(Record(source.file, facts=self._facts(source)), queue)
                    self.flush(writer, full=True)
                    queue = []
        except UnreadableSourceError as error:
            skips.append(Skip(source.path, error.code, error.reason))
            if error.code != "empty":
                self._keep(reading, skips)
                return
        except InvalidInputError as error:
            self._keep(reading, [*skips, Skip(source.path, "refused", str(error))])
            return
        is_whole = before is not None and not any(skip.code == "bad_line" for skip in skips)
        held = _source_chunks(self.index, source.file) if is_whole else []
        self._report.skips.extend(skips)
        self._report.files += not any(skip.code == "empty" for skip in skips)
        gone = [chunk_id for chunk_id in held if chunk_id not in seen]
        self.put(self._record(reading, skips), queue, gone)

    def _keep(self, reading: Reading, skips: list[Skip]) -> None:
        """Report a file that cannot be read; its chunks stay as they are."""
        self._report.skips.extend(skips)
        self.put(self._record(reading, skips))

    def _own(self, group: Sequence[Chunk], source: Source, skips: list[Skip]) -> list[Chunk]:
        """Return the chunks whose ids are free for this file; others are left out.

        Raises UnreadableSourceError when the path itself belongs to another file.
        """
        owners = dict(_source_files(self.index, [chunk.id for chunk in group]))
        taken = []
        for chunk in group:
            line = (chunk.metadata or {}).get("line_start")
            if chunk.id in self._claimed:
                reason = f'the id "{chunk.id}" is used twice; make it unique'
                skips.append(Skip(source.path, "bad_line", reason, line))
                continue
            owner = owners.get(chunk.id)
            if chunk.id in owners and not _may_take(owner, source.file):
                if chunk.id == f"{source.path}#{chunk.ordinal}":
                    raise UnreadableSourceError(
                        "path_taken",
                        f"the index holds {source.path} from {owner or 'elsewhere'} already; "
                        f"name this one in full: {source.file}",
                    )
                reason = f'the id "{chunk.id}" belongs to {owner or "a chunk not made from files"}'
                skips.append(Skip(source.path, "bad_line", reason, line))
                continue
            self._claimed.add(chunk.id)
            taken.append(chunk)
        return taken

    def drop_gone(self, gone: Sequence[Record]) -> None:
        """Delete the chunks of files that are gone, and forget these."""
        with Writer() as writer:
            for record in gone:
                if _source_chunks(self.index, record.path):
                    self._report.removed_files += 1
            self.drop(record.path for record in gone)
            self.flush(writer)

    def _write(
        self,
        read: Sequence[tuple[Record, Sequence[Chunk]]],
        removed: Sequence[str] = (),
        gone: Sequence[str] = (),
    ) -> None:
        """Write the queue; a chunk that the index refuses, say for its vector, is left out."""
        try:
            super()._write(read, removed, gone)
        except InvalidInputError:
            for record, chunks in read:
                refused = self._write_parts(Record(record.path, facts=record.facts), chunks)
                self._report.skips.extend(refused)
                known = record
                if refused:
                    skips = (*record.skips, *refused)
                    known = Record(record.path, skips=skips, facts=record.facts)
                super()._write([(known, ())])
            super()._write([], removed, gone)

    def _write_parts(self, unread: Record, chunks: Sequence[Chunk]) -> list[Skip]:
        """Write chunks of a file that remains unread; returns those that the index refuses."""
        if not chunks:
            return []
        try:
            super()._write([(unread, chunks)])
        except InvalidInputError as error:
            if len(chunks) == 1:
                line = (chunks[0].metadata or {}).get("line_start")
                return [Skip(chunks[0].path, "refused", str(error), line)]
            middle = len(chunks) // 2
            halves = chunks[:middle], chunks[middle:]
            return [skip for half in halves for skip in self._write_parts(unread, half)]
        return []

    def count(self) -> None:
        """Put what was written into the report."""
        report = self._report
        report.added, report.changed, report.removed = self.added, self.changed, self.removed
        report.unchanged = self._kept + self.unchanged

    def _record(self, reading: Reading, skips: Sequence[Skip]) -> Record:
        source = reading.source
        if any(skip.code in _OF_OTHERS for skip in skips):
            return Record(source.file, skips=tuple(skips), facts=self._facts(source))
        return reading.record(source.file, skips, self._facts(source))

    def _facts(self, source: Source) -> dict[str, Any]:
        return {"path": source.path, "named": source.file in self._named}

    def _note_unchanged(self, record: Record) -> None:
        """Report a file as it was when it was read."""
        self._report.skips.extend(record.skips)
        if not record.failed:
            self._report.files += 1
            self._kept += record.chunks

    def _still_removed(self, ids: list[str]) -> list[str]:
        return [chunk_id for chunk_id in ids if chunk_id not in self._claimed]


def _groups(chunks: Iterator[Chunk]) -> Iterator[list[Chunk]]:
    while group := list(islice(chunks, _GROUP)):
        yield group


def _may_take(owner: str | None, file: str) -> bool:
    """Tell whether an id of one file may pass to another: it is the same one, or gone."""
    if owner == file:
        return True
    if not owner:
        return False
    try:
        return os.path.samefile(owner, file)
    except OSError:
        return not os.path.lexists(owner)
