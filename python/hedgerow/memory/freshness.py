"""Whether the index has read every file as it is now: before each recall, without a lock."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.ingest.source import Skip

from .derived import Derived
from .ledger import Ledger, digest_of
from .listing import Listing, list_files


@dataclass(frozen=True, slots=True)
class IndexState:
    """How many documents an index has, and of how many files it knows something else."""

    documents: int
    stale: int


def skips_if_fresh(derived: Derived) -> list[Skip] | None:
    """Return what an index that has surely read every file as it is now could not read.

    None, without a lock, where it may have to read some.
    """
    ledger = _ledger(derived)
    if ledger is None:
        return None
    listing = list_files(derived.source_root)
    changed, gone = differences(ledger, listing)
    return None if changed or gone else [*listing.skips, *_skips(ledger)]


def known_skips(derived: Derived) -> list[Skip]:
    """Return what the index could not read when it was last brought up to date."""
    ledger = _ledger(derived)
    return [] if ledger is None else _skips(ledger)


def _skips(ledger: Ledger) -> list[Skip]:
    return [skip for entry in ledger.failures() for skip in entry.skips]


def index_state(derived: Derived) -> IndexState | None:
    """Compare the index with the files, without a lock; None without an index."""
    ledger = _ledger(derived)
    if ledger is None:
        return None
    changed, gone = differences(ledger, list_files(derived.source_root))
    # Some are only not known to be unchanged, for they were read so soon after a change.
    stale = [path for path in changed if not _reads_the_same(derived, ledger, path)]
    return IndexState(ledger.documents, len(stale) + len(gone))


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
