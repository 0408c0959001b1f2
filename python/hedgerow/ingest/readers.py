"""Read one file as chunks, by the suffix of its name; plain text is read here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .jsonl import read_jsonl
from .markdown import read_markdown
from .passages import PassageSplitter, first_sentence
from .source import (
    JSONL_SUFFIXES,
    MARKDOWN_SUFFIXES,
    Skip,
    Source,
    chunk_of,
    read_text,
    title_from_name,
)

if TYPE_CHECKING:
    from hedgerow import Chunk

_LONGEST_TITLE = 100


def read_chunks(source: Source, skips: list[Skip]) -> Iterator[Chunk]:
    """Yield the chunks of one file; what is left out of it is added to `skips`.

    A name with another suffix is read as plain text: the caller asked for it by name. Raises
    UnreadableSourceError, perhaps after some chunks, when the file cannot be read.
    """
    name = source.path.lower()
    if name.endswith(MARKDOWN_SUFFIXES):
        return read_markdown(source, skips)
    if name.endswith(JSONL_SUFFIXES):
        return read_jsonl(source, skips)
    return read_plain_text(source)


def read_plain_text(source: Source) -> Iterator[Chunk]:
    """Yield a text file's passages, cut at blank lines and titled with its first line.

    Raises UnreadableSourceError when the file is not text.
    """
    lines = read_text(source).split("\n")
    title = _title(lines, source)
    splitter = PassageSplitter(lines, _paragraph_starts(lines))
    for ordinal, passage in enumerate(splitter.split(0, len(lines))):
        summary = first_sentence(_body(passage.text, title if ordinal == 0 else ""))
        yield chunk_of(source, ordinal, passage, title=title, summary=summary)


def _title(lines: Sequence[str], source: Source) -> str:
    """Return the first line when it stands alone like a heading, else the file's name."""
    first = next((i for i, line in enumerate(lines) if not _is_rule(line)), None)
    if first is None:
        return title_from_name(source.path)
    line = " ".join(lines[first].split())
    stands_alone = first + 1 == len(lines) or _is_rule(lines[first + 1])
    # In reStructuredText a line that begins like this is a comment, a target or a directive.
    if stands_alone and len(line) <= _LONGEST_TITLE and not line.startswith(".. "):
        return line
    return title_from_name(source.path)


def _is_rule(line: str) -> bool:
    """Return whether a line is blank or only underlines the one above it."""
    return len(set(line.strip())) <= 1 and not line.strip()[:1].isalnum()


def _body(text: str, title: str) -> str:
    """Leave out the title line where other text follows it."""
    first, _, rest = text.partition("\n")
    if title and " ".join(first.split()) == title and rest.strip():
        return "\n".join(line for line in rest.split("\n") if not _is_rule(line) or not line)
    return text


def _paragraph_starts(lines: Sequence[str]) -> dict[int, int]:
    return {
        index: 0
        for index in range(1, len(lines))
        if lines[index].strip() and not lines[index - 1].strip()
    }
