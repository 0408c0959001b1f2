"""Sections of a Markdown text by their level-2 headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def level_two_sections(text: str) -> list[tuple[str, str]]:
    """Give the name and the text of each level-2 section, in order; names folded."""
    sections: list[tuple[str, list[str]]] = []
    for line, level, name in _headings(text.split("\n")):
        if level == 2:  # noqa: PLR2004
            sections.append((folded(name), []))
        elif level == 1:
            # A new document, so to speak: what follows belongs to no section.
            sections.append(("", []))
        elif sections:
            sections[-1][1].append(line)
    return [(name, "\n".join(lines)) for name, lines in sections if name]


def first_heading(text: str) -> str:
    """Give the text of the first level-1 heading, or nothing."""
    found = (name for _, level, name in _headings(text.split("\n")) if level == 1 and name)
    return next(found, "")


def folded(name: str) -> str:
    """Give a name without regard to case and inner spacing."""
    return " ".join(name.split()).casefold()


def _headings(lines: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Give each line with the level of the heading it is, 0 for none, and its name."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and mark and mark[1].startswith(fence) and not line.strip(" \t`~"):
            fence = ""
        heading = None if fence or mark else _HEADING.match(line)
        yield line, len(heading[1]) if heading else 0, (heading[2] or "") if heading else ""
