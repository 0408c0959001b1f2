"""Memories read and edited, whole or in part (spec/memory.md, "Reading and editing")."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, TypeVar

from hedgerow._engine import _structures, read_front_matter
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

# Sections of a memory: found by their headings, read and edited (spec/memory.md, "Sections").


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ITEM = re.compile(r"\s{0,20}(?:[-*+]|\d{1,9}[.)])\s")
_DEEPEST = 6
_SHOWN = 12
_COMPARED = 1_000
_LONGEST = 100
"""The most characters of a heading that an error compares and shows."""


class Heading(NamedTuple):
    """A heading of Markdown: its line, counted from 0, its level and its name."""

    line: int
    level: int
    name: str


def lines_of(text: str) -> list[str]:
    """Split a text into lines, each with its line end."""
    return _LINE.findall(text)


def section_of(lines: Sequence[str], name: str, file: str) -> range:
    """Return the lines of the section that a heading begins, with its subsections.

    `name` is the text of the heading, in any case, with or without `#`. Raises InvalidInputError if
    the text has no such heading, or several.
    """
    headings = list(_headings(lines))
    wanted = _folded(_named(name))
    found = [at for at, one in enumerate(headings) if _folded(one.name) == wanted]
    if len(found) != 1:
        raise _unclear(name, [headings[at] for at in found], headings, file)
    begin = headings[found[0]]
    after = (one.line for one in headings[found[0] + 1 :] if one.level <= begin.level)
    return range(begin.line, next(after, len(lines)))


def replaced(text: str, section: str, new: str, file: str) -> str:
    """Return a text in which a section has another content.

    The heading stays, unless `new` begins with a heading of the same name.
    """
    lines, newline = lines_of(text), _newline_of(text)
    span = section_of(lines, section, file)
    added = _with_newlines(new.strip("\r\n"), newline)
    first = next(_headings(lines_of(added)), None)
    has_heading = first is not None and first.line == 0
    if not (has_heading and first and _folded(first.name) == _folded(_named(section))):
        heading = lines[span.start].rstrip("\r\n")
        added = f"{heading}{newline}{newline}{added}"
    rest = "".join(lines[span.stop :])
    return "".join(lines[: span.start]) + added + newline + (newline + rest if rest else "")


def appended(text: str, section: str | None, new: str, file: str) -> str:
    """Return a text with another at the end of a section, or at its own end.

    A blank line is between the two, unless both are items of a list.
    """
    lines, newline = lines_of(text), _newline_of(text)
    end = len(lines) if section is None else section_of(lines, section, file).stop
    before, rest = "".join(lines[:end]).rstrip(), "".join(lines[end:])
    added = _with_newlines(new.strip("\r\n"), newline)
    joint = _joint(before, added, newline) if before else ""
    return before + joint + added + newline + (newline + rest if rest else "")


def prepended(text: str, section: str | None, new: str, file: str) -> str:
    """Return a text with another at the beginning of a section, or of its own, after the heading.

    Front matter and a heading of level 1 that a text begins with stay before it. A blank line is
    between the two, unless both are items of a list.
    """
    lines, newline = lines_of(text), _newline_of(text)
    heading = None if section is None else section_of(lines, section, file).start
    start = _start_of_text(lines) if heading is None else heading + 1
    before, rest = "".join(lines[:start]).rstrip(), "".join(lines[start:]).lstrip("\r\n")
    added = _with_newlines(new.strip("\r\n"), newline)
    head = before + newline * 2 if before else ""
    end = _joint(added, rest, newline) if rest.strip() else newline
    return head + added + end + (rest if rest.strip() else "")


def exchanged(text: str, section: str | None, old: str, new: str, file: str) -> str:
    """Return a text in which another text takes the place of `old` in a section, or anywhere.

    Line ends are those of the text. Raises InvalidInputError unless `old` occurs exactly once.
    """
    lines, newline = lines_of(text), _newline_of(text)
    span = range(len(lines)) if section is None else section_of(lines, section, file)
    before = "".join(lines[: span.start])
    part = "".join(lines[span.start : span.stop])
    wanted = _with_newlines(old, newline)
    found = _occurrences(part, wanted)
    if len(found) != 1:
        raise _not_once(found, before + part, len(before), section, file)
    at, end = found[0], found[0] + len(wanted)
    rest = "".join(lines[span.stop :])
    return before + part[:at] + _with_newlines(new, newline) + part[end:] + rest


def _occurrences(text: str, wanted: str) -> list[int]:
    """Return the offsets of a text in another, overlapping ones too; at most a dozen."""
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0 and len(found) < _SHOWN:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _not_once(
    found: Sequence[int], text: str, start: int, section: str | None, file: str
) -> InvalidInputError:
    place = file if section is None else f"the section {section!r} of {file}"
    if not found:
        said = f"{place} does not have the text that is to be replaced; copy it as it is there"
    else:
        lines = ", ".join(str(text.count("\n", 0, start + at) + 1) for at in found)
        said = (
            f"the text that is to be replaced occurs more than once in {place}, at lines {lines}; "
            "give more of it, or a section"
        )
    return InvalidInputError(said, code="invalid_option")


def _joint(before: str, after: str, newline: str) -> str:
    """Return the line ends between two texts: a blank line, except between two items of a list."""
    is_list = _ITEM.match(lines_of(before)[-1]) and _ITEM.match(after)
    return newline if is_list else newline * 2


def _start_of_text(lines: Sequence[str]) -> int:
    """Return the line after front matter and a heading of level 1 at the beginning."""
    plain = [line.rstrip("\r\n") for line in lines]
    start = read_front_matter(plain).body_start if plain else 0
    first = next((at for at in range(start, len(plain)) if plain[at].strip()), None)
    heading = next(_headings(lines), None)
    is_title = heading is not None and heading.line == first and heading.level == 1
    return start if first is None or not is_title else first + 1


def _headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Find the headings (`# Name`) after the front matter and outside of code."""
    plain = [line.rstrip("\r\n") for line in lines]
    line = read_front_matter(plain).body_start if plain else 0
    for block in _structures("\n".join(plain[line:])):
        name = _named(block.partition("\n")[0])
        level = _level(block)
        if level:
            yield Heading(line, level, name)
        line += block.count("\n") + 1


def _level(block: str) -> int:
    """Return the level of the heading that a block is; 0 if it is none."""
    text = block.lstrip(" ")
    rest = text.lstrip("#")
    level = len(text) - len(rest)
    is_outdented = len(block) - len(text) < 4  # noqa: PLR2004 - of Markdown
    is_heading = 0 < level <= _DEEPEST and (not rest or rest[0] in " \t\n")
    return level if is_heading and is_outdented else 0


def _named(heading: str) -> str:
    """Return the text of a heading without the marks around it, as in `## Name ##`."""
    text = heading.strip()
    if not _level(text):
        return text
    name = text.lstrip("#").strip()
    bare = name.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else name


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_newlines(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _unclear(
    name: str, found: Sequence[Heading], headings: Sequence[Heading], file: str
) -> InvalidInputError:
    if found:
        lines = ", ".join(str(one.line + 1) for one in found[:_SHOWN])
        problem = (
            f"{file} has {len(found)} sections {name!r}, at lines {lines}; edit its whole text"
        )
    else:
        names = [one.name[:_LONGEST] for one in headings[:_COMPARED]]
        near = get_close_matches(name[:_LONGEST], names, 1)
        more = f" and {len(headings) - _SHOWN} more" if len(names) > _SHOWN else ""
        known = f"it has {', '.join(names[:_SHOWN])}{more}" if names else "it has no headings"
        hint = f"did you mean {near[0]!r}?" if near else known
        problem = f"{file} has no section {name!r}; {hint}"
    return InvalidInputError(problem, code="invalid_option")


# Memories read and edited, whole or in part (spec/memory.md, "Reading and editing").


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
    lines = lines_of(text)
    span = range(len(lines))
    if request.section is not None:
        span = section_of(lines, request.section, file)
    if request.offset > len(span):
        what = "the section" if request.section is not None else file
        raise InvalidInputError(
            f"offset is {request.offset:,}, and {what} has {len(span):,} lines",
            code="invalid_option",
        )
    end = len(span) if request.limit is None else request.offset + request.limit
    part = span[request.offset : end]
    shown = lines[part.start : part.stop]
    if request.budget is not None:
        shown = _within(shown, 4 * request.budget)
        part = part[: len(shown)]
    return Memory(
        file,
        "".join(shown),
        digest_of(data),
        (part.start + 1, part.stop),
        span.stop - part.stop,
    )


def _within(lines: list[str], size: int) -> list[str]:
    """Return the first lines that have at most some bytes of UTF-8; a longer first line is cut."""
    kept, room = 0, size
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        kept += 1
    if kept or not lines:
        return lines[:kept]
    return [lines[0].encode()[: size - len("…".encode())].decode(errors="ignore") + "…"]


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
        return mark + exchanged(text, section, request.replace, new, file)
    if request.append:
        return mark + appended(text, section, new, file)
    if request.prepend or section is None:
        return mark + prepended(text, section, new, file)
    return mark + replaced(text, section, new, file)


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
