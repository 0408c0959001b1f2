"""Read one file as chunks, by the suffix of its name."""

from __future__ import annotations

from collections.abc import Iterator

from hedgerow._engine import Chunk, _read_chunks

from .source import Skip, Source


def read_chunks(source: Source, skips: list[Skip]) -> Iterator[Chunk]:
    """Yield the chunks of one file; the parts that are left out of it are added to `skips`.

    A name with a suffix that is not known is read as plain text: the caller asked for it by name.
    Raises UnreadableSourceError, perhaps after some chunks, if the file cannot be read.
    """
    for item in _read_chunks(source.path, source.file, source.data):
        if isinstance(item, Chunk):
            yield item
        else:
            code, reason, line = item
            skips.append(Skip(source.path, code, reason, line))
