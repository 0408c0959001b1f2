"""Writing: everything in one call, and one chunk followed by a search that sees it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

import hedgerow as hr
from suite.bench import LARGE, Bench
from suite.contenders import fts5, ours
from suite.results import Row, Target, at_most
from suite.shapes import unit
from suite.timing import Times, by_turns, rounds

_WORDS = 80
_ADDED = 100
_NO_INDEX = {"reading int8 once", "ten lines of Python"}


def measure(bench: Bench) -> Iterator[Row]:
    """Measure building an index, bulk writes and single writes."""
    made = {name: Times.of([took]) for name, took in bench.made_in.items() if name not in _NO_INDEX}
    what = "making an index with vectors, as far as each has them"
    yield bench.row(
        "made", what, "s", made, absent={k.NAME: why for k, why in bench.absent.items()}
    )
    yield _bulk(bench)
    yield _single(bench)
    yield _single_with_vector(bench)


def _bulk(bench: Bench) -> Row:
    """Compare texts only, because bare FTS5 has no vectors.

    Inputs are prepared before the clock starts.
    """
    chunks = list(bench.corpus.chunks(with_vectors=False))
    numbers = count()

    def hedgerow() -> None:
        with hr.Index.open(bench.folder / f"bulk{next(numbers)}.db") as index:
            ours.write(index, chunks)

    def bare() -> None:
        connection = fts5.connect(bench.folder / f"bulk{next(numbers)}.db")
        fts5.load(connection, bench.corpus.texts)
        connection.close()

    times = 1 if len(chunks) > LARGE else 3
    figures = rounds({"hedgerow": hedgerow, "FTS5": bare}, times)
    pace = figures["FTS5"].p50 / figures["hedgerow"].p50
    aim = Target("at least 0.9 times the pace of FTS5", f"{pace:.2f} times", pace >= 0.9)
    return bench.row(
        "bulk",
        "`upsert` of all chunks, no vectors",
        "s",
        figures,
        targets=(aim,) if bench.large else (),
    )


def _single(bench: Bench) -> Row:
    """Write new words each time, so that the search shows whether the chunk is there."""
    calls = bench.calls("add")
    figures = by_turns(calls, _contents(bench), bench.budget)
    checks = [_seen(bench, name, call("freshlast and found")) for name, call in calls.items()]
    return bench.row(
        "single",
        "`upsert` of one chunk and a search that sees it",
        "ms",
        figures,
        targets=(at_most(2, "ms", figures["hedgerow"].p50),) if bench.large else (),
        checks=tuple(checks),
        absent=bench.missing("add"),
    )


def _single_with_vector(bench: Bench) -> Row:
    """Write a random vector each time, so that a chunk is nearest to its own vector."""
    dimensions = bench.corpus.vectors.shape[1]
    vectors = unit(np.random.default_rng(17).standard_normal((_ADDED + 1, dimensions)))
    *new, last = zip([*_contents(bench), "last"], vectors, strict=True)
    calls = bench.calls("add_with_vector")
    figures = by_turns(calls, new, bench.budget)
    return bench.row(
        "single-vector",
        "`upsert` of one chunk with its vector and a vector search that sees it",
        "ms",
        figures,
        checks=tuple(_seen(bench, name, call(last)) for name, call in calls.items()),
        absent=bench.missing("add_with_vector"),
    )


def _contents(bench: Bench) -> list[str]:
    dice = random.Random(17)
    words = [word for text in bench.corpus.texts[:200] for word in text.content.split()]
    return [f"fresh{number} {' '.join(dice.choices(words, k=_WORDS))}" for number in range(_ADDED)]


def _seen(bench: Bench, name: str, answer: Any) -> str:
    """Check that the first hit was written after the corpus."""
    found = bench.present[name].rows(answer)
    return (
        f"{name} finds what it wrote: {'yes' if found and found[0] > len(bench.corpus) else 'NO'}"
    )
