"""Markdown to chunks: one for each section (spec/ingest.md, "Markdown")."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from .front_matter import FrontMatter, read_front_matter
from .markdown_events import INLINE, Event, markdown_events
from .passages import PASSAGE_LIMIT, Passage, PassageSplitter, first_sentence, shorten
from .source import (
    REPEATED_LIMIT,
    TITLE_SEPARATOR,
    Skip,
    Source,
    UnreadableSourceError,
    chunk_of,
    read_text,
    title_from_name,
)

if TYPE_CHECKING:
    from hedgerow import Chunk

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)")
_LONGEST_HEADING = 200
_LONGEST_PARAGRAPH = 4000


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the document itself: not one in a list, a quotation or a fence."""

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
    """Yield a Markdown file's sections as chunks; bad front matter is added to `skips`.

    Raises UnreadableSourceError when the file is not text.
    """
    lines = read_text(source).split("\n")
    matter = read_front_matter(lines)
    if matter.problem:
        skips.append(bad_front_matter(source, matter))
    yield from markdown_chunks(source, lines, matter, matter.metadata)


def bad_front_matter(source: Source, matter: FrontMatter) -> Skip:
    """Report front matter of which only single lines could be read."""
    reason = f"front matter is not valid YAML ({matter.problem}); used the lines that can be read"
    return Skip(source.path, "bad_front_matter", reason, matter.problem_line)


def markdown_chunks(  # noqa: PLR0913, PLR0917 - what chunks have
    source: Source,
    lines: Sequence[str],
    matter: FrontMatter,
    metadata: Mapping[str, Any],
    tags: tuple[str, ...] | None = None,
    aliases: Sequence[str] = (),
) -> Iterator[Chunk]:
    """Yield the sections of a text whose front matter has been read, each with `metadata`.

    Their tags are those of the front matter unless others are given. The summary of the first ends
    with the `aliases`, so that they are found.

    Raises UnreadableSourceError when there is nothing to make a chunk of, or when what is repeated
    in every chunk comes to too much.
    """
    # Blanked, not removed: line numbers stay those of the file.
    unread = set(matter.unread)
    head = [line if at in unread else "" for at, line in enumerate(lines[: matter.body_start])]
    lines = [*head, *lines[matter.body_start :]]
    if not any(line.strip() for line in lines):
        yield _card(source, matter, metadata, aliases)
        return
    document = _Document(lines)
    splitter = PassageSplitter(lines, document.boundaries)
    stated = matter.text("summary", "description")
    tags = matter.tags if tags is None else tags
    # What could not be read of the front matter is text before the first section.
    sections = list(document.sections(min(unread, default=matter.body_start)))
    # Passages of a section are at least half as long as they may be, on the whole.
    passages = sum(map(len, lines)) // (PASSAGE_LIMIT // 2)
    _check_repeated(source, matter, metadata, len(sections) + passages)
    ordinal = 0
    for section in sections:
        title = _title(section, matter, source)
        for passage in splitter.split(section.start, section.end):
            summary = document.first_sentence(passage.first_line - 1, passage.last_line)
            if ordinal == 0:
                summary = _with_aliases(stated or summary, aliases)
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


def structures(text: str) -> list[str]:
    """Cut a text into its blocks: headings, paragraphs, list items, tables, code.

    Joined by newlines they are the text: blank lines stay with the block above them. What is in an
    item or a quotation belongs to it.
    """
    lines = text.split("\n")
    starts = sorted(
        line
        for line, depth in _Blocks(lines).boundaries.items()
        # The rows of a table stay together.
        if depth == 0 or (depth == 1 and _ITEM.match(lines[line]))
    )
    edges = [0, *(start for start in starts if start), len(lines)]
    return ["\n".join(lines[start:end]) for start, end in pairwise(edges)]


def _check_repeated(
    source: Source, matter: FrontMatter, metadata: Mapping[str, Any], chunks: int
) -> None:
    """Raise UnreadableSourceError when what is repeated in every chunk of a file comes to too much.

    Many small sections under long front matter would be many times as large in an index.
    """
    parts = (matter.text("title"), *matter.tags, json.dumps(metadata), source.file)
    # The path is in the id too.
    size = sum(map(len, parts)) + 2 * len(source.path)
    if size * chunks > REPEATED_LIMIT:
        raise UnreadableSourceError(
            "too_large",
            f"its names and front matter, {size:,} characters, would stand in each of about "
            f"{chunks:,} chunks, and come to more than {REPEATED_LIMIT // 1024**2} MiB; shorten "
            "the front matter, or split the file",
        )


def _with_aliases(summary: str, aliases: Sequence[str]) -> str:
    return "\n".join(filter(None, [summary, ", ".join(aliases)]))


def _card(
    source: Source, matter: FrontMatter, metadata: Mapping[str, Any], aliases: Sequence[str]
) -> Chunk:
    """Return the chunk of a note that is all front matter: its title, summary, aliases and tags."""
    summary = _with_aliases(matter.text("summary", "description"), aliases)
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
    """Join the headings above a section, under the title of the note where it has one."""
    names = [matter.text("title"), *section.headings]
    path: list[str] = []
    for name in names:
        if name and not (path and path[-1].casefold() == name.casefold()):
            path.append(name)
    return TITLE_SEPARATOR.join(path) or title_from_name(source.path)


class _Document:
    """The blocks of a Markdown text, as CommonMark with tables has them."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        blocks = _Blocks(lines)
        self.boundaries = blocks.boundaries
        self._headings = blocks.headings
        self._paragraphs = blocks.paragraphs
        self._starts = [start for start, _ in blocks.paragraphs]

    def sections(self, start: int) -> Iterator[Section]:
        """Yield the sections; an empty one is carried into its first subsection."""
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
        """Return the first sentence of the first paragraph in these lines that has words."""
        index = bisect_left(self._starts, start)
        while index < len(self._starts) and self._starts[index] < end:
            sentence = first_sentence(self._paragraphs[index][1])
            if sentence:
                return sentence
            index += 1
        return ""

    def _is_carried(self, index: int, end: int) -> bool:
        """Return whether there is nothing between a heading and a deeper one after it."""
        heading = self._headings[index]
        deeper = index + 1 < len(self._headings) and self._headings[index + 1].level > heading.level
        return deeper and not any(line.strip() for line in self._lines[heading.end : end])


class _Blocks:
    """What the parser finds in a text, with plain text for its inline mark-up.

    `paragraphs` are the lines they start on and their text, `boundaries` maps each line on which
    a block starts to the depth of that block. The text of images is left out.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.headings: list[Heading] = []
        self.paragraphs: list[tuple[int, str]] = []
        self.boundaries: dict[int, int] = {}
        # The parser counts in bytes of UTF-8.
        self._offsets = [0, *accumulate(len(line.encode()) + 1 for line in lines)]
        self._open: list[str] = []
        self._depth = 0
        self._images = 0
        self._rows = 0
        # The line and the text, so far, of the paragraph or heading that is open.
        self._begin = 0
        self._text: list[str] | None = None
        self._read(markdown_events("\n".join(lines), tables=True))

    def _read(self, events: Iterable[Event]) -> None:
        for kind, value, start, end in events:
            if kind == "Start":
                self._start(value[0], start)
            elif kind == "End":
                self._open.pop()
                name, details = value
                self._end(name, details, end)
            elif kind == "Rule":
                self._end_text()
                self._mark(start, self._depth)
            elif kind in {"Text", "Code"}:
                self._add(value, start)
            elif kind in {"SoftBreak", "HardBreak"}:
                self._add(" ", start)
            elif kind == "InlineHtml":
                self._add("", start)

    def _start(self, name: str, offset: int) -> None:
        if name in INLINE:
            self._add("", offset)
            self._images += name == "Image"
        else:
            self._end_text()
            if name != "TableCell":
                self._begin = self._mark(offset, self._depth + self._is_later_row(name))
            if name in {"Paragraph", "Heading"}:
                self._text = []
            self._depth += 1
        self._open.append(name)

    def _end(self, name: str, details: Any, offset: int) -> None:
        if name in INLINE:
            self._images -= name == "Image"
            return
        self._depth -= 1
        if name == "Heading":
            text, self._text = " ".join("".join(self._text or ()).split()), None
            if not self._depth:
                end = self._line(offset - 1) + 1
                text = shorten(text, _LONGEST_HEADING)
                self.headings.append(Heading(int(details[1]), text, self._begin, end))
        self._end_text()

    def _add(self, text: str, offset: int) -> None:
        """Add to the text that is open; an item of a tight list has no paragraph around it."""
        if self._images:
            return
        if self._text is None and self._open and self._open[-1] == "Item":
            self._begin = self._mark(offset, self._depth)
            self._text = []
        if self._text is not None:
            self._text.append(text)

    def _end_text(self) -> None:
        if self._text is not None:
            # No summary needs more, and every passage of a long line reads this anew.
            text = "".join(self._text).strip()[:_LONGEST_PARAGRAPH]
            self.paragraphs.append((self._begin, " ".join(text.split())))
            self._text = None

    def _mark(self, offset: int, depth: int) -> int:
        """Note that a block starts here, and return its line."""
        line = self._line(offset)
        self.boundaries[line] = min(depth, self.boundaries.get(line, depth))
        return line

    def _is_later_row(self, name: str) -> bool:
        """Return whether it is a row of a table after the first, which the head stays with."""
        self._rows = 0 if name == "Table" else self._rows + (name == "TableRow")
        return name == "TableRow" and self._rows > 1

    def _line(self, offset: int) -> int:
        return bisect_right(self._offsets, offset) - 1
