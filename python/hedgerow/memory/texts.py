"""Memories read and edited whole (spec/memory.md, "Reading and editing")."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, decode, read_bytes

from . import files
from .derived import Derived
from .documents import parse_document
from .lock import locked
from .results import Memory
from .scope import Scope

LONGEST = 2_000_000
"""The most characters of a memory that is edited."""


def digest_of(data: bytes) -> str:
    """Return what tells one text of a memory from another."""
    return hashlib.sha256(data).hexdigest()


def read(derived: Derived, file: str) -> Memory:
    """Read a file of the index; InvalidInputError where it cannot be read."""
    data = data_of(derived, file)
    try:
        return Memory(file, decode(data), digest_of(data))
    except UnreadableSourceError as error:
        raise InvalidInputError(
            f"the memory {file} cannot be read: {error.reason}", code="invalid_note"
        ) from error


def edit(derived: Derived, file: str, text: str, expected: str, scope: Scope) -> Memory:
    """Write another text into a file of the index, if it still has the one of that digest.

    Raises HedgerowError (`file_changed`) where it does not, and InvalidInputError for a text that is
    not in the scope; nothing is written then.
    """
    if not text.strip() or "\0" in text or len(text) > LONGEST:
        raise InvalidInputError(
            f"a memory has a text, without NUL and of at most {LONGEST:,} characters",
            code="invalid_note",
        )
    data, new = data_of(derived, file), text.encode()
    if scope and not scope.has(Scope.stated(parse_document(file, new).metadata)):
        raise InvalidInputError(
            f"the text is not of the {scope}; keep `scope` in its front matter as it is",
            code="invalid_note",
        )
    try:
        if digest_of(data) == expected:
            with locked(derived.lock):
                files.update(path_of(derived, file), new, expected=data, root=derived.source_root)
            return Memory(file, text, digest_of(new))
    except HedgerowError as error:
        if error.code != "file_changed":
            raise
    raise HedgerowError(
        f"{file} has another text by now; read it again, and make the edit anew",
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
