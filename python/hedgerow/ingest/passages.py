"""Cut text: lines into passages, a paragraph to its first sentence, a text to a length."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

PASSAGE_LIMIT = 2000
"""The most characters of a passage: some 350 words."""

SUMMARY_LIMIT = 280
"""The most characters of a summary taken from the text; longer ones end in an ellipsis."""

_DEEPEST = 6
"""Boundaries nested deeper than this are ignored: lines are cut between instead."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]+")  # noqa: RUF001
# A run of stops is tried from its first alone: one that ends nothing would otherwise be scanned again
# from each of them. After white space the first of them is left out.
_FIRST_END = re.compile(
    r"(?<![.!?…])(?:(?<!\s)|[.!?…](?=[.!?…]))[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+[」』”’）]*"  # noqa: RUF001
)
# A full stop after these, or after one letter (initials, "e.g."), does not end a sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|vs|etc|approx|ca|cf|no|nr|bijv|enz|dhr|mevr)|\b\w)\.$",
    re.IGNORECASE,
)

_LONGEST_WORD = 8
"""No abbreviation is longer, with its full stop and the character before."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and its first and last line, counted from 1."""

    text: str
    first_line: int
    last_line: int


class PassageSplitter:
    """Cuts parts of one text into passages of at most PASSAGE_LIMIT characters.

    `boundaries` maps the index of a line before which the text may be cut to its depth (0:
    between paragraphs, 1: between list items, and so on). Shallow ones are used first, then
    ends of lines; only a line longer than a passage is itself cut. Blank lines between
    passages belong to neither; nothing else is lost.
    """

    def __init__(self, lines: Sequence[str], boundaries: Mapping[int, int]) -> None:
        self._lines = lines
        self._boundaries = boundaries
        # The size of any run of lines, without joining them.
        self._offsets = [0, *accumulate(len(line) + 1 for line in lines)]

    def split(self, start: int, end: int) -> list[Passage]:
        """Return the passages of the lines from index `start` to `end`, exclusive."""
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
        """Join neighbors, aiming at equal sizes rather than at a full first passage."""
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
    """Cut one long line at ends of sentences, else at spaces, else at the limit."""
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


def first_sentence(text: str) -> str:
    """Return the first sentence of the first paragraph, at most SUMMARY_LIMIT characters."""
    # Only the head is looked at, so that a long line costs no more than a short one.
    head = text.lstrip()[: 4 * SUMMARY_LIMIT].rstrip()
    flat = " ".join(re.split(r"\n\s*\n", head, maxsplit=1)[0].split())
    for match in _FIRST_END.finditer(flat):
        end = match.end()
        if end > SUMMARY_LIMIT:
            break
        if end == len(flat) or not _ABBREVIATION.search(flat, max(0, end - _LONGEST_WORD), end):
            return flat[:end]
    return shorten(flat, SUMMARY_LIMIT)


def shorten(text: str, limit: int) -> str:
    """Cut a text at a space so that it has at most `limit` characters, ellipsis included."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip() + "…"
