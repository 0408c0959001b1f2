"""Find the files to read under paths (spec/ingest.md, "Which files")."""

# Not pathlib: names of files may hold bytes that are no UTF-8, and folders may be large.
# ruff: noqa: PTH100,PTH116,PTH118
from __future__ import annotations

import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hedgerow._engine import _Listing, _Rules, _signature
from hedgerow.errors import InvalidInputError

from .source import (
    JSONL_SUFFIXES,
    MARKDOWN_SUFFIXES,
    TEXT_SUFFIXES,
    Skip,
    Source,
    printable,
    why_unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIXES = (*MARKDOWN_SUFFIXES, *TEXT_SUFFIXES, *JSONL_SUFFIXES)
"""Names that are read when found in a folder, in any case of letters."""

PASSED_BY = ("other", "hidden", "link", "tools", "excluded")
"""Why something below a folder is not read, in the order of reports."""

_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True)
class Rules:
    """What is read of a folder, and what is passed by.

    Patterns are those of gitignore: one without a slash, but at its end, is compared with each name,
    one with a slash with the path below the folder; `**` is any number of folders, a slash at the end
    stands for folders alone, and `!` takes back. `include` reads what would be passed by as hidden,
    made by tools or excluded. `temporary` are the beginning and the
    end of the names of files that a killed writer may have left.
    """

    suffixes: tuple[str, ...] = SUFFIXES
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    temporary: tuple[str, str] | None = None

    @cached_property
    def compiled(self) -> _Rules:
        """The same for the engine."""
        return _Rules(list(self.suffixes), self.exclude, self.include, self.temporary)


@dataclass(frozen=True, slots=True)
class PassedBy:
    """A file or folder that was not read; a folder ends with a slash. `code` is of PASSED_BY."""

    path: str
    code: str

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON."""
        return {"path": self.path, "code": self.code}


class Listing:
    """What is below one folder, by paths relative to it, in the order of names.

    `files` maps each file to its signature. `unknown` are files and folders that could not be looked
    at, so that nothing is known of them: each as its path, a folder as the beginning of the paths
    below it. `passed_by` counts by reason; `named` lists the same where that was asked for. `unused`
    are the patterns of `exclude` that decide about nothing.
    """

    def __init__(self, found: _Listing) -> None:
        self.found = found
        self.skips = [Skip(*one) for one in found.skips]
        self.passed_by = Counter(dict(found.passed_by))
        self.named = [PassedBy(*one) for one in found.named]
        self.unknown = found.unknown
        self.leftovers = found.leftovers
        self.unused = found.unused

    @cached_property
    def files(self) -> dict[str, str]:
        """The signature of each file by its path."""
        return self.found.files


@dataclass(slots=True)
class Discovery:
    """What was found under the paths that were asked for.

    `covered` are these paths, absolute: a file below them that an index has and `sources` lacks is
    gone. `unknown` are files and folders that could not be looked at, `named_files` are
    files that were asked for by name; `passed_by` and `named` are as in a Listing.
    """

    sources: list[Source] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    passed_by: Counter[str] = field(default_factory=Counter)
    named: list[PassedBy] = field(default_factory=list)
    named_files: set[str] = field(default_factory=set)

    @property
    def ignored(self) -> int:
        """How many files have a name of another kind."""
        return self.passed_by["other"]


def list_folder(folder: str | os.PathLike[str], rules: Rules, *, named: bool = False) -> Listing:
    """List the files below a folder that the rules take; `named` keeps what is passed by."""
    return Listing(rules.compiled.list(folder, named))


def discover(paths: Sequence[str], rules: Rules | None = None, *, named: bool = False) -> Discovery:
    """Find the files under `paths`, folders with all below them, in the order of names.

    A path that is given is taken whatever its name and though it is a link; below it the rules
    decide, and no link is followed. A file that is found twice counts once. Raises
    InvalidInputError, before anything is read, when a path does not exist.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise InvalidInputError(
                f"{printable(path)}: no such file or folder; check the spelling, or index "
                "the folder above it to drop what is gone",
                code="path_not_found",
            )
    found = Discovery()
    seen: set[str] = set()
    for path in paths:
        _visit(path, rules or Rules(), found, seen, named=named)
    return found


def _visit(given: str, rules: Rules, found: Discovery, seen: set[str], *, named: bool) -> None:
    """Visit one path that was given: a folder with all below it, or a file."""
    parent, name = os.path.split(os.path.abspath(given))
    file = os.path.join(os.path.realpath(parent), name) if name else parent
    shown = os.path.normpath(given).replace(os.sep, "/")
    try:
        status, signed = os.stat(given), signature(given)
    except OSError as error:
        found.skips.append(Skip(printable(shown), "unreadable", why_unreadable(error)))
        found.unknown.append(file)
        return
    if not stat.S_ISDIR(status.st_mode):
        found.covered.append(file)
        found.named_files.add(file)
        problem = _problem(shown, status) or _problem(file, status)
        if problem:
            found.skips.append(problem)
        elif file not in seen:
            seen.add(file)
            found.sources.append(Source(shown, file, signed))
        return
    folder = os.path.realpath(given)
    found.covered.append(folder)
    listing = list_folder(folder, rules, named=named)
    above = "" if shown == "." else f"{shown.rstrip('/')}/"
    base = f"{folder.rstrip(os.sep)}{os.sep}"
    for path, sign in listing.files.items():
        file = base + path.replace("/", os.sep)
        if file not in seen:
            seen.add(file)
            found.sources.append(Source(above + path, file, sign))
    for skip in listing.skips:
        path = shown if skip.path == "." else above + skip.path
        found.skips.append(Skip(printable(path), skip.code, skip.reason))
    found.unknown += [base + path.replace("/", os.sep).rstrip(os.sep) for path in listing.unknown]
    found.passed_by += listing.passed_by
    found.named += [PassedBy(printable(above) + one.path, one.code) for one in listing.named]


def _problem(path: str, status: os.stat_result) -> Skip | None:
    """Return why a file cannot be read because of its kind or its name; None when it can be."""
    if not stat.S_ISREG(status.st_mode):
        return Skip(printable(path), "not_a_file", "not a regular file")
    if printable(path) != path or _CONTROL.search(path):
        reason = "its name is not UTF-8 or holds a control character; rename it"
        return Skip(printable(path), "bad_name", reason)
    return None


def passes_by(rules: Rules, path: str) -> str | None:
    """Return why the rules pass by a file below a folder, or a folder above it; None if they do not."""
    return rules.compiled.pass_by(path)


def signature(file: str | os.PathLike[str]) -> str:
    """Return a text that changes with a file's content: programs cannot set the change time."""
    return _signature(file)


def check_not_empty(folder: str, gone: int, found: int) -> None:
    """Refuse to drop everything known of a folder: its disk may merely not be mounted.

    Raises InvalidInputError when nothing was found and several files are gone.
    """
    if gone > 1 and not found:
        raise InvalidInputError(
            f"{printable(folder)}: nothing to read was found there, and the index has {gone:,} files "
            "from there; check that the disk is mounted. Nothing was changed; to drop these files, "
            "index it with --allow-empty (in Python, allow_empty=True)",
            code="nothing_found",
        )


def is_within(file: str, folders: Iterator[str] | Sequence[str]) -> bool:
    """Tell whether an absolute path is one of these, or lies below one of them."""
    return any(
        file == folder or file.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders
    )
