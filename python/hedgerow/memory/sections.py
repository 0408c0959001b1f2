"""Sections of a memory: found by their headings, read and edited (spec/memory.md, "Sections")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from hedgerow._engine import _structures, read_front_matter
from hedgerow.errors import InvalidInputError

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
