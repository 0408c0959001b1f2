"""Markdown to chunks: one for each section (spec/ingest.md, "Markdown")."""

from __future__ import annotations

import functools
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .front_matter import FrontMatter, read_front_matter
from .passages import Passage, PassageSplitter
from .sentences import first_sentence, shorten
from .simple_markdown import has_markup, simple_blocks
from .source import (
    TITLE_SEPARATOR,
    Skip,
    Source,
    UnreadableSourceError,
    chunk_of,
    read_text,
    title_from_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from hedgerow import Chunk

_LONGEST_HEADING = 200
_LONGEST_INLINE = 4000


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the document itself, none inside a list, a quotation or a fence."""

    level: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Section:
    """Lines `start` to `end` (exclusive) under a path of headings, outermost first."""

    start: int
    end: int
    headings: tuple[str, ...]


def read_markdown(source: Source, skips: list[Skip]) -> Iterator[Chunk]:
    """Give a Markdown file's sections as chunks; bad front matter is added to `skips`.

    Raises UnreadableSourceError when the file is no text.
    """
    lines = read_text(source).split("\n")
    matter = read_front_matter(lines)
    if matter.problem:
        skips.append(bad_front_matter(source, matter))
    yield from markdown_chunks(source, lines, matter, matter.metadata)


def bad_front_matter(source: Source, matter: FrontMatter) -> Skip:
    """Say what is wrong with front matter of which only single lines could be read."""
    reason = f"front matter is no valid YAML ({matter.problem}); used the lines that read"
    return Skip(source.path, "bad_front_matter", reason, matter.problem_line)


def markdown_chunks(
    source: Source, lines: Sequence[str], matter: FrontMatter, metadata: Mapping[str, Any]
) -> Iterator[Chunk]:
    """Give the sections of a text whose front matter is read; `metadata` goes to every chunk.

    Raises UnreadableSourceError when there is nothing to make a chunk of.
    """
    # Blanked, not cut off: line numbers stay those of the file.
    lines = [*[""] * matter.body_start, *lines[matter.body_start :]]
    if not any(line.strip() for line in lines):
        yield _card(source, matter, metadata)
        return
    document = _Document(lines)
    splitter = PassageSplitter(lines, document.boundaries)
    stated = matter.text("summary", "description")
    tags = matter.tags
    ordinal = 0
    for section in document.sections(matter.body_start):
        title = _title(section, matter, source)
        for passage in splitter.split(section.start, section.end):
            summary = document.first_sentence(passage.first_line - 1, passage.last_line)
            if ordinal == 0:
                summary = stated or summary
            yield chunk_of(
                source,
                ordinal,
                passage,
                title=title,
                summary=summary,
                tags=tags,
                metadata=metadata,
            )
            ordinal += 1


def _card(source: Source, matter: FrontMatter, metadata: Mapping[str, Any]) -> Chunk:
    """Make the chunk of a note that is all front matter: its title, summary and tags."""
    summary = matter.text("summary", "description")
    title = matter.text("title")
    if not (title or summary or matter.tags):
        raise UnreadableSourceError("empty", "the file holds nothing but front matter")
    return chunk_of(
        source,
        0,
        Passage("", 1, matter.body_start),
        title=title or title_from_name(source.path),
        summary=summary,
        tags=matter.tags,
        metadata=metadata,
    )


def _title(section: Section, matter: FrontMatter, source: Source) -> str:
    """Join the headings above a section, under the note's own title where it has one."""
    names = [matter.text("title"), *section.headings]
    path: list[str] = []
    for name in names:
        if name and not (path and path[-1].casefold() == name.casefold()):
            path.append(name)
    return TITLE_SEPARATOR.join(path) or title_from_name(source.path)


class _Document:
    """The blocks of a Markdown text, as CommonMark reads them."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._references: dict[str, Any] = {}
        blocks = simple_blocks(lines)
        if blocks is not None:
            self._headings = [
                self._heading(block.level, block.text, block.start, block.end)
                for block in blocks
                if block.level
            ]
            self._paragraphs = [(block.start, block.text) for block in blocks if not block.level]
            self.boundaries = {block.start: 0 for block in blocks}
        else:
            tokens = _block_parser().parse("\n".join(lines), self._references)
            self._headings = list(self._find_headings(tokens))
            self._paragraphs = list(_find_paragraphs(tokens))
            self.boundaries = _find_boundaries(tokens)
        self._starts = [start for start, _ in self._paragraphs]

    def sections(self, start: int) -> Iterator[Section]:
        """Cut at the headings; an empty section is carried into its first subsection."""
        headings, end = self._headings, len(self._lines)
        ends = [*(heading.start for heading in headings), end]
        if start < ends[0]:
            yield Section(start, ends[0], ())
        path: list[Heading] = []
        begin: int | None = None
        for index, heading in enumerate(headings):
            path = [*(above for above in path if above.level < heading.level), heading]
            begin = heading.start if begin is None else begin
            if self._is_carried(index, ends[index + 1]):
                continue
            yield Section(begin, ends[index + 1], tuple(above.text for above in path))
            begin = None

    def first_sentence(self, start: int, end: int) -> str:
        """Give the first sentence of the first paragraph in these lines that has words."""
        index = bisect_left(self._starts, start)
        while index < len(self._starts) and self._starts[index] < end:
            sentence = first_sentence(self._plain_text(self._paragraphs[index][1]))
            if sentence:
                return sentence
            index += 1
        return ""

    def _is_carried(self, index: int, end: int) -> bool:
        """Tell whether nothing stands between a heading and a deeper one that follows."""
        heading = self._headings[index]
        deeper = index + 1 < len(self._headings) and self._headings[index + 1].level > heading.level
        return deeper and not any(line.strip() for line in self._lines[heading.end : end])

    def _find_headings(self, tokens: Sequence[Token]) -> Iterator[Heading]:
        for token, inline in pairwise(tokens):
            if token.type == "heading_open" and token.level == 0 and token.map:
                yield self._heading(int(token.tag[1]), inline.content, *token.map)

    def _heading(self, level: int, source: str, start: int, end: int) -> Heading:
        return Heading(level, shorten(self._plain_text(source), _LONGEST_HEADING), start, end)

    def _plain_text(self, source: str) -> str:
        """Take the mark-up off inline text; images, being no words, go with it."""
        if not has_markup(source):
            return " ".join(source[:_LONGEST_INLINE].split())
        inline = _inline_parser().parseInline(source[:_LONGEST_INLINE], self._references)
        parts = []
        for token in inline[0].children or ():
            if token.type in {"text", "code_inline"}:
                parts.append(token.content)
            elif token.type in {"softbreak", "hardbreak"}:
                parts.append(" ")
        return " ".join("".join(parts).split())


def _find_paragraphs(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for token, inline in pairwise(tokens):
        if token.type == "paragraph_open" and token.map:
            yield token.map[0], inline.content


def _find_boundaries(tokens: Sequence[Token]) -> dict[int, int]:
    """Map each line a block starts on to how deep that block lies."""
    depths: dict[int, int] = {}
    for token in tokens:
        if token.map and token.nesting >= 0 and token.type != "inline":
            line = token.map[0]
            depths[line] = min(token.level, depths.get(line, token.level))
    return depths


@functools.cache
def _block_parser() -> MarkdownIt:
    """Make the parser of blocks: CommonMark and tables; inline text is parsed when needed."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - slow to import

    block = MarkdownIt("commonmark").enable("table")
    block.core.ruler.enableOnly(["normalize", "block"])
    return block


@functools.cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - slow to import

    return MarkdownIt("commonmark")
