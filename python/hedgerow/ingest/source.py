"""The file that chunks are made from: its names, its text, and what was left out of it."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import Annotated

from hedgerow._engine import _decode, _text_of
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result

MARKDOWN_SUFFIXES = (".md", ".markdown")
TEXT_SUFFIXES = (".txt", ".rst")
JSONL_SUFFIXES = (".jsonl", ".ndjson")

FILE_LIMIT = 16 * 1024 * 1024
"""The most bytes of a Markdown or text file, and of one line of JSON Lines."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read.

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
    """A file cannot be read; the run reports it and goes on."""

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
        with open(source.file, "rb") as stream:  # noqa: PTH123 - names may not be UTF-8
            data = stream.read(FILE_LIMIT + 1)
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
    fallback = os.strerror(error.errno) if error.errno else str(error)
    return known.get(error.errno or 0, fallback)
