"""Bringing the store of a root up to date with its files (spec/memory.md, "The store")."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError
from hedgerow.ingest.discovery import Listing, list_folder
from hedgerow.ingest.source import Skip, Source, UnreadableSourceError, read_bytes
from hedgerow.pipeline import Node, Store

from .derived import Derived, open_store_to_write
from .documents import parse_document
from .files import system_errors
from .ledger import digest_of, is_settled
from .links import links_of
from .lock import locked
from .node_state import NodeState, Record, StateCache
from .nodes import LONGEST_KEY, node_of

if TYPE_CHECKING:
    from hedgerow.ingest.run import Progress

_logger = logging.getLogger("hedgerow")

_BATCH = 500
_STEP = 64
_UNSETTLED = "?"


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file that was read: what is known of it now, and its node where that is another."""

    path: str
    record: Record
    node: Node | None = None


def sync_nodes(derived: Derived, cache: StateCache, progress: Progress | None = None) -> NodeState:
    """Read what changed and write nodes and edges; give what is known of all files.

    Takes no lock where nothing changed. Raises HedgerowError when the store cannot be written;
    the next sync then reads every file.
    """
    state = current_state(derived, cache)
    if state is not None and not _changes(
        state, list_folder(str(derived.source_root), derived.rules)
    ):
        return state
    with locked(derived.lock):
        listing = list_folder(str(derived.source_root), derived.rules)
        with open_store_to_write(derived) as store:
            state = current_state(derived, cache)
            if state is not None and store.query("all | count").count != len(state.nodes()):
                state = None
            run = _Run(derived, store, state)
            run.update(listing, progress)
            return run.state


def current_state(derived: Derived, cache: StateCache) -> NodeState | None:
    """Give what is known of the files; None where there is no store, or it is uncertain."""
    return cache.load(derived.node_state, derived.scope) if derived.store.exists() else None


def _changes(state: NodeState, listing: Listing) -> bool:
    return bool(state.differences(listing.files) or _gone(state, listing))


def _gone(state: NodeState, listing: Listing) -> list[str]:
    """Give the paths that are no more; what is in a folder that could not be listed stays."""
    unknown = tuple(listing.unknown)
    return [
        path for path in state.records if path not in listing.files and not path.startswith(unknown)
    ]


class _Run:
    """One run of differences into a store, by a holder of the lock."""

    def __init__(self, derived: Derived, store: Store, state: NodeState | None) -> None:
        self._derived = derived
        self._store = store
        # Where the state is uncertain, the nodes that no file stands behind go at the end.
        self._strays = set(store.query("all").keys) if state is None else set[str]()
        self._under_way = state is None
        self._types: set[str] = set(store.types)
        # Whose links are to be looked at anew; all, unless every name means what it meant.
        self._changed: set[str] | None = None if state is None else set[str]()
        self._titles = {} if state is None else state.titles()
        self.state = NodeState(derived.scope, {} if state is None else dict(state.records))

    def update(self, listing: Listing, progress: Progress | None) -> None:
        """Read what changed, drop what is gone, and join what is linked."""
        changed = self.state.differences(listing.files)
        gone = _gone(self.state, listing)
        touched = bool(changed or gone or self._under_way)
        for batch in self._batches(changed, progress):
            self._write(batch)
        self._drop(gone)
        if self._under_way:
            self._relink()
        if touched:
            self.state.save(self._derived.node_state)

    def _batches(
        self, changed: dict[str, str], progress: Progress | None
    ) -> Iterator[list[_Reading]]:
        batch: list[_Reading] = []
        for done, path in enumerate(sorted(changed), start=1):
            if progress is not None and (done % _STEP == 0 or done == len(changed)):
                progress(done, len(changed))
            reading = self._read(path, changed[path])
            if reading is not None:
                batch.append(reading)
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _read(self, path: str, signature: str) -> _Reading | None:
        """Read one file; None when it has gone meanwhile, which the next run will see."""
        if not is_settled(signature, time.time_ns()):
            signature = _UNSETTLED + signature
        source = Source(path, str(self._derived.source_root / path))
        try:
            data = read_bytes(source)
            digest = digest_of(data)
            before = self.state.records.get(path)
            if before is not None and before.digest == digest:
                kept = (before.title, before.links, before.skips)
                return _Reading(path, Record(signature, digest, *kept))
            modified = int(Path(source.file).stat().st_mtime)
            return _reading(path, data, signature, digest, modified)
        except FileNotFoundError:
            return None
        except UnreadableSourceError as error:
            if not Path(source.file).exists():
                return None
            skip = Skip(path, error.code, error.reason)
            return _Reading(path, Record(signature, "", skips=(skip,)))

    def _write(self, batch: Sequence[_Reading]) -> None:
        nodes = [reading.node for reading in batch if reading.node is not None]
        lost = [
            reading.path
            for reading in batch
            if not reading.record.digest and self._has_node(reading.path)
        ]
        if nodes or lost:
            self._begin()
        if self._changed is not None:
            self._changed |= {node.key for node in nodes}
        new = sorted({node.type for node in nodes} - self._types)
        if new:
            self._store._register(new)  # noqa: SLF001 - of the same package
            self._types |= set(new)
        if nodes:
            self._store.upsert(nodes)
        if lost:
            self._store.delete(lost)
        for reading in batch:
            if reading.node is not None or not reading.record.digest:
                for skip in reading.record.skips:
                    _logger.warning("%s", skip)
            self.state.records[reading.path] = reading.record
            if reading.record.digest:
                self._strays.discard(reading.path)

    def _has_node(self, path: str) -> bool:
        before = self.state.records.get(path)
        return before is not None and before.digest != ""

    def _drop(self, gone: Sequence[str]) -> None:
        lost = [path for path in gone if self.state.records.pop(path).digest]
        lost += sorted(self._strays)
        if lost:
            self._begin()
            self._store.delete(lost)

    def _begin(self) -> None:
        """Make what is known uncertain until all is written: a kill leaves a trace so."""
        if not self._under_way:
            with system_errors("remove", self._derived.node_state):
                self._derived.node_state.unlink(missing_ok=True)
            self._under_way = True

    def _relink(self) -> None:
        """Make the edges those of the links, in one transaction."""
        if self._titles != self.state.titles():
            self._changed = None
        changed = self._changed
        wanted, _ = self.state.edges(changed)
        there = {
            (source, target, relation): strength
            for source, target, relation, strength in self._store._edges()  # noqa: SLF001
            if changed is None or source in changed
        }
        removed = [(*edge, there[edge]) for edge in there if edge not in wanted]
        added = [
            (*edge, strength) for edge, strength in wanted.items() if there.get(edge) != strength
        ]
        if removed or added:
            self._store._relink(removed, added)  # noqa: SLF001


def _reading(path: str, data: bytes, signature: str, digest: str, modified: int) -> _Reading:
    """Make a node of a file's bytes; raises UnreadableSourceError when they are no text."""
    document = parse_document(path, data)
    if len(path) > LONGEST_KEY:
        reason = f"its path has {len(path)} characters; a node has at most {LONGEST_KEY}"
        raise UnreadableSourceError("bad_name", reason)
    try:
        node, problems = node_of(document, modified)
    except HedgerowError as error:
        raise UnreadableSourceError("refused", error.message) from error
    links, wrong = links_of(document)
    if document.matter.problem:
        problems.append(
            f"front matter is no valid YAML ({document.matter.problem}); used the lines that read"
        )
    record = Record(
        signature,
        digest,
        document.title,
        links,
        tuple(Skip(path, "bad_front_matter", problem) for problem in (*problems, *wrong)),
    )
    return _Reading(path, record, node)
