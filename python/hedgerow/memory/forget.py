"""Forgetting: deleting a file and everything derived from it (spec/memory.md, "Forgetting")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow._engine import _vacuum
from hedgerow.errors import HedgerowError

from .derived import Derived, open_store_to_write, open_to_write
from .documents import Document, parse_document, read_documents
from .files import system_errors
from .lock import locked
from .manifest import write_manifest
from .sync import sync
from .texts import data_of, path_of

_SHORTEST = 16
"""The fewest characters of a line that can only be of this file."""

_MOST, _LONGEST = 50, 80
"""The most traces, and the most characters of one."""
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory that was deleted; `named_by` are the files that still name it.

    `reports` are reports of lint that named it or quoted it, and old stores, which were deleted
    with it. Paths of reports are below the root, the others below the indexed folder.
    """

    root: str
    file: str
    named_by: tuple[str, ...]
    reports: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        return {
            "root": self.root,
            "file": self.file,
            "namedBy": list(self.named_by),
            "reports": list(self.reports),
        }

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any]) -> Forgotten:
        """Return the result from the JSON of `to_dict`."""
        return cls(keys["root"], keys["file"], tuple(keys["namedBy"]), tuple(keys["reports"]))


def forget(derived: Derived, file: str) -> tuple[str, ...]:
    """Delete a file and all that was derived from it; returns the reports that went with it.

    Raises HedgerowError (`not_forgotten`) where something of it was found afterwards, or where that
    cannot be known.
    """
    data, path = data_of(derived, file), path_of(derived, file)
    document = parse_document(file, data)
    with locked(derived.lock), system_errors("remove", path):
        path.unlink()
    try:
        traces = _traces(derived, document)
        removed = _purged(derived, file, traces)
        left = [str(other) for other in _derived_files(derived) if _has(other, traces)]
    except HedgerowError as error:
        raise _not_forgotten(
            derived, file, f"what was derived may be left: {error.message}"
        ) from error
    if left:
        problem = f"{', '.join(left)} still has parts of it, perhaps for a process that reads it"
        raise _not_forgotten(derived, file, problem)
    return removed


def _purged(derived: Derived, file: str, traces: list[bytes]) -> tuple[str, ...]:
    """Remove what was derived from a file that is gone."""
    sync(derived, allow_empty=True)
    with locked(derived.lock):
        with open_to_write(derived) as index:
            _vacuum(index)
        if derived.store.exists():
            with open_store_to_write(derived) as store:
                store._purge([file])  # noqa: SLF001 - of the same package
                _vacuum(store.index)
        if derived.manifest.exists():
            write_manifest(derived)
        return tuple(_without_traces(derived, traces))


def _not_forgotten(derived: Derived, file: str, problem: str) -> HedgerowError:
    return HedgerowError(
        f"{file} was deleted, but {problem}; delete {derived.folder} when nothing uses it, and the "
        "next command makes it anew from the files",
        code="not_forgotten",
    )


def _traces(derived: Derived, document: Document) -> list[bytes]:
    """Return the texts by which traces of a deleted file are recognized: those in no other file.

    These are its path, and the beginnings of its longest lines and values of front matter: SQLite
    cuts long texts into pages, so a whole one need not be in a file in one piece.
    """
    lines = (line.strip() for line in document.lines)
    values = (value for value in document.metadata.values() if isinstance(value, str))
    long = {text for text in (*lines, *values) if len(text) >= _SHORTEST}
    longest = sorted(long, key=lambda text: (-len(text), text))[:_MOST]
    own = [document.path, *dict.fromkeys(text[:_LONGEST] for text in longest)]
    for other in read_documents(derived.source_root, derived.rules)[0]:
        text = "\n".join(other.lines)
        own = [trace for trace in own if trace not in text]
    return [trace.encode() for trace in own]


def _without_traces(derived: Derived, traces: list[bytes]) -> Iterator[str]:
    """Delete reports and stores of old that have traces of a file; yields their paths."""
    for other in _derived_files(derived):
        is_old = other.name.startswith(f"{derived.store.name}.")
        if (other.parent == derived.reports or is_old) and _has(other, traces):
            with system_errors("remove", other):
                other.unlink()
            yield other.relative_to(derived.root).as_posix()


def _derived_files(derived: Derived) -> list[Path]:
    return sorted(file for file in derived.folder.rglob("*") if file.is_file())


def _has(file: Path, traces: list[bytes]) -> bool:
    """Tell whether a file has any of the traces; blocks overlap by the longest of them."""
    longest = max(map(len, traces), default=0)
    with system_errors("read", file), file.open("rb") as stream:
        kept = b""
        while block := stream.read(_BLOCK):
            text = kept + block
            if any(trace in text for trace in traces):
                return True
            kept = text[-longest:] if longest else b""
    return False
