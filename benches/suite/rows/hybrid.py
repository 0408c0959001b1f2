"""Hybrid search: one at a time, and thousands on threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import perf_counter

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN, TOP
from suite.results import Row, Target, part_of
from suite.timing import as_many, by_turns, rounds, seconds


def measure(bench: Bench) -> Iterator[Row]:
    """Measure single searches and batches."""
    yield _hybrid(bench)
    yield _threads(bench)


def _hybrid(bench: Bench) -> Row:
    questions = list(range(len(bench.corpus.questions)))
    calls = bench.calls("hybrid")
    figures = by_turns(calls, questions, bench.budget)
    targets = [part_of("ten lines of Python", 1 / 6 if bench.large else 1 / 3, figures)]
    if bench.large:
        targets.append(part_of("LanceDB", 1 / 30, figures))
    checks = [_alike(bench, name) for name in calls if name != "hedgerow"]
    what = f"hybrid, top {SHOWN} of {TOP} and {TOP} candidates"
    return bench.row(
        "hybrid",
        what,
        "ms",
        figures,
        targets=tuple(targets),
        checks=tuple(checks),
        absent=bench.missing("hybrid"),
    )


def _alike(bench: Bench, name: str) -> str:
    """Compare the sets of hits, because hits with equal fused scores may be in any order."""
    one, other = bench.present["hedgerow"], bench.present[name]
    count = min(50, len(bench.corpus.questions))
    shared = sum(
        len(set(one.rows(one.hybrid(place))) & set(other.rows(other.hybrid(place))))
        for place in range(count)
    )
    return f"{shared / (count * SHOWN):.1%} of the hits are those of {name}"


def _threads(bench: Bench) -> Row:
    """Time the same batch on one thread and on two, and the progress of a Python loop meanwhile."""
    retriever: hr.Retriever = bench.present["hedgerow"].retriever
    questions = bench.corpus.questions
    pace = seconds(lambda: retriever.search_many(questions, threads=1)) / len(questions)
    batch = as_many(questions, max(20, int(bench.budget / 6 / pace)))
    calls = {
        "hedgerow": lambda: retriever.search_many(batch, threads=2),
        "hedgerow, one thread": lambda: retriever.search_many(batch, threads=1),
    }
    taken = rounds(calls, 3)
    each = {name: times.each(len(batch)) for name, times in taken.items()}
    gain = each["hedgerow, one thread"].p50 / each["hedgerow"].p50
    free = _freedom(calls["hedgerow, one thread"])
    same = calls["hedgerow"]() == calls["hedgerow, one thread"]()
    targets = (
        Target("at least 1.85 times one thread", f"{gain:.2f} times", gain >= 1.85),
        Target("Python goes on meanwhile", f"at {free:.0%} of its pace", free >= 0.9),
    )
    return bench.row(
        "threads",
        "`search_many`, hybrid, each query on two threads",
        "ms",
        each,
        targets=targets if bench.large else (),
        checks=(f"answers on one thread and on two are equal: {'yes' if same else 'NO'}",),
    )


def _freedom(call: Callable[[], object]) -> float:
    """Return the speed of a Python loop during a call, relative to its speed alone."""
    alone = _pace(lambda: threading.Event().wait(seconds(call)))
    return _pace(call) / alone


def _pace(call: Callable[[], object]) -> float:
    """Return the iterations per second of a loop while `call` runs."""
    over = threading.Event()
    turns = 0

    def run() -> None:
        call()
        over.set()

    other = threading.Thread(target=run)
    began = perf_counter()
    other.start()
    while not over.is_set():
        turns += 1
    taken = perf_counter() - began
    other.join()
    return turns / taken
