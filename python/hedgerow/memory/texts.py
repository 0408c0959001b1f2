"""Memories read and edited, whole or in part (spec/memory.md, "Reading and editing")."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from hedgerow._engine import _edited as _edited_text
from hedgerow._engine import _part_of
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, decode, read_bytes

from . import files
from .derived import Derived
from .documents import parse_document
from .edit import with_writer
from .files import locked
from .operations import EditRequest, ShowRequest
from .results import Memory
from .scope import Scope

R = TypeVar("R", ShowRequest, EditRequest)

LONGEST = 2_000_000
"""The most characters of a memory that is edited."""

_BOM = "\ufeff"

SHORTEST_DIGEST = 12
"""The fewest digits of a digest that an edit accepts. Short ones save tokens of agents."""


_MOST_TRIES = 8
"""The most `#` of a key at which a section may begin. More would make unknown names slow."""


def at_section(resolve: Callable[[str], list[str]], request: R) -> tuple[str, R]:
    """Return the file that the key of a request means, and the request with the section it names.

    A key is a name, or a name and a section after `#`. A file whose own name has a `#` comes first, then
    the longest name. Raises InvalidInputError as `resolve` does.
    """
    key = request.key
    try:
        return resolve(key)[0], request
    except InvalidInputError as error:
        if error.code != "unknown_node" or request.section is not None or "#" not in key:
            raise
        name = key
        for _ in range(_MOST_TRIES):
            name, sign, _ = name.rpartition("#")
            section = key[len(name) + 1 :].strip()
            if not sign or not name.strip() or not section.strip("#"):
                break
            try:
                return resolve(name.strip())[0], replace(request, section=section)
            except InvalidInputError as other:
                if other.code != "unknown_node":
                    raise
        raise


def digest_of(data: bytes) -> str:
    """Return the digest of the bytes of a memory's text."""
    return hashlib.sha256(data).hexdigest()


def show(derived: Derived, file: str, request: ShowRequest) -> Memory:
    """Read a file of the index, or a part of it.

    Raises InvalidInputError if the file cannot be read or has no such part.
    """
    data = data_of(derived, file)
    text = _text(data, file)
    parts = (request.section, request.limit, request.budget)
    if not request.offset and parts == (None, None, None):
        return Memory(file, text, digest_of(data))
    offset, limit, budget = (
        None if one is None else min(one, sys.maxsize)
        for one in (request.offset, request.limit, request.budget)
    )
    part, lines, remaining = _part_of(text, file, request.section, offset or 0, limit, budget)
    return Memory(file, part, digest_of(data), lines, remaining)


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
    if request.replace is None or request.text.strip():
        _check_text(request.text)
    data = data_of(derived, file)
    if not _is_digest(request.digest, data):
        raise _changed(file)
    text = _edited(data, file, request)
    _check_text(text)
    if request.written_by is not None:
        mark = _BOM if text.startswith(_BOM) else ""
        text = mark + with_writer(text[len(mark) :], file, request.written_by)
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
    section, new = request.section, request.text
    if section is None and not request.append and not request.prepend and request.replace is None:
        return new
    text, mark = _text(data, file), _BOM if data.startswith(_BOM.encode()) else ""
    if request.replace is not None:
        place = "once"
    elif request.append:
        place = "end"
    else:
        place = "beginning" if request.prepend or section is None else "content"
    return mark + _edited_text(text, file, section, place, new, request.replace)


def _check_text(text: str) -> None:
    if not text.strip() or "\0" in text or len(text) > LONGEST:
        raise InvalidInputError(
            f"a memory has a text, without NUL and of at most {LONGEST:,} characters",
            code="invalid_note",
        )


def _is_digest(given: str, data: bytes) -> bool:
    """Return whether bytes have a digest that begins with `given`."""
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
