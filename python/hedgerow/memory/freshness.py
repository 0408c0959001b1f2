"""Whether the index has read every file as it is now: before each recall, without a lock."""

from __future__ import annotations

from dataclasses import dataclass

from .derived import Derived
from .ledger import Ledger
from .listing import Listing, list_files


@dataclass(frozen=True, slots=True)
class IndexState:
    """How many documents an index has, and of how many files it knows something else."""

    documents: int
    stale: int


def is_fresh(derived: Derived) -> bool:
    """Tell, without a lock, whether the index has read every file as it is now."""
    state = index_state(derived)
    return state is not None and not state.stale


def index_state(derived: Derived) -> IndexState | None:
    """Compare the index with the files, without a lock; None without an index."""
    ledger = Ledger.load(derived.ledger, derived.scope)
    if ledger is None or not derived.index.exists():
        return None
    changed, gone = differences(ledger, list_files(derived.source_root))
    return IndexState(ledger.documents, len(changed) + len(gone))


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
