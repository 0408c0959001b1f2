"""Choose the reader of a file by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .jsonl import read_jsonl
from .markdown import read_markdown
from .source import JSONL_SUFFIXES, MARKDOWN_SUFFIXES
from .text import read_plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow import Chunk

    from .source import Skip, Source


def read_chunks(source: Source, skips: list[Skip]) -> Iterator[Chunk]:
    """Give the chunks of one file; what is left out of it is added to `skips`.

    A name with no suffix of ours is read as plain text: it was asked for by name. Raises
    UnreadableSourceError, perhaps after some chunks, when the file cannot be read.
    """
    name = source.path.lower()
    if name.endswith(MARKDOWN_SUFFIXES):
        return read_markdown(source, skips)
    if name.endswith(JSONL_SUFFIXES):
        return read_jsonl(source, skips)
    return read_plain_text(source)
