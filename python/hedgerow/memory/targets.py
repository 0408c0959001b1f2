"""What a root keeps up to date with its files: its index, and its store (spec/memory.md, "Sync")."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from hedgerow._engine import (
    Index,
    Node,
    Store,
    _adopt_nodes,
    _chunks_without_source,
    _Nodes,
    _sync_index,
    _sync_root,
    _sync_store,
)
from hedgerow.errors import HedgerowError
from hedgerow.ingest.index_target import current_ledger
from hedgerow.ingest.ledger import GivenRow, Ledger, Record
from hedgerow.ingest.source import Skip, Source, UnreadableSourceError
from hedgerow.ingest.sync import Reading, Writer, in_steps, sync_files
from hedgerow.typing import Progress

from .documents import Document, parse_document
from .links import links_of
from .node_state import UNLINKED, NodeState, is_unlinked, node_facts
from .nodes import LONGEST_KEY, node_of

_logger = logging.getLogger("hedgerow.memory")

_NODE_BATCH = 500

_STEP = 64
"""Files from one step of a progress bar to the next."""


class RootIndex:
    """The index of a root, whose files are known by their paths below the indexed folder."""

    def __init__(self, index: Index, scope: str) -> None:
        self.index = index
        self.ledger = current_ledger(index, scope, lambda chunk: chunk.path)
        self.added_files = self.changed_files = 0
        if len(index) != self.ledger.chunks:
            # Nothing but a sync writes here.
            index.delete(_chunks_without_source(index))

    def read(self, folder: Path, files: Mapping[str, str], progress: Progress | None) -> None:
        """Read files, each with its signature; one that cannot be read has no chunks then."""
        given = sorted(files.items())
        added, changed = _sync_root(self.index, self.ledger.found, folder, given, progress)
        self.added_files += added
        self.changed_files += changed
        self.ledger = self.ledger.refreshed(self.index)

    def drop(self, gone: Sequence[str]) -> None:
        """Drop files that are gone."""
        if gone:
            _sync_index(self.index, [], gone=gone)
            self.ledger = self.ledger.refreshed(self.index)


def document_of(reading: Reading) -> Document:
    """Return the document of a file, parsed once; UnreadableSourceError when it is none."""
    if reading.error is not None:
        raise reading.error
    if reading.parsed is None:
        reading.parsed = parse_document(reading.source.path, reading.source.data or b"")
    document: Document = reading.parsed
    return document


class RootStore:
    """The store of a root: a node for each file, and an edge for each link."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self._types = set(store.types)
        self.ledger = Ledger.load(store.index, scope)
        self._is_unlinked = is_unlinked(store)
        if not self.ledger.is_current:
            self._begin_anew(scope)
        elif len(store.index) != self.ledger.chunks:
            _sync_store(store, [], lost=_chunks_without_source(store.index), notes=UNLINKED)
            self._is_unlinked = True
        # Whose links are to be looked at again; None for all.
        self._changed: set[str] | None = None if self._is_unlinked else set()
        self._read: list[tuple[GivenRow, Node | None]] = []
        self._lost: list[str] = []

    def _begin_anew(self, scope: str) -> None:
        """Count every file as unread, as after a change of the folder or of how files are read."""
        ledger = self.ledger
        if ledger.is_new:
            _adopt_nodes(self._store)
        blank: list[tuple[GivenRow, Node | None]] = [
            (Record(path).row, None) for path in ledger.paths
        ]
        _sync_store(self._store, blank, notes=[*ledger.notes, *UNLINKED])
        self._is_unlinked = True
        self.ledger = Ledger.load(self._store.index, scope)

    def read(self, folder: Path, files: Mapping[str, str], progress: Progress | None) -> None:
        """Read files, each with its signature; the node of one that cannot be read is deleted."""
        sources = [Source(path, str(folder / path), files[path]) for path in sorted(files)]
        sync_files(sources, [self], in_steps(progress, _STEP))

    def wants(self, source: Source) -> bool:
        """Tell whether a file is not known to have been read as it is."""
        return not self.ledger.is_read(source.path, source.signature)

    def take(self, reading: Reading, writer: Writer) -> None:  # noqa: ARG002 - written later
        """Queue a file; the node of one that cannot be read is marked as deleted."""
        path = reading.source.path
        before = self.ledger.record(path)
        if before is not None and before.digest == reading.digest != "":
            record = reading.record(path, before.skips, dict(before.facts))
            self._put(record, None)
            return
        try:
            record, node = _node_of(reading)
        except UnreadableSourceError as error:
            skip = Skip(path, error.code, error.reason)
            # Without a digest it has no node.
            record = Record(path, reading.source.signature, settled=reading.settled, skips=(skip,))
            node = None
            if before is not None and before.chunks:
                self._lost.append(path)
        for skip in record.skips:
            _logger.warning("%s", skip)
        self._put(record, node)

    def _put(self, record: Record, node: Node | None) -> None:
        self._read.append((record.row, node))
        if node is not None and self._changed is not None:
            self._changed.add(record.path)

    def flush(self, writer: Writer, *, full: bool = False) -> None:
        """Have the queue written; with `full` only when there is enough in it."""
        if full and len(self._read) < _NODE_BATCH:
            return
        if self._read:
            work = partial(self._write, self._read, self._lost)
            self._read, self._lost = [], []
            writer.write(work, meanwhile=full)

    def _write(self, read: list[tuple[GivenRow, Node | None]], lost: list[str]) -> None:
        new = sorted({node.type for _, node in read if node is not None} - self._types)
        if new:
            self._store._register(new)  # noqa: SLF001 - of the same package
            self._types |= set(new)
        if lost or any(node is not None for _, node in read):
            self._is_unlinked = True
            _sync_store(self._store, read, lost=lost, notes=UNLINKED)
        else:
            _sync_store(self._store, read)

    def finish(self, gone: Iterable[str], *, relink: bool) -> None:
        """Drop files that are gone, and with `relink` make the edges those of the links."""
        dropped = list(gone)
        if dropped:
            self._is_unlinked = True
            _sync_store(self._store, [], gone=dropped, notes=UNLINKED)
        before, self.ledger = self.ledger, self.ledger.refreshed(self._store.index)
        if relink and self._is_unlinked:
            nodes = NodeState(self.ledger).nodes
            # Unless every name means what it meant, any link may lead elsewhere.
            is_as_it_was = _Nodes(before.found, nodes).is_named_like(nodes)
            done = [(name, None) for name, _ in UNLINKED]
            nodes.relink(self._store, self._changed if is_as_it_was else None, done)


def _node_of(reading: Reading) -> tuple[Record, Node]:
    """Make the node of a file, and its record; UnreadableSourceError when there is none."""
    document = document_of(reading)
    path = reading.source.path
    if len(path) > LONGEST_KEY:
        reason = f"its path has {len(path)} characters; a node has at most {LONGEST_KEY}"
        raise UnreadableSourceError("bad_name", reason)
    try:
        modified = int(Path(reading.source.file).stat().st_mtime)
        node, problems = node_of(document, modified)
    except FileNotFoundError:
        node, problems = node_of(document, 0)
    except HedgerowError as error:
        raise UnreadableSourceError("refused", error.message) from error
    links, wrong = links_of(document)
    if document.matter.problem:
        problems.append(
            f"front matter is no valid YAML ({document.matter.problem}); used the lines that read"
        )
    skips = [Skip(path, "bad_front_matter", problem) for problem in (*problems, *wrong)]
    return reading.record(path, skips, node_facts(document.title, links, document.aliases)), node
