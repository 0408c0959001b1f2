"""A mixed load: the cost of searches during writes, and the cost of writes during searches."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from suite.bench import Bench
from suite.contenders import SHOWN
from suite.load import Plan, Report, ask
from suite.results import Row, Target, shown, times_at_most, usage
from suite.timing import Times
from suite.writes import changes

_RATES = (20, 200)
_PAIRS = 3
_LONGEST_WINDOW = 3.0
# The number of searching threads, and whether the writer is another process.
_SEARCHING = {"1": (1, False), "2": (2, False), "processes": (1, True)}


def measure(bench: Bench) -> Iterator[Row]:
    """Measure one and two searching threads with a writer thread, and one with a writer process."""
    for name, (threads, another) in _SEARCHING.items():
        for rate in _RATES:
            key = f"mixed-{name}-{rate}"
            bench.tell(f"mixed load: {key}")
            plan = _plan(bench, key, rate, threads, another_process=another)
            yield line(bench, key, plan, ask(plan))


def _plan(bench: Bench, key: str, rate: int, threads: int, *, another_process: bool) -> Plan:
    """Return a plan with windows of half the budget, at most, and all chunks made in advance."""
    window = min(_LONGEST_WINDOW, bench.budget / 2)
    return Plan(
        path=bench.path,
        questions=bench.corpus.questions,
        vectors=bench.corpus.question_vectors,
        chunks=changes(
            bench.corpus,
            key,
            (ceil(rate * window) + 1) * _PAIRS,
            is_new=lambda number: number % 2 == 0,
        ),
        rate=rate,
        threads=threads,
        window=window,
        pairs=_PAIRS,
        another_process=another_process,
    )


def line(bench: Bench, key: str, plan: Plan, report: Report) -> Row:
    """Return the row of a mixed load."""
    quiet, writing = report.quiet, report.writing
    figures = {
        "hedgerow": Times.of_costs(writing.searches),
        "hedgerow, without the writer": Times.of_costs(quiet.searches),
        "hedgerow, each write": Times.of(writing.writes),
    }
    who = f"{plan.threads} thread{'s' * (plan.threads > 1)}"
    where = "process" if plan.another_process else "thread"
    return bench.row(
        key,
        f"hybrid, top {SHOWN}, by {who}, while another {where} writes {plan.rate:g} chunks a second",
        "ms",
        figures,
        targets=tuple(_targets(figures, report)) if bench.large else (),
        checks=(*usage(figures, "ms"), *_checks(plan, report)),
        tail="p99",
    )


def _targets(figures: dict[str, Times], report: Report) -> Iterator[Target]:
    beside, alone, writes = figures.values()
    writer = "those without the writer"
    yield times_at_most("searches, median", 1.15, writer, beside.p50 / alone.p50)
    yield times_at_most("searches, 99 of 100", 1.5, writer, beside.p99 / alone.p99)
    reached = shown(writes.p99, "ms")
    yield Target("writes, 99 of 100: at most 3 ms", reached, writes.p99 <= 3e-3)
    longest = max(report.writing.writes)
    yield Target("writes, all: at most 20 ms", shown(longest, "ms"), longest <= 20e-3)
    before, most = _memory(report)
    growth = most / before if before and most else None
    yield times_at_most("peak memory", 1.1, "that without the writer", growth)


def _memory(report: Report) -> tuple[int | None, int | None]:
    """Return the peak before the first write, and the highest peak during writes."""
    peaks = [peak for peak in report.writing.peaks if peak is not None]
    return report.quiet.peaks[0], max(peaks, default=None)


def _checks(plan: Plan, report: Report) -> Iterator[str]:
    quiet, writing = report.quiet, report.writing
    pace, alone = (len(half.searches) / half.seconds for half in (writing, quiet))
    yield f"{pace:,.0f} searches a second, without the writer {alone:,.0f}"
    due = ceil(plan.rate * plan.window) * plan.pairs
    longest = shown(max(writing.writes), "ms")
    yield f"{len(writing.writes):,} of {due:,} writes in time, the longest {longest}"
    calm = [cost.elapsed for cost in writing.searches if cost.preemptions == 0]
    if calm:
        p99 = shown(Times.of(calm).p99, "ms")
        yield f"{len(calm):,} of {len(writing.searches):,} searches never preempted: {p99} (p99)"
    before, most = _memory(report)
    if before and most:
        yield f"peak memory {shown(most, 'MB')}, without the writer {shown(before, 'MB')}"
    yield f"written last and found by their vectors: {report.found} of {report.looked_for}"
