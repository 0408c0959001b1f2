"""The index and the store of a root, open, with the records of its files."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Generic, TypeVar

from hedgerow._checks import checked_flag
from hedgerow._engine import (
    Index,
    Store,
    _is_linked,
    _is_replaced,
    _Ledger,
    _Listing,
    _Nodes,
    _Watch,
)
from hedgerow.errors import Fix, IndexFileError
from hedgerow.ingest.source import PassedBy, Rules, Skip

from .derived import (
    FOREIGN,
    OLDER,
    TOKENIZER,
    Derived,
    check_ours,
    check_regular,
    identity_of,
    open_store_to_write,
    open_to_write,
    with_words,
)
from .files import is_leftover

T = TypeVar("T", Index, Store)
K = TypeVar("K", _Ledger, _Nodes)


@dataclass(slots=True)
class _Open(Generic[T, K]):
    """An open file, and what is known of the files of a scope as of its last change that was read.

    The identity stays its own while it is open, even if the file was deleted.
    """

    identity: tuple[int, int]
    file: T
    durability: str
    writes: bool = True
    scope: str = ""
    known: K | None = None

    def has(self, derived: Derived, identity: tuple[int, int] | None) -> bool:
        """Whether this is the file of that identity, opened with the durability of the root.

        A file that another one was copied over keeps its identity, and is another all the same.
        """
        return (self.identity, self.durability) == (
            identity,
            derived.durability,
        ) and not self.is_replaced

    @property
    def is_replaced(self) -> bool:
        """Whether another file was copied over this one."""
        return _is_replaced(self.file if isinstance(self.file, Index) else self.file.index)

    def is_of(self, scope: str, path: Path) -> bool:
        """Whether this is still the file of a path, and what is known is of the scope."""
        return self.known is not None and self.scope == scope and self.identity == identity_of(path)


class RootFiles:
    """The index of a root, open to read, and its store. Either may be deleted and rebuilt at any time.

    What was read of their ledgers is kept, and brought up to date by the changes since. Threads may
    share one.
    """

    def __init__(self) -> None:
        self._opening = threading.RLock()
        self._index: _Open[Index, _Ledger] | None = None
        self._store: _Open[Store, _Nodes] | None = None
        self._linked: _Nodes | None = None
        self._writer: _Open[Index, _Ledger] | None = None

    def known(self) -> list[tuple[int, int]]:
        """Return the identities of the open files, which this user made. Closes those that were replaced."""
        with self._opening:
            if self._store is not None and self._store.is_replaced:
                self.close_store()
            if self._writer is not None and self._writer.is_replaced:
                self._close_writer()
            if self._index is not None and self._index.is_replaced:
                self._close_reader()
            opened = (self._index, self._store, self._writer)
            return [one.identity for one in opened if one is not None]

    def index_to_write(self, derived: Derived) -> Index:
        """Return the index, open to write: reopened if its file was rebuilt, and made if there is none.

        The caller holds the lock of the root, and has disowned what somebody else made.
        """
        with self._opening:
            if self._index is not None and self._index.file.tokenizer != TOKENIZER:
                # An earlier version wrote here. A handle sees that when it searches.
                self.close()
            writer = self._writer
            if writer is not None and writer.has(derived, identity_of(derived.index)):
                return with_words(writer.file, writer.file)
            self._close_writer()
            index = open_to_write(derived)
            if identity := identity_of(derived.index):
                self._writer = _Open(identity, index, derived.durability)
            return index

    def store_to_write(self, derived: Derived) -> Store:
        """Return the store, open to write, as `index_to_write` does."""
        with self._opening:
            opened = self._store
            is_open = opened is not None and opened.has(derived, identity_of(derived.store))
            if opened is not None and is_open and opened.writes:
                return with_words(opened.file, opened.file.index)
            self.close_store()
            store = open_store_to_write(derived)
            if identity := identity_of(derived.store):
                self._store = _Open(identity, store, derived.durability)
            return store

    def index(self, derived: Derived, identity: tuple[int, int] | None = None) -> Index:
        """Return the open index, reopened if its file was rebuilt; `identity` is that of the file, if known.

        Raises IndexFileError (`index_not_found`) if there is none, and for one that somebody else made.
        """
        if identity is None:
            identity = identity_of(derived.index)
        if identity is None:
            raise IndexFileError(
                f"{derived.root} has no index yet",
                code="index_not_found",
                path=derived.index,
                fixes=(Fix("make it", "sync"),),
            )
        with self._opening:
            if self._index is None or not self._index.has(derived, identity):
                self._close_reader()
                check_regular(derived.index)
                reader = Index.open(derived.index, read_only=True)
                try:
                    check_ours(derived, reader, derived.index)
                except IndexFileError:
                    reader.close()
                    raise
                self._index = _Open(identity, reader, derived.durability)
            return self._index.file

    def ledger(self, derived: Derived) -> _Ledger:
        """Return the ledger of the index, with the changes since the last call."""
        return self.ledger_of(derived, self.index(derived))

    def ledger_of(self, derived: Derived, index: Index) -> _Ledger:
        """Return the ledger of an index from `index`."""
        with self._opening:
            opened = self._index
            if opened is None or opened.file is not index:  # reopened by another thread
                return _Ledger(index, derived.index_scope, False)
            if opened.known is None or opened.scope != derived.index_scope:
                opened.scope, opened.known = (
                    derived.index_scope,
                    _Ledger(index, derived.index_scope, False),
                )
            else:
                opened.known = opened.known.refreshed(index)
            return opened.known

    def ledger_in(self, derived: Derived, index: Index) -> _Ledger:
        """Return the ledger of `index`, which is open to write."""
        with self._opening:
            opened = self._index
            if (
                opened is None
                or opened.known is None
                or not opened.is_of(derived.index_scope, derived.index)
            ):
                return _Ledger(index, derived.index_scope, False)
            return opened.known.refreshed(index)

    def store(self, derived: Derived) -> Store:
        """Return the open store, reopened if its file was rebuilt.

        Raises IndexFileError for one that somebody else made.
        """
        status = derived.store.stat()
        identity = (status.st_dev, status.st_ino)
        with self._opening:
            opened = self._store
            if opened is None or not opened.has(derived, identity):
                self.close_store()
                check_regular(derived.store)
                store, writes = _opened(derived)
                try:
                    check_ours(derived, store.index, derived.store)
                except IndexFileError:
                    store.close()
                    raise
                self._store = opened = _Open(identity, store, derived.durability, writes)
            return opened.file

    def nodes(self, derived: Derived) -> _Nodes:
        """Return the state of the nodes in the store, with the changes since the last call."""
        with self._opening:
            store, opened = self.store(derived), self._store
            is_known = opened is not None and opened.scope == derived.store_scope
            nodes = _nodes(derived, store, opened.known if opened and is_known else None)
            if opened is not None:
                opened.scope, opened.known = derived.store_scope, nodes
                if _is_linked(store):
                    self._linked = nodes
            return nodes

    def nodes_in(self, derived: Derived, store: Store) -> _Nodes:
        """Return the state of the nodes in `store`, which is open to write."""
        with self._opening:
            opened = self._store
            is_known = opened is not None and opened.is_of(derived.store_scope, derived.store)
            return _nodes(derived, store, opened.known if opened and is_known else None)

    def linked(self, derived: Derived) -> _Nodes | None:
        """Return the last state of the nodes that this handle saw with the edges of their links.

        None if it saw none. Other handles may have changed the edges since.
        """
        with self._opening:
            is_known = self._store is not None and self._store.is_of(
                derived.store_scope, derived.store
            )
            return self._linked if is_known else None

    def note(self, derived: Derived, ledger: _Ledger, nodes: _Nodes | None) -> None:
        """Keep the state of the files after a sync. Opens the index and the store for that."""
        # A file that cannot be opened is reported by the next call that needs it.
        with self._opening, suppress(IndexFileError, FileNotFoundError):
            self.index(derived)
            if self._index is not None:
                self._index.scope, self._index.known = derived.index_scope, ledger
            if nodes is not None:
                store = self.store(derived)
                if self._store is not None:
                    self._store.scope, self._store.known = derived.store_scope, nodes
                    if _is_linked(store):
                        self._linked = nodes

    def close(self) -> None:
        """Close both files; the next call opens them again."""
        self.close_index()
        self.close_store()

    def _close_writer(self) -> None:
        opened, self._writer = self._writer, None
        if opened is not None:
            opened.file.close()

    def close_index(self) -> None:
        """Close the index; the next call opens it again."""
        with self._opening:
            self._close_writer()
            self._close_reader()

    def _close_reader(self) -> None:
        opened, self._index = self._index, None
        if opened is not None:
            opened.file.close()

    def close_store(self) -> None:
        """Close the store; the next call opens it again."""
        with self._opening:
            opened, self._store, self._linked = self._store, None, None
            if opened is not None:
                opened.file.close()


def _nodes(derived: Derived, store: Store, known: _Nodes | None) -> _Nodes:
    """Return the state of the nodes in a store, with the changes since the `known` state."""
    if known is None:
        return store._nodes(derived.store_scope)  # noqa: SLF001 - of the same package
    return store._nodes_since(known)  # noqa: SLF001 - of the same package


def _opened(derived: Derived) -> tuple[Store, bool]:
    """Open a store to write if that is possible, else to read; also returns whether it was."""
    try:
        return Store.open(derived.store, durability=derived.durability), True
    except IndexFileError as error:
        if error.code != OLDER:
            raise
        return Store.open(derived.store, read_only=True), False


# Whether an index or a store has read every file as it is now: before each recall, without a lock.


_RETRY = 60.0
"""Seconds after which a watch that ended or could not begin is tried again."""

_LOOKED_AT = "files are looked at before each recall"

_logger = logging.getLogger("hedgerow.memory")


@dataclass(frozen=True, slots=True)
class IndexState:
    """The number of documents in an index, and of files that changed since.

    `passed_by` counts, by reason, what is below the indexed folder and is not read; `named` lists
    it. `unused` are patterns of `exclude` in hedgerow.json that match nothing.
    """

    documents: int
    stale: int
    passed_by: Counter[str] = field(default_factory=Counter)
    named: tuple[PassedBy, ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FreshnessCheck:
    """The result of a look at the files of a root.

    `skips` are the files that could not be read; None if there may be a file to read. `listing` has the
    files, if they were listed.
    """

    skips: list[Skip] | None
    listing: _Listing | None = None


class FileCheck:
    """Whether an index or a store has surely read every file of a root as it is now.

    `files` are the index and the store of the handle.

    With a watch, files are looked at only after the system has reported a change; where it cannot
    watch, and once it may have missed a change, they are looked at each time. Threads may share one.
    """

    def __init__(self, *, watch: bool) -> None:
        self.watches = checked_flag(watch, "watch")
        # A watch for each folder of a root, or of several roots that are recalled together.
        self.active: tuple[_Watch, ...] = ()
        self._of: tuple[tuple[Path, Rules], ...] | None = None
        self._problem: str | None = None
        self._begun_at: float | None = None
        self._beginning = threading.Lock()
        # By the count of ledgers, which are kept, so that no other object gets their ids.
        self._fresh: dict[int, tuple[object, list[Skip], Sequence[_Ledger]]] = {}
        self.files = RootFiles()

    @property
    def state(self) -> str | None:
        """`active`, or the reason that each recall checks the files; None without a watch."""
        if not self.watches:
            return None
        return self._problem or "active"

    def look(self, derived: Derived, *ledgers: _Ledger) -> FreshnessCheck:
        """Compare the files with ledgers of the root: of the index, and perhaps of the store.

        The first decides which problems of files are reported. The temporary file of a killed writer is a
        file to sync, which removes it. Takes no lock.
        """
        for ledger in ledgers:
            if not ledger.is_current:
                return FreshnessCheck(None)
        changes = self._changes(derived) if self.watches else None
        # A ledger is one object as long as nothing has changed in it.
        seen = (changes, _folders(derived), *map(id, ledgers))
        known = self._fresh.get(len(ledgers))
        if changes is not None and known is not None and known[0] == seen:
            return FreshnessCheck([*known[1], *starmap(Skip, ledgers[0].skips)])
        listing = derived.listing()
        for ledger in ledgers:
            if not (
                ledger.has_read(listing, derived.source_root)
                or is_unchanged(derived, ledger, listing)
            ):
                return FreshnessCheck(None, listing)
        is_left = any(map(is_leftover, map(Path, listing.leftovers)))
        if is_left and derived.is_writable and not derived.members:
            return FreshnessCheck(None, listing)
        skips = list(starmap(Skip, listing.skips))
        if changes is not None:
            self._fresh[len(ledgers)] = seen, skips, ledgers
        return FreshnessCheck([*skips, *starmap(Skip, ledgers[0].skips)], listing)

    def watch(self, derived: Derived) -> tuple[_Watch, ...]:
        """Return the watches over the folders of a root; none where there are none, or one ended."""
        if not self.watches or self._changes(derived) is None:
            return ()
        return self.active

    def close(self) -> None:
        """End the watch; the next call begins it again."""
        with self._beginning:
            self._of, self.active = None, ()
            self._fresh.clear()

    def _changes(self, derived: Derived) -> tuple[int, ...] | None:
        """Return the number of changes that the watch of each folder has seen; None without a watch."""
        with self._beginning:
            of = _folders(derived)
            if self._of != of:
                self._of, self.active, self._begun_at = of, (), None
            changes = self._counted()
            if changes is None and self._may_begin():
                changes = self._begin(of)
            elif changes is None and self.active:
                self._problem = f"{_LOOKED_AT}: the system may have missed a change"
            return changes

    def _counted(self) -> tuple[int, ...] | None:
        counts = [one.changes for one in self.active]
        known = tuple(count for count in counts if count is not None)
        return known if known and len(known) == len(counts) else None

    def _may_begin(self) -> bool:
        return self._begun_at is None or time.monotonic() > self._begun_at + _RETRY

    def _begin(self, folders: Sequence[tuple[Path, Rules]]) -> tuple[int, ...] | None:
        self._begun_at = time.monotonic()
        folder = folders[0][0]
        begun = []
        try:
            for folder, rules in folders:
                begun.append(_Watch(folder, rules.compiled))
        except OSError as error:
            self.active = ()
            self._problem = f"{_LOOKED_AT}: {error}"
            _logger.warning("%s is not watched: %s", folder, error)
            return None
        self.active, self._problem = tuple(begun), None
        return self._counted()


def is_unchanged(derived: Derived, ledger: _Ledger, listing: _Listing) -> bool:
    """Whether the files have the content that was read, where nothing can be written.

    Taking permissions away changes the signature of a file. No sync can note the new one there.
    """
    return not derived.is_writable and ledger.stale(listing, derived.source_root) == 0


def _folders(derived: Derived) -> tuple[tuple[Path, Rules], ...]:
    """Return the folders whose files are looked at, each with its rules."""
    return tuple((one.source_root, one.rules) for one in derived.members or (derived,))


def index_state(derived: Derived) -> IndexState | None:
    """Compare the index with the files; None without an index."""
    if not derived.has_index:
        return None
    try:
        check_regular(derived.index)
        with Index.open(derived.index, read_only=True) as index:
            ledger = _Ledger(index, derived.index_scope, False)
    except IndexFileError as error:
        if error.code not in (OLDER, FOREIGN):
            raise
        return None
    if not ledger.is_current:
        return None
    listing = derived.listing(named=True)
    return IndexState(
        ledger.documents,
        ledger.stale(listing, derived.source_root),
        Counter(dict(listing.passed_by)),
        tuple(starmap(PassedBy, listing.named)),
        tuple(derived.unused(listing)),
    )
