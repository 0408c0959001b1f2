"""An index as a target of a sync: chunks are queued with the records of their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from hedgerow._engine import Chunk, Index, _sync_index

from .ledger import Ledger, Record
from .source import Source
from .sync import Writer


class IndexTarget:
    """Queues what is made of files, and writes it once whole files come to `batch` chunks.

    `added`, `changed`, `unchanged` and `removed` count chunks that were written.
    """

    def __init__(self, index: Index, ledger: Ledger, batch: int) -> None:
        self.index = index
        self.ledger = ledger
        self.added = self.changed = self.unchanged = self.removed = 0
        self._batch = batch
        self._read: list[tuple[Record, Sequence[Chunk]]] = []
        self._removed: list[str] = []
        self._gone: list[str] = []
        self._size = 0

    def wants(self, source: Source) -> bool:
        """Tell whether a file has to be read: the ledger does not have it as it is now."""
        return not self.ledger.is_read(source.path, source.signature)

    def put(
        self, record: Record, chunks: Sequence[Chunk] = (), removed: Iterable[str] = ()
    ) -> None:
        """Queue a file with those of its chunks that may be new, and ids it no longer has."""
        self._read.append((record, chunks))
        before = len(self._removed)
        self._removed.extend(removed)
        self._size += len(chunks) + len(self._removed) - before + 1

    def drop(self, paths: Iterable[str]) -> None:
        """Queue files that are gone."""
        self._gone.extend(paths)

    def flush(self, writer: Writer, *, full: bool = False) -> None:
        """Have the queue written; with `full` only when there is enough in it."""
        if full and self._size < self._batch:
            return
        if self._read or self._removed or self._gone:
            work = partial(self._write, self._read, self._still_removed(self._removed), self._gone)
            self._read, self._removed, self._gone, self._size = [], [], [], 0
            writer.write(work, meanwhile=full)

    def _still_removed(self, ids: list[str]) -> list[str]:
        return ids

    def _write(
        self,
        read: Sequence[tuple[Record, Sequence[Chunk]]],
        removed: Sequence[str] = (),
        gone: Sequence[str] = (),
    ) -> None:
        rows = [(record.row, chunks) for record, chunks in read]
        counts = _sync_index(self.index, rows, removed=removed, gone=gone)
        self.added += counts[0]
        self.changed += counts[1]
        self.unchanged += counts[2]
        self.removed += counts[3]
