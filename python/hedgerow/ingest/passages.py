"""Cut a run of lines into passages of a usable size, at the best boundaries there are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PASSAGE_LIMIT = 2000
"""The most characters of a passage: some 350 words, what a reader takes in at a glance."""

_DEEPEST = 6
"""Boundaries nested deeper than this are not looked for; lines are the next thing."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]+")  # noqa: RUF001

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and the lines it stands on, counted from 1, both inclusive."""

    text: str
    first_line: int
    last_line: int


class PassageSplitter:
    """Cuts parts of one text into passages of at most PASSAGE_LIMIT characters.

    `boundaries` maps the index of a line before which a cut is welcome to how deep it lies
    (0: between paragraphs, 1: between list items, and so on). Shallow ones are used first,
    then ends of lines; only a line that is longer than a passage is cut within. Blank
    lines between passages belong to none; nothing else is lost.
    """

    def __init__(self, lines: Sequence[str], boundaries: Mapping[int, int]) -> None:
        self._lines = lines
        self._boundaries = boundaries
        # The size of any run of lines, without joining them.
        self._offsets = [0, *accumulate(len(line) + 1 for line in lines)]

    def split(self, start: int, end: int) -> list[Passage]:
        """Give the passages of the lines from index `start` up to, not with, `end`."""
        passages: list[Passage] = []
        for first, last in self._pack(start, end, 0):
            passages.extend(_passages_of(self._lines, first, last))
        return passages

    def _pack(self, start: int, end: int, depth: int) -> list[Span]:
        if self._size(start, end) <= PASSAGE_LIMIT or end - start <= 1:
            return [(start, end)]
        segments = self._segments(start, end, depth)
        if len(segments) == 1:
            return self._pack(start, end, depth + 1)
        spans: list[Span] = []
        for segment in segments:
            spans.extend(self._pack(*segment, depth + 1))
        return self._merge(spans)

    def _segments(self, start: int, end: int, depth: int) -> list[Span]:
        if depth > _DEEPEST:
            cuts = list(range(start + 1, end))
        else:
            cuts = [
                line
                for line in range(start + 1, end)
                if self._boundaries.get(line, _DEEPEST + 1) <= depth
            ]
        edges = [start, *cuts, end]
        return list(pairwise(edges))

    def _merge(self, spans: list[Span]) -> list[Span]:
        """Join neighbours again, aiming at equal sizes rather than at a full first one."""
        total = self._size(spans[0][0], spans[-1][1])
        wanted = -(-total // PASSAGE_LIMIT)
        target = total / wanted
        merged = [spans[0]]
        for start, end in spans[1:]:
            current = merged[-1]
            if self._size(*current) < target and self._size(current[0], end) <= PASSAGE_LIMIT:
                merged[-1] = (current[0], end)
            else:
                merged.append((start, end))
        return merged

    def _size(self, start: int, end: int) -> int:
        return self._offsets[end] - self._offsets[start] - 1


def _passages_of(lines: Sequence[str], start: int, end: int) -> list[Passage]:
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    if start == end:
        return []
    text = "\n".join(lines[start:end])
    if len(text) <= PASSAGE_LIMIT:
        return [Passage(text, start + 1, end)]
    return [Passage(piece, start + 1, end) for piece in _cut(text) if piece.strip()]


def _cut(text: str) -> list[str]:
    """Cut one long line: at ends of sentences, else at spaces, else where the limit falls."""
    pieces = []
    start = 0
    while len(text) - start > PASSAGE_LIMIT:
        head = text[start : start + PASSAGE_LIMIT]
        ends = [match.end() for match in _SENTENCE_END.finditer(head)]
        cut = ends[-1] if ends and ends[-1] >= PASSAGE_LIMIT // 2 else head.rfind(" ") + 1
        cut = cut if cut >= PASSAGE_LIMIT // 2 else PASSAGE_LIMIT
        pieces.append(head[:cut])
        start += cut
    return [*pieces, text[start:]]
