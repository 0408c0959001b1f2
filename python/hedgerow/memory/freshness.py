"""Whether an index or a store has read every file as it is now: before each recall, without a lock."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hedgerow._engine import Index
from hedgerow.errors import IndexFileError
from hedgerow.ingest.discovery import PassedBy, list_folder
from hedgerow.ingest.ledger import Ledger, digest_of
from hedgerow.ingest.source import Skip, Source, UnreadableSourceError, read_bytes

from .derived import FOREIGN, OLDER, Derived, check_regular


@dataclass(frozen=True, slots=True)
class IndexState:
    """How many documents an index has, and how many files have changed since.

    `passed_by` counts, by reason, what is below the indexed folder and is not read; `named` lists
    it. `unused` are patterns of `exclude` in hedgerow.json that match nothing.
    """

    documents: int
    stale: int
    passed_by: Counter[str] = field(default_factory=Counter)
    named: tuple[PassedBy, ...] = ()
    unused: tuple[str, ...] = ()


def skips_if_fresh(derived: Derived, ledger: Ledger) -> list[Skip] | None:
    """Return what could not be read, if an index has surely read every file as it is now.

    None if there may be a file to read. `ledger` is that of the index.
    """
    if not ledger.is_current:
        return None
    listing = list_folder(derived.source_root, derived.rules)
    return [*listing.skips, *ledger.skips] if ledger.has_read(listing) else None


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
    listing = list_folder(derived.source_root, derived.rules, named=True)
    changed = ledger.changed(listing)
    # Some are only not known to be unchanged, for they were read so soon after a change.
    stale = [path for path in changed if not _reads_the_same(derived, ledger, path)]
    gone = ledger.gone(listing)
    return IndexState(
        ledger.documents,
        len(stale) + len(gone),
        listing.passed_by,
        tuple(listing.named),
        tuple(derived.unused(listing)),
    )


def _reads_the_same(derived: Derived, ledger: Ledger, path: str) -> bool:
    record = ledger.record(path)
    try:
        data = read_bytes(Source(path, str(derived.source_root / path)))
    except UnreadableSourceError:
        return False
    return record is not None and record.digest == digest_of(data)
