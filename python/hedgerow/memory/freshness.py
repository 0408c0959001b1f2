"""Whether an index or a store has read every file as it is now: before each recall, without a lock."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hedgerow._engine import Index, _Watch
from hedgerow.errors import IndexFileError
from hedgerow.ingest.ledger import Ledger
from hedgerow.ingest.source import Listing, PassedBy, Rules, Skip

from .derived import FOREIGN, OLDER, Derived, check_regular
from .root_files import RootFiles

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
class Looked:
    """The result of a look at the files of a root.

    `skips` are the files that could not be read; None if there may be a file to read. `listing` has the
    files, if they were listed.
    """

    skips: list[Skip] | None
    listing: Listing | None = None


class FileCheck:
    """Whether an index or a store has surely read every file of a root as it is now.

    `files` are the index and the store of the handle.

    With a watch, files are looked at only after the system has reported a change; where it cannot
    watch, and once it may have missed a change, they are looked at each time. Threads may share one.
    """

    def __init__(self, *, watch: bool) -> None:
        self.watches = watch
        # A watch for each folder of a root, or of several roots that are recalled together.
        self.active: tuple[_Watch, ...] = ()
        self._of: tuple[tuple[Path, Rules], ...] | None = None
        self._problem: str | None = None
        self._begun_at: float | None = None
        self._beginning = threading.Lock()
        # By the count of ledgers, which are kept, so that no other object gets their ids.
        self._fresh: dict[int, tuple[object, list[Skip], Sequence[Ledger]]] = {}
        self.files = RootFiles()

    @property
    def state(self) -> str | None:
        """`active`, or the reason that each recall checks the files; None without a watch."""
        if not self.watches:
            return None
        return self._problem or "active"

    def look(self, derived: Derived, *ledgers: Ledger) -> Looked:
        """Compare the files with ledgers of the root: of the index, and perhaps of the store.

        The first decides which problems of files are reported. Takes no lock.
        """
        for ledger in ledgers:
            if not ledger.is_current:
                return Looked(None)
        changes = self._changes(derived) if self.watches else None
        # A ledger is one object as long as nothing has changed in it.
        seen = (changes, _folders(derived), *map(id, ledgers))
        known = self._fresh.get(len(ledgers))
        if changes is not None and known is not None and known[0] == seen:
            return Looked([*known[1], *ledgers[0].skips])
        listing = derived.listing()
        for ledger in ledgers:
            if not ledger.has_read(listing, derived.source_root):
                return Looked(None, listing)
        if changes is not None:
            self._fresh[len(ledgers)] = seen, listing.skips, ledgers
        return Looked([*listing.skips, *ledgers[0].skips], listing)

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


def _folders(derived: Derived) -> tuple[tuple[Path, Rules], ...]:
    """Return the folders whose files are looked at, each with its rules."""
    return tuple((one.source_root, one.rules) for one in derived.members or (derived,))


def index_state(derived: Derived) -> IndexState | None:
    """Compare the index with the files; None without an index."""
    if not derived.index.exists():
        return None
    try:
        check_regular(derived.index)
        with Index.open(derived.index, read_only=True) as index:
            ledger = Ledger.load(index, derived.scope)
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
        listing.passed_by,
        tuple(listing.named),
        tuple(derived.unused(listing)),
    )
