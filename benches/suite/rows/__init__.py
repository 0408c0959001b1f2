"""The lines of the table, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from suite.bench import LARGE, Bench
from suite.results import Row

from . import (
    compiling,
    filters,
    fusion,
    grouped,
    hybrid,
    keywords,
    long_path,
    mixed,
    opening,
    package,
    pieces,
    processes,
    shapes,
    transactions,
    vectors,
    writing,
)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines that are measured together, over every corpus of at least `least` chunks.

    `peers` is True if other contenders than hedgerow take part. `apart` is True if the contenders
    are closed first, to free their memory.
    """

    measure: Callable[[Bench], Iterator[Row]]
    least: int = 0
    peers: bool = True
    apart: bool = False


ALONE: dict[str, Callable[[float], Iterator[Row]]] = {
    "compiling": compiling.measure,
    "package": package.measure,
}
"""Measurements without a corpus. The argument is the time budget of a line in seconds."""

EACH = {
    "keywords": Part(keywords.measure),
    "vectors": Part(vectors.measure),
    "pieces": Part(pieces.measure),
    "hybrid": Part(hybrid.measure),
    "fusion": Part(fusion.measure, peers=False),
    "filters": Part(filters.measure),
    "grouped": Part(grouped.measure, peers=False),
    "transactions": Part(transactions.measure, peers=False),
    "long-path": Part(long_path.measure, peers=False),
    "writing": Part(writing.measure),
    "opening": Part(opening.measure),
    "mixed": Part(mixed.measure, LARGE, peers=False, apart=True),
    "processes": Part(processes.measure, LARGE, peers=False, apart=True),
    "shapes": Part(shapes.measure, LARGE, peers=False, apart=True),
}
"""Measurements over a corpus. Writing comes last, because new chunks would affect the others."""


def parts(only: Collection[str], chunks: int) -> list[Part]:
    """Return the parts with these names, or all parts for a corpus of this size."""
    return [
        part for name, part in EACH.items() if name in only or (not only and chunks >= part.least)
    ]
