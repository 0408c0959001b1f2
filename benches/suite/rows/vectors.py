"""Vectors: how near to reading them once, and what is found."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

import numpy as np

from suite.bench import Bench
from suite.contenders import TOP
from suite.results import Row, Target, fraction, part_of
from suite.timing import as_many, by_turns

_BATCH = 100
_BATCHES = 10


def measure(bench: Bench) -> Iterator[Row]:
    """One at a time, and a hundred in a call."""
    vectors = bench.corpus.question_vectors
    single = by_turns(bench.calls("nearest"), list(vectors), bench.budget)
    yield bench.row(
        "vector",
        f"vectors, top {TOP}",
        "ms",
        single,
        targets=(part_of("reading int8 once", 1.3, single),) if bench.large else (),
        checks=tuple(_recalls(bench)),
        absent=bench.missing("nearest"),
    )
    batch = np.stack(as_many(list(vectors), _BATCH))
    taken = by_turns(bench.calls("nearest_many"), [batch] * _BATCHES, bench.budget)
    each = {name: times.each(_BATCH) for name, times in taken.items()}
    part = each["hedgerow"].p50 / single["hedgerow"].p50
    aim = Target("at most 0.35 of one alone", fraction(part), part <= 0.35)
    yield bench.row(
        "vector-batch",
        f"vectors, top {TOP}, each of a batch of {_BATCH} on one thread",
        "ms",
        each,
        targets=(aim,) if bench.large else (),
        absent=bench.missing("nearest_many"),
    )


def _recalls(bench: Bench) -> Iterator[str]:
    """How many of the 60 that are truly nearest each has; with equals at the end, any of them."""
    vectors = bench.corpus.question_vectors[:50].astype(np.float64)
    cosines = vectors @ bench.corpus.vectors.T.astype(np.float64)
    top = min(TOP, len(bench.corpus))
    # A last place within what float32 can tell apart is as good.
    least = np.sort(cosines, axis=1)[:, -top] - 1e-6
    for name, call in bench.calls("nearest").items():
        rows = bench.present[name].rows
        found = [rows(call(vector)) for vector in bench.corpus.question_vectors[:50]]
        if any(found):
            recall = mean(map(_recall, found, cosines, least, [top] * len(found)))
            yield f"recall of {name} {recall:.4f}"


def _recall(rows: list[int], cosines: Any, least: float, top: int) -> float:
    return sum(cosines[row - 1] >= least for row in set(rows)) / top
