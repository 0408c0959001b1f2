"""Markdown of headings, paragraphs, plain lists and fences, read without a parser: most notes.

A text in which any line could mean anything else to CommonMark is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6}) +([^#\s](?:[^#]*[^#\s])?)\Z")
# Begins with a letter, perhaps marked up, or with what begins no list, fence, quotation or rule.
_PARAGRAPH_LINE = re.compile(r"(?:(?:\*\*?|`)?[^\W\d_]|[\"'(“‘«¿¡]|\d+[^\d.)\s]|\d+ )")  # noqa: RUF001
_ITEM = re.compile(r"([-*+]) ((?:(?:\*\*?|`)?[^\W\d_]|[\"'(“‘«¿¡]|\d+[^\d.)\s]|\d+ ).*)")  # noqa: RUF001
_FENCE = re.compile(r"```[A-Za-z0-9_+-]*\Z")
_TABS_AND_THE_LIKE = re.compile("[\t\v\f\0]")
_MARKUP = re.compile(r"[\\`*_\[\]<>&!]")


@dataclass(frozen=True, slots=True)
class Block:
    """A heading of `level` 1 to 6, a paragraph of level 0, or a fence of level -1.

    It goes from line `start` to `end` and lies `depth` deep: an item of a list but its first, 1.
    """

    level: int
    start: int
    end: int
    text: str
    depth: int = 0


def simple_blocks(lines: Sequence[str]) -> list[Block] | None:
    """Give the blocks of a text; None when only a parser can tell what they are."""
    return _Reader(lines).read()


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._blocks: list[Block] = []
        self._begin: int | None = None
        # The mark of the list that is open, and whether a line could still go on in its item.
        self._mark = ""
        self._in_item = False

    def read(self) -> list[Block] | None:
        index = 0
        while index < len(self._lines):
            line = self._lines[index]
            if line.startswith("```"):
                end = self._fence(index)
            elif _TABS_AND_THE_LIKE.search(line):
                end = None
            else:
                end = self._line(index, line)
            if end is None:
                return None
            index = end
        self._end_paragraph(len(self._lines))
        return self._blocks

    def _line(self, index: int, line: str) -> int | None:
        """Read one line; give the next one's place, or None for a line that is not simple."""
        item = _ITEM.match(line)
        if item:
            self._end_paragraph(index)
            depth = 1 if item[1] == self._mark else 0
            self._blocks.append(Block(0, index, index + 1, item[2], depth))
            self._mark, self._in_item = item[1], True
        elif not line:
            self._end_paragraph(index)
            self._in_item = False
        elif _PARAGRAPH_LINE.match(line):
            if self._in_item:
                return None
            self._mark = ""
            self._begin = index if self._begin is None else self._begin
        else:
            heading = _HEADING.match(line)
            if not heading:
                return None
            self._end_paragraph(index)
            self._mark, self._in_item = "", False
            self._blocks.append(Block(len(heading[1]), index, index + 1, heading[2]))
        return index + 1

    def _fence(self, index: int) -> int | None:
        """Read a fence to its end; None when it has none, or might be something else."""
        if not _FENCE.match(self._lines[index]):
            return None
        self._end_paragraph(index)
        self._mark, self._in_item = "", False
        for end in range(index + 1, len(self._lines)):
            line = self._lines[end]
            if line == "```":
                self._blocks.append(Block(-1, index, end + 1, ""))
                return end + 1
            if line.lstrip().startswith("```"):
                return None
        return None

    def _end_paragraph(self, end: int) -> None:
        if self._begin is not None:
            text = "\n".join(self._lines[self._begin : end])
            self._blocks.append(Block(0, self._begin, end, text))
            self._begin = None


def has_markup(text: str) -> bool:
    """Tell whether inline text may say something other than its characters."""
    return _MARKUP.search(text) is not None
