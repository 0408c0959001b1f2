"""The Markdown files of a memory root (spec/memory.md, "Discovery")."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from hedgerow.ingest.source import Skip, printable, why_unreadable

from .names import DERIVED, TEMPORARY_PREFIX, TEMPORARY_SUFFIX

PASSED_BY = frozenset(
    {
        ".git",
        DERIVED,
        ".jumpybrain",
        ".qmd",
        "node_modules",
        "dist",
        "build",
        "benchdata",
        "bench-results",
        ".bench-tmp",
    }
)
"""Folders that hold no memories, at any depth."""

_SUFFIX = ".md"
_TICK = 100_000_000
_COARSE_TICK = 2_000_000_000
_SECOND = 1_000_000_000


@dataclass(slots=True)
class Listing:
    """What a walk over a root found.

    `files` maps each path below the root to its signature: what the system says of the file
    that changes whenever its content does. `unknown` are folders that could not be listed,
    `leftovers` temporary files of writers that were killed.
    """

    files: dict[str, str] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)


def list_files(base: Path) -> Listing:
    """List the Markdown files below a folder. Links are not followed, nor taken for files."""
    listing = Listing()
    _list_folder(str(base), "", listing)
    return listing


def _list_folder(folder: str, prefix: str, listing: Listing) -> None:
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError as error:
        listing.skips.append(
            Skip(printable(prefix) or ".", "unreadable", f"the folder: {why_unreadable(error)}")
        )
        listing.unknown.append(prefix)
        return
    files = listing.files
    for entry in entries:
        name = entry.name
        if name[-3:].lower() != _SUFFIX:
            _note_other(entry, prefix, listing)
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            # Gone between the listing and the look.
            continue
        path = prefix + name
        if not stat.S_ISREG(status.st_mode):
            _note_other(entry, prefix, listing)
        elif path.isprintable() or _is_plain(path):
            files[path] = signature(status)
        else:
            reason = "its name is not UTF-8 or holds a control character; rename it"
            listing.skips.append(Skip(printable(path), "bad_name", reason))


def _note_other(entry: os.DirEntry[str], prefix: str, listing: Listing) -> None:
    """Walk into a folder; note what a killed writer left."""
    name = entry.name
    if entry.is_dir(follow_symlinks=False):
        if name not in PASSED_BY:
            _list_folder(entry.path, f"{prefix}{name}/", listing)
    elif name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX):
        listing.leftovers.append(entry.path)


def _is_plain(path: str) -> bool:
    """Tell whether a name can stand in a line of text."""
    return printable(path) == path and not any(c < " " or c in "\x7f\x85\u2028\u2029" for c in path)


def signature(status: os.stat_result) -> str:
    """Sum up what changes with a file's content; the change time cannot be set by a program."""
    return f"{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_ino}"


def is_settled(signature: str, read_at: int) -> bool:
    """Tell whether a change after this moment must show in the signature.

    Clocks of file systems tick: a change in the tick of the one before leaves no trace.
    """
    _, modified, changed, _ = (int(part) for part in signature.split("."))
    last = modified if os.name == "nt" else changed
    tick = _TICK if last % _SECOND else _COARSE_TICK
    return last + tick <= read_at
