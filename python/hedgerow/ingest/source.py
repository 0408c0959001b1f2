"""The file that chunks are made from: its names, its text, and what was left out of it."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hedgerow import Chunk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .passages import Passage

MARKDOWN_SUFFIXES = (".md", ".markdown")
TEXT_SUFFIXES = (".txt", ".rst")
JSONL_SUFFIXES = (".jsonl", ".ndjson")

TITLE_SEPARATOR = " > "
"""Between the headings in a title, outermost first."""

FILE_LIMIT = 16 * 1024 * 1024
"""The most bytes of a Markdown or text file, and of one line of JSON Lines."""

REPEATED_LIMIT = 64 * 1024 * 1024
"""The most characters that titles, tags and metadata of one file may come to in all of its chunks."""

_JOINING = re.compile(r"(?<!\d)[-_]|[-_](?!\d)")


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
class Skip:
    """Something that was left out, and why.

    `code` is one of the list in spec/ingest.md, `line` counts from 1 or is None for the whole
    file, `reason` is a sentence that names the fix.
    """

    path: str
    code: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        return {"path": self.path, "line": self.line, "code": self.code, "reason": self.reason}


class UnreadableSourceError(Exception):
    """A file cannot be read; the run reports it and goes on."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def read_text(source: Source) -> str:
    """Return the file's text, without a byte order mark and with newlines as line ends.

    Raises UnreadableSourceError when it is too large, empty, binary or not UTF-8.
    """
    text = text_of(read_bytes(source))
    if not text.strip():
        raise UnreadableSourceError("empty", "the file is empty")
    return text


def text_of(data: bytes) -> str:
    """Decode a file, with newlines as line ends; UnreadableSourceError when it is not text."""
    return decode(data).replace("\r\n", "\n").replace("\r", "\n")


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
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableSourceError("not_utf8", "the file is UTF-16; convert it to UTF-8")
    if b"\0" in data:
        raise UnreadableSourceError("binary", "the file is binary, not text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableSourceError(
            "not_utf8",
            f"the file is not UTF-8 (byte 0x{data[error.start]:02x} on line {line}); "
            "convert it to UTF-8",
        ) from error


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


def chunk_of(  # noqa: PLR0913 - one argument for each field of a chunk
    source: Source,
    ordinal: int,
    passage: Passage,
    *,
    title: str,
    summary: str,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Chunk:
    """Return the chunk of one passage; its id is the path, `#` and the ordinal."""
    facts = {
        "source_file": source.file,
        "line_start": passage.first_line,
        "line_end": passage.last_line,
    }
    return Chunk(
        f"{source.path}#{ordinal}",
        source.path,
        passage.text,
        title=title,
        summary=summary,
        tags=tuple(tags),
        metadata={**(metadata or {}), **facts},
        ordinal=ordinal,
    )


def title_from_name(path: str) -> str:
    """Return a title from a file's name: no suffix, and spaces for hyphens, but not in a date."""
    stem = path.rsplit("/", 1)[-1]
    stem = stem.rsplit(".", 1)[0] or stem
    return " ".join(_JOINING.sub(" ", stem).split()) or stem
