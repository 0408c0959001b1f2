"""Vectors: time relative to reading them once, recall, and the effect of a busy machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from suite.bench import Bench
from suite.busy import busy_memory
from suite.contenders import TOP, ours
from suite.contenders.faiss_hnsw import Graph
from suite.contenders.reading import Reading
from suite.results import Row, Target, fraction, part_of, shown, times_at_most
from suite.timing import Times, as_many, by_turns
from suite.truth import Truth

_BATCH = 100
_BATCHES = 10
_FEWER_BATCHES = 3
_ASKED = 100
_EFFORTS = (64, 96, 128, 192, 256, 384, 512, 768, 1024)
FAST, CODES = ours.VARIANTS

Calls = dict[str, Callable[[Any], Any]]


def measure(bench: Bench) -> Iterator[Row]:
    """Measure single searches, single searches on a busy machine, and a batch of a hundred."""
    with ours.variants(bench.path, bench.corpus) as variants:
        single = nearest(bench, variants, "vector", f"vectors, top {TOP}", reading=1.3)
        yield single
        yield _busy(bench, variants, single)
        yield _batch(bench, variants, single)


def nearest(
    bench: Bench,
    variants: Mapping[str, ours.Opened],
    key: str,
    what: str,
    *,
    reading: float | None = None,
) -> Row:
    """Compare all contenders that search vectors, with their recall.

    `reading` is the target relative to reading each byte once.
    """
    calls = _with_variants(bench, variants, "nearest")
    recalls, level = _recalls(bench, variants, calls)
    figures = by_turns(calls, list(bench.corpus.question_vectors), bench.budget)
    opened = {"hedgerow": bench.present["hedgerow"], **variants}
    memory = {name: one.index.stats().vector_bytes for name, one in opened.items()}
    targets = list(_targets(bench, figures, recalls, memory, level))
    if reading is not None:
        targets.insert(0, part_of(Reading.NAME, reading, figures))
    checks = [f"recall of {name} {recall:.4f}" for name, recall in recalls.items()]
    checks += [f"memory of {name} {shown(size, 'MB')}" for name, size in memory.items()]
    return bench.row(
        key,
        what,
        "ms",
        figures,
        targets=tuple(targets) if bench.large else (),
        checks=tuple(checks),
        absent=bench.missing("nearest"),
    )


def _with_variants(bench: Bench, variants: Mapping[str, ours.Opened], method: str) -> Calls:
    """Return the calls of hedgerow, its variants and the others, in this order."""
    calls = bench.calls(method)
    first = {"hedgerow": calls.pop("hedgerow")}
    return {**first, **{name: getattr(one, method) for name, one in variants.items()}, **calls}


def _recalls(
    bench: Bench, variants: Mapping[str, ours.Opened], calls: Calls
) -> tuple[dict[str, float], str]:
    """Return the recall of each call, and the name of the graph to compare "fast" with.

    That graph has the least effort with the same recall. It is added to the calls.
    """
    asked = bench.corpus.question_vectors[:_ASKED]
    truth = Truth(bench.corpus.vectors, asked)
    recalls = {}
    for name, call in calls.items():
        rows = (variants.get(name) or bench.present[name]).rows
        found = [rows(call(vector)) for vector in asked]
        if any(found):
            recalls[name] = truth.recall(found)
    graph: Graph | None = bench.present.get(Graph.NAME)
    if graph is None or FAST not in recalls:
        return recalls, Graph.NAME
    for effort in _EFFORTS:
        level, call = f"{Graph.NAME}, effort {effort}", graph.with_effort(effort)
        recall = truth.recall([graph.rows(call(vector)) for vector in asked])
        if recall >= recalls[FAST]:
            break
    calls[level], recalls[level] = call, recall
    return recalls, level


def _targets(
    bench: Bench,
    figures: Mapping[str, Times],
    recalls: Mapping[str, float],
    memory: Mapping[str, int],
    level: str,
) -> Iterator[Target]:
    """Yield the targets of vector search.

    Some apply from 100,000 chunks on, some from a million.
    """

    def part(name: str, of: str) -> float | None:
        there = name in figures and of in figures
        return figures[name].p50 / figures[of].p50 if there else None

    yield _recalled("exact", 1.0, recalls.get("hedgerow"))
    yield _recalled("fast", 0.995, recalls.get(FAST))
    if bench.million:
        yield times_at_most("fast", 0.25, "exact", part(FAST, "hedgerow"))
    else:
        yield times_at_most("fast", 0.6, f"{level} (of equal recall)", part(FAST, level))
    yield times_at_most("codes in memory", 1.5, "exact", part(CODES, "hedgerow"))
    if bench.million:
        size = memory[CODES] / memory["hedgerow"] if CODES in memory else None
        yield times_at_most("codes in memory", 0.35, "the memory of exact", size)


def _recalled(what: str, least: float, recall: float | None) -> Target:
    aim = f"{what}: recall at least {least:g}"
    if recall is None:
        return Target(aim, "not measured", None)
    return Target(aim, f"{recall:.4f}", recall >= least)


def _busy(bench: Bench, variants: Mapping[str, ours.Opened], quiet: Row) -> Row:
    """Compare hedgerow, the memory floor and a graph on busy memory, each with its quiet time."""
    calls = {
        name: call
        for name, call in _with_variants(bench, variants, "nearest").items()
        if name in {"hedgerow", *variants, Reading.NAME, Graph.NAME}
    }
    with busy_memory():
        busy = by_turns(calls, list(bench.corpus.question_vectors), bench.budget)
    figures = {}
    for name, times in busy.items():
        figures |= {name: times, f"{name}, quiet": quiet.figures[name]}
    beside, alone = (of["hedgerow"].p50 / of[Reading.NAME].p50 for of in (busy, quiet.figures))
    return bench.row(
        "vector-busy",
        f"vectors, top {TOP}, while another process streams through memory",
        "ms",
        figures,
        checks=(f"{beside:.3g} times {Reading.NAME} in the same load, {alone:.3g} times in quiet",),
        absent={**quiet.absent},
    )


def _batch(bench: Bench, variants: Mapping[str, ours.Opened], single: Row) -> Row:
    batch = np.stack(as_many(list(bench.corpus.question_vectors), _BATCH))
    batches = [batch] * (_FEWER_BATCHES if bench.million else _BATCHES)
    taken = by_turns(_with_variants(bench, variants, "nearest_many"), batches, bench.budget)
    each = {name: times.each(_BATCH) for name, times in taken.items()}
    part = each["hedgerow"].p50 / single.figures["hedgerow"].p50
    aim = Target("at most 0.35 of one alone", fraction(part), part <= 0.35)
    return bench.row(
        "vector-batch",
        f"vectors, top {TOP}, each of a batch of {_BATCH} on one thread",
        "ms",
        each,
        targets=(aim,) if bench.large else (),
        absent=bench.missing("nearest_many"),
    )
