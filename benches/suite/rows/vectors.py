"""Vectors: how near to reading them once, and what is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from suite.bench import Bench
from suite.contenders import TOP
from suite.results import Row, Target, fraction, part_of
from suite.timing import as_many, by_turns
from suite.truth import Truth

_BATCH = 100
_BATCHES = 10
_FEWER_BATCHES = 3
_ASKED = 100


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
    batches = [batch] * (_FEWER_BATCHES if bench.million else _BATCHES)
    taken = by_turns(bench.calls("nearest_many"), batches, bench.budget)
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
    """How many of the 60 that are truly nearest each has."""
    asked = bench.corpus.question_vectors[:_ASKED]
    truth = Truth(bench.corpus.vectors, asked)
    for name, call in bench.calls("nearest").items():
        rows = bench.present[name].rows
        found = [rows(call(vector)) for vector in asked]
        if any(found):
            yield f"recall of {name} {truth.recall(found):.4f}"
