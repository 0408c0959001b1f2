"""The lines of the table, in their order."""

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
    sparse,
    transactions,
    vectors,
    writing,
)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines that are measured together, over every corpus of at least so many chunks.

    `peers` says whether it asks anybody but hedgerow, `apart` whether the contenders are closed
    before, because it needs their memory.
    """

    measure: Callable[[Bench], Iterator[Row]]
    least: int = 0
    peers: bool = True
    apart: bool = False


ALONE: dict[str, Callable[[float], Iterator[Row]]] = {
    "compiling": compiling.measure,
    "package": package.measure,
}
"""What has nothing to do with a corpus; takes the seconds that a line may last."""

EACH = {
    "keywords": Part(keywords.measure),
    "vectors": Part(vectors.measure),
    "pieces": Part(pieces.measure),
    "hybrid": Part(hybrid.measure),
    "fusion": Part(fusion.measure, peers=False),
    "sparse": Part(sparse.measure, peers=False),
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
"""What is measured over a corpus; writing comes after all that the new chunks could disturb."""


def parts(only: Collection[str], chunks: int) -> list[Part]:
    """Those of these names, or all that are for a corpus of this size."""
    return [
        part for name, part in EACH.items() if name in only or (not only and chunks >= part.least)
    ]
