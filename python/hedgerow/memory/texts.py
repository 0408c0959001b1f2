"""Memories read and edited, whole or in part (spec/memory.md, "Reading and editing")."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, decode, read_bytes

from . import files, sections
from .derived import Derived
from .documents import parse_document
from .files import locked
from .operations import EditRequest, ReadRequest
from .results import Memory
from .scope import Scope

LONGEST = 2_000_000
"""The most characters of a memory that is edited."""

_BOM = "\ufeff"

SHORTEST_DIGEST = 12
"""The fewest digits of a digest that an edit accepts. Short ones save tokens of agents."""


def digest_of(data: bytes) -> str:
    """Return what tells one text of a memory from another."""
    return hashlib.sha256(data).hexdigest()


def read(derived: Derived, file: str, request: ReadRequest) -> Memory:
    """Read a file of the index, or a part of it.

    Raises InvalidInputError if the file cannot be read or has no such part.
    """
    data = data_of(derived, file)
    text = _text(data, file)
    if request.section is None and not request.offset and request.limit is None:
        return Memory(file, text, digest_of(data))
    lines = sections.lines_of(text)
    span = range(len(lines))
    if request.section is not None:
        span = sections.section_of(lines, request.section, file)
    if request.offset > len(span):
        what = "the section" if request.section is not None else file
        raise InvalidInputError(
            f"offset is {request.offset:,}, and {what} has {len(span):,} lines",
            code="invalid_option",
        )
    end = len(span) if request.limit is None else request.offset + request.limit
    part = span[request.offset : end]
    return Memory(
        file,
        "".join(lines[part.start : part.stop]),
        digest_of(data),
        (part.start + 1, part.stop),
        span.stop - part.stop,
    )


def _text(data: bytes, file: str) -> str:
    """Decode a file without its byte order mark; InvalidInputError for one that is not text."""
    try:
        return decode(data)
    except UnreadableSourceError as error:
        raise InvalidInputError(
            f"the memory {file} cannot be read: {error.reason}", code="invalid_note"
        ) from error


def edit(derived: Derived, file: str, request: EditRequest, scope: Scope) -> Memory:
    """Write another text into a file of the index, if it still has the one of that digest.

    Raises HedgerowError (`file_changed`) where it does not, and InvalidInputError for a text that is
    not in the scope; nothing is written then.
    """
    _check_text(request.text)
    data = data_of(derived, file)
    if not _is_digest(request.digest, data):
        raise _changed(file)
    text = _edited(data, file, request)
    _check_text(text)
    new = text.encode()
    if scope and not scope.has(Scope.stated(parse_document(file, new).metadata)):
        raise InvalidInputError(
            f"the text is not of the {scope}; keep `scope` in its front matter as it is",
            code="invalid_note",
        )
    try:
        with locked(derived.lock):
            files.update(path_of(derived, file), new, expected=data, root=derived.source_root)
    except HedgerowError as error:
        if error.code != "file_changed":
            raise
        raise _changed(file) from error
    return Memory(file, text, digest_of(new))


def _edited(data: bytes, file: str, request: EditRequest) -> str:
    """Return the whole text of a file after an edit."""
    if request.section is None and not request.append:
        return request.text
    text, mark = _text(data, file), _BOM if data.startswith(_BOM.encode()) else ""
    if request.append or request.section is None:
        return mark + sections.appended(text, request.section, request.text, file)
    return mark + sections.replaced(text, request.section, request.text, file)


def _check_text(text: str) -> None:
    if not text.strip() or "\0" in text or len(text) > LONGEST:
        raise InvalidInputError(
            f"a memory has a text, without NUL and of at most {LONGEST:,} characters",
            code="invalid_note",
        )


def _is_digest(given: str, data: bytes) -> bool:
    """Tell whether bytes have a digest that begins with `given`."""
    return len(given) >= SHORTEST_DIGEST and digest_of(data).startswith(given)


def _changed(file: str) -> HedgerowError:
    return HedgerowError(
        f"{file} changed since you read it; read it again and redo the edit",
        code="file_changed",
    )


def data_of(derived: Derived, file: str) -> bytes:
    """Return the bytes of a file of the index; InvalidInputError where it cannot be read."""
    try:
        return read_bytes(Source(file, str(path_of(derived, file))))
    except UnreadableSourceError as error:
        raise InvalidInputError(
            f"the memory {file} cannot be read: {error.reason}", code="unknown_node"
        ) from error


def path_of(derived: Derived, file: str) -> Path:
    """Return where a file is; HedgerowError where a link has come into its path."""
    folder: Path = derived.source_root
    path = folder / file
    files.check_no_link(path)
    for parent in path.relative_to(folder).parents:
        files.check_no_link(folder / parent)
    return path
