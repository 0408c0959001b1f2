"""What an index or a store has read of each file (spec/ingest.md, "The ledger").

It is kept in the SQLite file that it describes and written in the same transactions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hedgerow._engine import Index, Store, _Ledger, _Listing, _prepared_index, _prepared_store
from hedgerow.errors import IndexFileError

from .source import Skip

Row = tuple[str, str, bool, str, int, str, str]
"""Path, signature, whether that is settled, digest, number of chunks, skips and facts."""

SCOPE = "scope"
"""The note with the subject of a ledger."""

_STILL_READ = frozenset({"bad_front_matter", "bad_line", "git_conflict"})


@dataclass(frozen=True, slots=True)
class Record:
    """One file: its signature and digest when it was read, what was left out, and facts about it.

    Without a signature it has to be read again, and without a digest it could not be read. A record
    that is not settled was read so soon after its file changed that another change may not show
    in the signature.
    """

    path: str
    signature: str = ""
    digest: str = ""
    settled: bool = True
    chunks: int = 0
    skips: tuple[Skip, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the file could not be read."""
        return any(skip.code not in _STILL_READ for skip in self.skips)


class Ledger:
    """The records of an index as they were when they were loaded, by path.

    `is_current` says that they are about the folder `scope` and made by the readers of this version; otherwise
    all files have to be read again.
    """

    def __init__(self, ledger: _Ledger, file: Path | None) -> None:
        self.found = ledger
        self._file = file
        self.is_current = ledger.is_current

    @classmethod
    def load(cls, index: Index, scope: str, *, facts: bool = False) -> Ledger:
        """Read the ledger of an index; without `facts`, which take the most memory, its records have none."""
        return cls(_Ledger(index, scope, facts), index.path)

    def prepared(self, into: Index | Store, *, by_source_file: bool = False) -> Ledger:
        """Return the ledger of an index or a store that is prepared for a sync.

        In one of another scope no file counts as read. Chunks from before there was a ledger are those
        of their path, or with `by_source_file` of that file in their metadata.
        """
        index = into if isinstance(into, Index) else into.index
        if self.is_current and (by_source_file or len(index) == self.found.chunks):
            return self
        if isinstance(into, Index):
            ledger = _prepared_index(into, self.found, by_source_file)
        else:
            ledger = _prepared_store(into, self.found)
        return self if ledger is None else Ledger(ledger, self._file)

    def refreshed(self, index: Index) -> Ledger:
        """Return the ledger with what has changed since; itself where nothing has."""
        ledger = self.found.refreshed(index)
        return self if ledger is None else Ledger(ledger, self._file)

    def __len__(self) -> int:
        return len(self.found)

    def record(self, path: str) -> Record | None:
        """Return the record of a path."""
        row = self.found.row(path)
        return None if row is None else self._record(row)

    def records(self) -> Iterator[Record]:
        """Return all records, in path order."""
        return map(self._record, self.found.rows())

    def has_read(self, listing: _Listing, folder: Path) -> bool:
        """Tell whether the listed files below a folder are just these, and all are read as they are.

        Files that were read so soon after a change that another may not show are compared by content,
        if they are few.
        """
        return self.found.has_read(listing, folder)

    def stale(self, listing: _Listing, folder: Path) -> int:
        """Return the number of files below a folder that changed since they were read, or are gone."""
        return self.found.stale(listing, folder)

    @cached_property
    def _failures(self) -> list[Record]:
        """The records with something to report, in path order."""
        return list(map(self._record, self.found.rows(skips=True)))

    @property
    def skips(self) -> list[Skip]:
        """The reported problems of files, in path order."""
        return [skip for record in self._failures for skip in record.skips]

    @property
    def documents(self) -> int:
        """The number of readable files."""
        return len(self) - sum(record.failed for record in self._failures)

    def _record(self, row: Row) -> Record:
        path, signature, settled, digest, chunks, skips, facts = row
        try:
            skipped = tuple(Skip(*skip) for skip in json.loads(skips)) if skips else ()
            told = dict(json.loads(facts)) if facts else {}
        except (TypeError, ValueError) as error:
            raise IndexFileError(
                f"the index {self._file} is damaged (its notes on {path!r} are not JSON); rebuild "
                "it from the files",
                code="index_damaged",
                path=self._file,
            ) from error
        return Record(path, signature, digest, settled, chunks, skipped, told)
