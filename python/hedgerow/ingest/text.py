"""Plain text to chunks (spec/ingest.md, "Plain text")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .passages import PassageSplitter
from .sentences import first_sentence
from .source import Source, chunk_of, read_text, title_from_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow import Chunk

_LONGEST_TITLE = 100


def read_plain_text(source: Source) -> Iterator[Chunk]:
    """Give a text file's passages: cut at blank lines, named after its first line.

    Raises UnreadableSourceError when the file is no text.
    """
    lines = read_text(source).split("\n")
    title = _title(lines, source)
    splitter = PassageSplitter(lines, _paragraph_starts(lines))
    for ordinal, passage in enumerate(splitter.split(0, len(lines))):
        summary = first_sentence(_body(passage.text, title if ordinal == 0 else ""))
        yield chunk_of(source, ordinal, passage, title=title, summary=summary)


def _title(lines: list[str], source: Source) -> str:
    """Take the first line when it stands alone like a heading, else the file's name."""
    first = next((i for i, line in enumerate(lines) if not _is_rule(line)), None)
    if first is None:
        return title_from_name(source.path)
    line = " ".join(lines[first].split())
    stands_alone = first + 1 == len(lines) or _is_rule(lines[first + 1])
    # In reStructuredText a line that begins so is a comment, a target or a directive.
    if stands_alone and len(line) <= _LONGEST_TITLE and not line.startswith(".. "):
        return line
    return title_from_name(source.path)


def _is_rule(line: str) -> bool:
    """Tell whether a line is blank or only underlines the one above it."""
    return len(set(line.strip())) <= 1 and not line.strip()[:1].isalnum()


def _body(text: str, title: str) -> str:
    """Leave the title line out where other text follows it."""
    first, _, rest = text.partition("\n")
    if title and " ".join(first.split()) == title and rest.strip():
        return "\n".join(line for line in rest.split("\n") if not _is_rule(line) or not line)
    return text


def _paragraph_starts(lines: list[str]) -> dict[int, int]:
    return {
        index: 0
        for index in range(1, len(lines))
        if lines[index].strip() and not lines[index - 1].strip()
    }
