"""Chunks as users name them: by an id, or by the place that results show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hedgerow import Filters, Index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow import Chunk
    from hedgerow.opensearch import Collection

_PLACE = re.compile(r"(?P<path>.+)(?P<mark>[#:])(?P<number>\d{1,18})", re.DOTALL)


def chunks_at(index: Index | Collection, what: str) -> Sequence[Chunk]:
    """The chunk of an id, or without one those of a place, in their order; none where there is none."""
    chunk = index.get(what)
    if chunk is not None:
        return [chunk]
    place = _PLACE.fullmatch(what)
    found = place and _matching(index, place["path"], _at(place["mark"], int(place["number"])))
    return found or _matching(index, what, lambda _: True)


def _at(mark: str, number: int) -> Callable[[Chunk], bool]:
    if mark == "#":
        return lambda chunk: chunk.ordinal == number
    return lambda chunk: number in _lines(chunk)


def _lines(chunk: Chunk) -> range:
    first, last = (chunk.metadata.get(key) for key in ("line_start", "line_end"))
    if not isinstance(first, int):
        return range(0)
    return range(first, (last if isinstance(last, int) else first) + 1)


def _matching(
    index: Index | Collection, path: str, holds: Callable[[Chunk], bool]
) -> Sequence[Chunk]:
    chunks = [chunk for chunk in _of_path(index, path) if holds(chunk)]
    return sorted(chunks, key=lambda chunk: chunk.ordinal)


def _of_path(index: Index | Collection, path: str) -> Sequence[Chunk]:
    if isinstance(index, Index):
        return [chunk for chunk in index.chunks() if chunk.path == path]
    with index._point_in_time(Filters(paths=[path])) as moment:  # noqa: SLF001 - of this package
        return list(moment.whole_chunks())
