"""The files to read, found under paths, and their chunks (spec/ingest.md)."""

from __future__ import annotations

import errno
import os

# Not pathlib: names of files may hold bytes that are no UTF-8, and folders may be large.
# ruff: noqa: PTH100,PTH116,PTH118
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from hedgerow._checks import checked_path, listed
from hedgerow._engine import Chunk, _decode, _Listing, _read_chunks, _Rules, _signature, _text_of
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow._regular_files import read_regular
from hedgerow.errors import Fix, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


MARKDOWN_SUFFIXES = (".md", ".markdown")
TEXT_SUFFIXES = (".txt", ".rst")
JSONL_SUFFIXES = (".jsonl", ".ndjson")

FILE_LIMIT = 16 * 1024 * 1024
"""The most bytes of a Markdown or text file, and of one line of JSON Lines."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read.

    `path` is the path of its chunks: the PATH given, joined by `/` with what is below it. `file`
    is the absolute path, by which a later run recognizes the file under another PATH. `signature`
    is what the system reported of the file when it was found, and `data` its bytes where they
    have been read.
    """

    path: str
    file: str
    signature: str = ""
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Skip(Result):
    """Something that was left out, and why.

    `code` is one of the list in spec/ingest.md, `line` counts from 1 or is None for the whole
    file, `reason` is a sentence that names the fix.
    """

    path: str
    code: str
    reason: str
    line: Annotated[int | None, Field(null=True)] = None

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason}"


class UnreadableSourceError(Exception):
    """A file cannot be read; the run reports it and continues."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def text_of(data: bytes) -> str:
    """Decode a file, with newlines as line ends; raises UnreadableSourceError if it is not text."""
    return _text_of(data)


def read_bytes(source: Source) -> bytes:
    """Return the file's bytes; raises UnreadableSourceError."""
    if source.data is not None:
        return source.data
    try:
        data = read_regular(source.file, FILE_LIMIT + 1)
    except OSError as error:
        raise UnreadableSourceError("unreadable", why_unreadable(error)) from error
    if len(data) > FILE_LIMIT:
        raise UnreadableSourceError(
            "too_large", f"the file is larger than {FILE_LIMIT // 1024**2} MiB; split it"
        )
    return data


def decode(data: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark; raises UnreadableSourceError."""
    return _decode(data)


def printable(path: str) -> str:
    r"""Return a file's name as text that can be shown, with bytes that are not UTF-8 as `\xff`."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair that stands for no byte: no file has it
        name = path.encode("utf-8", "backslashreplace")
    return name.decode("utf-8", "backslashreplace")


def why_unreadable(error: OSError) -> str:
    """Return in words why the system refused a file."""
    known = {
        errno.EACCES: "permission denied; make it readable",
        errno.EPERM: "permission denied; make it readable",
        errno.ENOENT: "no such file (a broken link, or it was removed meanwhile)",
        errno.ELOOP: "a link that leads back to itself",
        errno.EISDIR: "a folder, not a file",
    }
    return known.get(error.errno or 0) or error.strerror or str(error)


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
        """These rules in the form of the engine."""
        return _Rules(list(self.suffixes), self.exclude, self.include, self.temporary)


@dataclass(frozen=True, slots=True)
class PassedBy(Result):
    """A file or folder that was not read; a folder ends with a slash. `code` is of PASSED_BY."""

    path: str
    code: str


@dataclass(slots=True)
class Discovery:
    """What was found under the paths that were asked for.

    `covered` are these paths, absolute: a file below them that an index has and `sources` lacks is
    gone. `unknown` are files and folders that could not be looked at, `named_files` are
    files that were asked for by name; `passed_by` counts by reason what is not
    read, and `named` lists the same where that was asked for.
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
        """The number of files with a name of another kind."""
        return self.passed_by["other"]


def list_folder(folder: str | os.PathLike[str], rules: Rules, *, named: bool = False) -> _Listing:
    """List the files below a folder that the rules take; with `named` also the skipped ones.

    Paths are relative to the folder, in the order of names.
    """
    return rules.compiled.list(folder, named)


def discover(paths: Sequence[str], rules: Rules | None = None, *, named: bool = False) -> Discovery:
    """Find the files under `paths`, folders with all below them, in the order of names.

    A path that is given is taken whatever its name and though it is a link; below it the rules
    decide, and no link is followed. A file that is found twice counts once. Raises
    InvalidInputError, before anything is read, when a path does not exist.
    """
    for path in listed(paths):
        if not os.path.lexists(path if isinstance(path, str) else checked_path(path, "path")):
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
    for path, code, reason, _ in listing.skips:
        where = shown if path == "." else above + path
        found.skips.append(Skip(printable(where), code, reason))
    found.unknown += [base + path.replace("/", os.sep).rstrip(os.sep) for path in listing.unknown]
    found.passed_by += Counter(dict(listing.passed_by))
    found.named += [PassedBy(printable(above) + path, code) for path, code in listing.named]


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


def check_not_empty(folder: str, gone: int, found: int, operation: str | None = None) -> None:
    """Refuse to drop everything known of a folder: its disk may merely not be mounted.

    Raises InvalidInputError when nothing was found and several files are gone. Its fix calls the
    `operation`, None for the same call.
    """
    if gone > 1 and not found:
        raise InvalidInputError(
            f"{printable(folder)}: nothing to read was found there, and the index has {gone:,} files "
            "from there; check that the disk is mounted. Nothing was changed",
            code="nothing_found",
            path=folder,
            fixes=(Fix("drop these files", operation, {"allow_empty": True}),),
        )


def is_within(file: str, folders: Iterator[str] | Sequence[str]) -> bool:
    """Tell whether an absolute path is one of these, or lies below one of them."""
    return any(
        file == folder or file.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders
    )


def read_chunks(source: Source, skips: list[Skip]) -> Iterator[Chunk]:
    """Yield the chunks of one file; the parts that are left out of it are added to `skips`.

    A name with a suffix that is not known is read as plain text: the caller asked for it by name.
    Raises UnreadableSourceError, perhaps after some chunks, if the file cannot be read.
    """
    for item in _read_chunks(source.path, source.file, source.data):
        if isinstance(item, Chunk):
            yield item
        else:
            code, reason, line = item
            skips.append(Skip(source.path, code, reason, line))
