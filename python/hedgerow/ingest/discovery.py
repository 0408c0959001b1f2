"""Find the files to read under paths (spec/ingest.md, "Which files")."""

# Not pathlib: names of files may hold bytes that are no UTF-8, and folders may be large.
# ruff: noqa: PTH100,PTH110,PTH116,PTH118
from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hedgerow import InvalidInputError

from .readers import JSONL_SUFFIXES, MARKDOWN_SUFFIXES, TEXT_SUFFIXES
from .source import Skip, Source, printable, why_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIXES = (*MARKDOWN_SUFFIXES, *TEXT_SUFFIXES, *JSONL_SUFFIXES)
"""Names that are read when found in a folder, in any case of letters."""

_MADE_BY_TOOLS = frozenset({"node_modules", "bower_components", "site-packages", "__pycache__"})
_MARKS_OF_TOOLS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})


@dataclass(slots=True)
class Discovery:
    """What was found: files to read in order, what was refused, and how much was passed by.

    `covered` are the absolute paths asked for: what an index holds from under them and is
    not among `sources` is gone. `unknown` are folders that could not be listed, of which
    nothing can be said. `ignored` counts files of other kinds.
    """

    sources: list[Source] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    ignored: int = 0


def discover(paths: Sequence[str]) -> Discovery:
    """Find the files under `paths`, folders with all below them, in the order of names.

    A file named in `paths` is taken whatever its suffix. Hidden names and folders that
    tools fill are passed by below a path, never the path itself. Links are followed, and
    each file and folder is visited once. Raises InvalidInputError, before anything is
    read, when a path does not exist.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise InvalidInputError(
                f"{printable(path)}: no such file or folder; check the spelling, or index "
                "the folder above it to drop what is gone",
                code="path_not_found",
            )
    walk = _Walk()
    for path in paths:
        walk.visit(path)
    return walk.found


class _Walk:
    """One walk over all the paths given; remembers what it has seen."""

    def __init__(self) -> None:
        self.found = Discovery()
        self._seen: set[tuple[int, int]] = set()

    def visit(self, given: str) -> None:
        """Take one path of the user's: a folder with what is below it, or a file."""
        # The folder is resolved and what is below it is not: a link inside stays where it is.
        parent, name = os.path.split(os.path.abspath(given))
        file = os.path.join(os.path.realpath(parent), name) if name else parent
        shown = os.path.normpath(given).replace(os.sep, "/")
        try:
            status = os.stat(given)
        except OSError as error:
            self._refuse(shown, "unreadable", why_unreadable(error))
            self.found.unknown.append(file)
            return
        if stat.S_ISDIR(status.st_mode):
            folder = os.path.realpath(given)
            self.found.covered.append(folder)
            self._folder("" if shown == "." else shown, folder, status)
        else:
            self.found.covered.append(file)
            self._file(shown, file, status)

    def _folder(self, shown: str, file: str, status: os.stat_result) -> None:
        if not self._is_new(status):
            return
        try:
            with os.scandir(file) as listing:
                names = sorted(entry.name for entry in listing)
        except OSError as error:
            self._refuse(shown or ".", "unreadable", f"the folder: {why_unreadable(error)}")
            self.found.unknown.append(file)
            return
        for name in names:
            if not name.startswith("."):
                below = name if not shown else f"{shown.rstrip('/')}/{name}"
                self._entry(below, os.path.join(file, name), name)

    def _entry(self, shown: str, file: str, name: str) -> None:
        wanted = name.lower().endswith(SUFFIXES)
        try:
            status = os.stat(file)
        except OSError as error:
            if wanted:
                self._refuse(shown, "unreadable", why_unreadable(error))
                self.found.unknown.append(file)
            else:
                self.found.ignored += 1
            return
        if stat.S_ISDIR(status.st_mode):
            if not _is_made_by_tools(name, file):
                self._folder(shown, file, status)
        elif wanted:
            self._file(shown, file, status)
        else:
            self.found.ignored += 1

    def _file(self, shown: str, file: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._refuse(shown, "not_a_file", "not a regular file")
        elif printable(shown) != shown or printable(file) != file:
            self._refuse(shown, "bad_name", "its name is not UTF-8; rename it")
        elif self._is_new(status):
            self.found.sources.append(Source(shown, file))

    def _refuse(self, shown: str, code: str, reason: str) -> None:
        self.found.skips.append(Skip(printable(shown), code, reason))

    def _is_new(self, status: os.stat_result) -> bool:
        """Tell whether a file or folder comes by for the first time, under any name."""
        identity = (status.st_dev, status.st_ino)
        if identity in self._seen:
            return False
        self._seen.add(identity)
        return True


def _is_made_by_tools(name: str, folder: str) -> bool:
    """Tell folders of dependencies, caches and builds from a person's own."""
    if name in _MADE_BY_TOOLS:
        return True
    return any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS_OF_TOOLS)


def is_within(file: str, folders: Iterator[str] | Sequence[str]) -> bool:
    """Tell whether an absolute path is one of these, or lies below one of them."""
    return any(
        file == folder or file.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders
    )
