"""Memories read and edited, whole, in part or one field alone (spec/memory.md, "Reading and editing", "Edits")."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from hedgerow._checks import checked_text, shown
from hedgerow._engine import _changed_front_matter, _part_of
from hedgerow._engine import _edited as _edited_text
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, decode, read_bytes, text_of

from . import files
from .derived import Derived
from .documents import parse_document
from .files import locked
from .note import iso_time, now, one_line
from .operations import EditRequest, ShowRequest
from .results import Memory
from .scope import Scope

R = TypeVar("R", ShowRequest, EditRequest)

_BOM = "\ufeff"


# Front matter. An edit changes the characters of one value, or adds a line: all other bytes stay.


class ListItems(NamedTuple):
    """Items of the list `key` of front matter: `add` are appended, unless the list has them.

    A single value becomes a list that begins with it. `drop` is whether an item is dropped; with
    `removes_empty`, the key is removed if nothing is left in the list.
    """

    key: str
    add: Sequence[Any] = ()
    drop: Callable[[Any], bool] | None = None
    removes_empty: bool = False


class Change(NamedTuple):
    """A change of front matter: of lists, then fields that are set, then fields that are removed."""

    items: Sequence[ListItems] = ()
    fields: Mapping[str, Any] = MappingProxyType({})
    removed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that can be made: `write` makes it, unless the file was changed in between."""

    path: Path
    old: bytes
    new: bytes
    root: Path

    def write(self) -> bool:
        """Write the file; returns whether it was changed. Raises HedgerowError (`file_changed`)."""
        if self.new == self.old:
            return False
        files.update(self.path, self.new, expected=self.old, root=self.root)
        return True


def planned(root: Path, file: str, change: Change) -> Edit:
    """Prepare a change of the front matter of a file, of which nothing else may differ.

    A symbolic link is followed to a file inside `root`. Raises HedgerowError (`invalid_front_matter`)
    if the edit has to be done by hand.
    """
    path = root / file
    try:
        data = read_bytes(Source(str(path), str(path)))
        text_of(data)
    except UnreadableSourceError as error:
        raise _refused(path, error.reason) from error
    text = data.decode()
    mark = _BOM if text.startswith(_BOM) else ""
    new = changed_text(text[len(mark) :], path, change)
    return Edit(path, data, (mark + new).encode(), root)


def changed_text(text: str, name: object, change: Change) -> str:
    """Change the front matter of a text, the file `name`, of which nothing else may differ.

    Raises HedgerowError (`invalid_front_matter`) if the edit has to be done by hand.
    """
    try:
        return _changed_front_matter(text, *change)
    except HedgerowError as error:
        raise _refused(name, error.message) from error


def _refused(name: object, problem: str) -> HedgerowError:
    return HedgerowError(
        f"the front matter of {name} was not changed: {problem}; edit it by hand",
        code="invalid_front_matter",
    )


# The writers that a memory states: agents, sessions and tools (spec/memory.md, "Writers").


WRITTEN_BY = "written_by"
"""The field of front matter with one name, or a list of names."""

LONGEST_NAME = 200
"""The most characters of the name of a writer. Longer ones would fill lists."""


def checked_writer(name: str) -> str:
    """Return the name of a writer on one line; InvalidInputError for a blank or a long one."""
    line = one_line(checked_text(name, WRITTEN_BY))
    if not line.strip("#/ ") or len(line) > LONGEST_NAME:
        raise InvalidInputError(
            f"written_by must be a name of 1 to {LONGEST_NAME} characters, as in codex or "
            f"codex/session-1, not {shown(name)[:LONGEST_NAME]}",
            code="invalid_option",
        )
    return line


def writers_of(fields: Mapping[str, Any]) -> list[str]:
    """Return the writers that front matter states, in order."""
    stated = fields.get(WRITTEN_BY)
    names = stated if isinstance(stated, list) else [stated]
    return [
        one_line(name)[:LONGEST_NAME] for name in names if isinstance(name, str) and name.strip()
    ]


def with_writer(text: str, file: str, name: str) -> str:
    """Return a text whose front matter states one more writer, and the present as its change.

    Raises HedgerowError (`invalid_front_matter`) for front matter that has to be edited by hand.
    """
    writer = ListItems(WRITTEN_BY, add=[checked_writer(name)])
    stated = parse_document(file, text.encode()).matter.fields
    is_dated = "updated_at" in stated or "created_at" in stated
    fields = {"updated_at": iso_time(now())} if is_dated else {}
    return changed_text(text, file, Change([writer], fields))


# Texts, whole or in part.


LONGEST = 2_000_000
"""The most characters of a memory that is edited."""

SHORTEST_DIGEST = 12
"""The fewest digits of a digest that an edit accepts. Short ones save tokens of agents."""


_MOST_TRIES = 8
"""The most `#` of a key at which a section may begin. More would make unknown names slow."""


def at_section(resolve: Callable[[str], list[str]], request: R) -> tuple[str, R]:
    """Return the file that the key of a request means, and the request with the section it names.

    A key is a name, or a name and a section after `#`, also as a link in `[[...]]`. A file whose own name has a `#` comes first, then
    the longest name. Raises InvalidInputError as `resolve` does.
    """
    key = request.key
    try:
        return resolve(key)[0], request
    except InvalidInputError as error:
        if error.code != "unknown_node" or request.section is not None or "#" not in key:
            raise
        name = key = key.strip().removeprefix("[[").removesuffix("]]").partition("|")[0]
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
    text = decoded(data, f"the memory {file}")
    parts = (request.section, request.limit, request.budget)
    if not request.offset and parts == (None, None, None):
        return Memory(file, text, digest_of(data))
    offset, limit, budget = (
        None if one is None else min(one, sys.maxsize)
        for one in (request.offset, request.limit, request.budget)
    )
    part, lines, remaining = _part_of(text, file, request.section, offset or 0, limit, budget)
    return Memory(file, part, digest_of(data), lines, remaining)


def decoded(data: bytes, name: str) -> str:
    """Decode a file without its byte order mark; InvalidInputError for one that is not text."""
    try:
        return decode(data)
    except UnreadableSourceError as error:
        raise InvalidInputError(
            f"{name} cannot be read: {error.reason}", code="invalid_note"
        ) from error


def edit(derived: Derived, file: str, request: EditRequest, scope: Scope) -> Memory:
    """Write another text into a file of the index, if it still has the one of that digest.

    Raises HedgerowError (`file_changed`) where it does not, and InvalidInputError for a text that is
    not in the scope; nothing is written then.
    """
    if request.replace is None or request.text.strip():
        _check_text(request.text)
    data = data_of(derived, file)
    given = request.digest
    if len(given) < SHORTEST_DIGEST or not digest_of(data).startswith(given):
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
    text, mark = decoded(data, f"the memory {file}"), _BOM if data.startswith(_BOM.encode()) else ""
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
