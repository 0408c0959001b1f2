"""Whether the index has read every file as it is now: before each recall, without a lock."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hedgerow.ingest.discovery import Listing, PassedBy, list_folder

from .derived import Derived
from .ledger import Ledger, digest_of


@dataclass(frozen=True, slots=True)
class IndexState:
    """How many documents an index has, and of how many files it knows something else.

    `passed_by` counts what is below the root and is not read, by reason; `named` lists it.
    """

    documents: int
    stale: int
    passed_by: Counter[str] = field(default_factory=Counter)
    named: tuple[PassedBy, ...] = ()


def is_fresh(derived: Derived) -> bool:
    """Tell, without a lock, whether the index has surely read every file as it is now."""
    ledger = _ledger(derived)
    if ledger is None:
        return False
    changed, gone = differences(ledger, list_folder(str(derived.source_root), derived.rules))
    return not changed and not gone


def index_state(derived: Derived) -> IndexState | None:
    """Compare the index with the files, without a lock; None without an index."""
    ledger = _ledger(derived)
    if ledger is None:
        return None
    listing = list_folder(str(derived.source_root), derived.rules, named=True)
    changed, gone = differences(ledger, listing)
    # Some are only not known to be unchanged, for they were read so soon after a change.
    stale = [path for path in changed if not _reads_the_same(derived, ledger, path)]
    return IndexState(
        ledger.documents, len(stale) + len(gone), listing.passed_by, tuple(listing.named)
    )


def _ledger(derived: Derived) -> Ledger | None:
    ledger = Ledger.load(derived.ledger, derived.scope)
    return ledger if derived.index.exists() else None


def _reads_the_same(derived: Derived, ledger: Ledger, path: str) -> bool:
    entry = ledger.entry(path)
    try:
        data = (derived.source_root / path).read_bytes()
    except OSError:
        return False
    return entry is not None and entry.digest == digest_of(data)


def differences(ledger: Ledger, listing: Listing) -> tuple[dict[str, str], list[str]]:
    """Give the files to read, with their signatures, and the paths that are gone."""
    lines = ledger.lines
    changed = {
        path: signature
        for path, signature in listing.files.items()
        if not lines.get(path, "").startswith(signature + "\t")
    }
    if len(listing.files) - len(changed) == len(lines) and not listing.unknown:
        return changed, []
    gone = [
        path
        for path in lines
        if path not in listing.files and not path.startswith(tuple(listing.unknown))
    ]
    return changed, gone
