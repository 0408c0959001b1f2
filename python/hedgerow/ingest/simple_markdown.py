"""Markdown that is headings and paragraphs only, read without a parser: most notes, and at once.

A text in which any line could mean anything else to CommonMark is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6}) +([^#\s](?:[^#]*[^#\s])?)\Z")
# Begins with a letter, or with digits or a mark that begin no list, fence, quotation or rule.
_PARAGRAPH_LINE = re.compile(r"(?:[^\W\d_]|[\"'(“‘«¿¡]|\d+[^\d.)\s]|\d+ )")  # noqa: RUF001
_TABS_AND_THE_LIKE = re.compile("[\t\v\f\0]")
_MARKUP = re.compile(r"[\\`*_\[\]<>&!]")


@dataclass(frozen=True, slots=True)
class Block:
    """A heading of `level` 1 to 6, or a paragraph of level 0: lines `start` to `end`."""

    level: int
    start: int
    end: int
    text: str


def simple_blocks(lines: Sequence[str]) -> list[Block] | None:
    """Give the blocks of a text; None when only a parser can tell what they are."""
    blocks: list[Block] = []
    begin: int | None = None
    for index, line in enumerate(lines):
        if line and _PARAGRAPH_LINE.match(line) and not _TABS_AND_THE_LIKE.search(line):
            begin = index if begin is None else begin
            continue
        if begin is not None:
            blocks.append(_paragraph(lines, begin, index))
            begin = None
        if not line:
            continue
        heading = _HEADING.match(line)
        if not heading or _TABS_AND_THE_LIKE.search(line):
            return None
        blocks.append(Block(len(heading[1]), index, index + 1, heading[2]))
    if begin is not None:
        blocks.append(_paragraph(lines, begin, len(lines)))
    return blocks


def has_markup(text: str) -> bool:
    """Tell whether inline text may say something other than its characters."""
    return _MARKUP.search(text) is not None


def _paragraph(lines: Sequence[str], start: int, end: int) -> Block:
    return Block(0, start, end, "\n".join(lines[start:end]))
