"""The lines of the table, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from suite.bench import Bench
from suite.results import Row

from . import compiling, hybrid, keywords, opening, package, pieces, vectors, writing

ALONE: list[Callable[[float], Iterator[Row]]] = [compiling.measure, package.measure]
"""What has nothing to do with a corpus; takes the seconds that a line may last."""

EACH: list[Callable[[Bench], Iterator[Row]]] = [
    keywords.measure,
    vectors.measure,
    pieces.measure,
    hybrid.measure,
    writing.measure,
    opening.measure,
]
"""What is measured over every corpus; writing comes after all that the new chunks could disturb."""
