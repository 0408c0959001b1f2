"""Sections of a Markdown text by their level-2 headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def level_two_sections(text: str) -> list[tuple[str, str]]:
    """Return the folded name and the text of each level-2 section, in order."""
    sections: list[tuple[str, list[str]]] = []
    for line, level, name in _headings(text.split("\n")):
        if level == 2:  # noqa: PLR2004
            sections.append((folded(name), []))
        elif level == 1:
            # The text below a title belongs to no section.
            sections.append(("", []))
        elif sections:
            sections[-1][1].append(line)
    return [(name, "\n".join(lines)) for name, lines in sections if name]


def first_heading(text: str) -> str:
    """Return the text of the first level-1 heading, or an empty string."""
    found = (name for _, level, name in _headings(text.split("\n")) if level == 1 and name)
    return next(found, "")


def folded(name: str) -> str:
    """Return a name to compare without regard to case and inner spacing."""
    return " ".join(name.split()).casefold()


def _headings(lines: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Yield each line with the level of the heading it is, 0 for none, and its name."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and mark and mark[1].startswith(fence) and not line.strip(" \t`~"):
            fence = ""
        heading = None if fence or mark else _HEADING.match(line)
        yield line, len(heading[1]) if heading else 0, _name(heading[2] or "") if heading else ""


def _name(text: str) -> str:
    """Return the text of a heading without the closing `#` of `## Name ##`."""
    text = text.strip(" \t")
    name = text.rstrip("#")
    is_closed = name != text and name[-1:] in {"", " ", "\t"}
    return name.rstrip(" \t") if is_closed else text
