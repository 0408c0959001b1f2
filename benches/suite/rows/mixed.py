"""A mixed load: what searches cost beside somebody who writes, and what writes cost beside them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import ceil

import numpy as np

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN
from suite.load import Plan, Report, ask
from suite.results import Row, Target, shown, times_at_most
from suite.shapes import nearby
from suite.timing import Times, as_many

_WORDS = 80
_RATES = (20, 200)
_PAIRS = 3
_LONGEST_WINDOW = 3.0
_DISTANCE = 0.5
# The searching threads, and whether the writer is another process.
_SEARCHING = {"1": (1, False), "2": (2, False), "processes": (1, True)}


def measure(bench: Bench) -> Iterator[Row]:
    """One and two searching threads beside a thread that writes, and one beside a process."""
    for name, (threads, another) in _SEARCHING.items():
        for rate in _RATES:
            key = f"mixed-{name}-{rate}"
            bench.tell(f"mixed load: {key}")
            plan = _plan(bench, key, rate, threads, another_process=another)
            yield line(bench, key, plan, ask(plan))


def _plan(bench: Bench, key: str, rate: int, threads: int, *, another_process: bool) -> Plan:
    """Windows of half a line's seconds, and all that is written, made before."""
    window = min(_LONGEST_WINDOW, bench.budget / 2)
    return Plan(
        path=bench.path,
        questions=bench.corpus.questions,
        vectors=bench.corpus.question_vectors,
        chunks=_chunks(bench, key, (ceil(rate * window) + 1) * _PAIRS),
        rate=rate,
        threads=threads,
        window=window,
        pairs=_PAIRS,
        another_process=another_process,
    )


def _chunks(bench: Bench, key: str, count: int) -> list[hr.Chunk]:
    """By turns a new chunk and another text and vector for one that is stored."""
    corpus = bench.corpus
    dice = random.Random(key)
    words = [word for text in corpus.texts[:200] for word in text.content.split()]
    stored = as_many(dice.sample(corpus.texts, min(count, len(corpus))), count)
    rows = np.array([text.row - 1 for text in stored])
    vectors = nearby(np.random.default_rng(29), corpus.vectors[rows], _DISTANCE)
    return [
        hr.Chunk(
            str(text.row) if number % 2 else f"{key}-{number}",
            text.path,
            " ".join(dice.choices(words, k=_WORDS)),
            text.title,
            embedding=vector,
        )
        for number, (text, vector) in enumerate(zip(stored, vectors, strict=True))
    ]


def line(bench: Bench, key: str, plan: Plan, report: Report) -> Row:
    """What came of a load."""
    quiet, writing = report.quiet, report.writing
    figures = {
        "hedgerow": Times.of(writing.searches),
        "hedgerow, without the writer": Times.of(quiet.searches),
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
        checks=tuple(_checks(plan, report)),
        tail="p99",
    )


def _targets(figures: dict[str, Times], report: Report) -> Iterator[Target]:
    beside, alone, writes = figures.values()
    writer = "those without the writer"
    yield times_at_most("searches, median", 1.15, writer, beside.p50 / alone.p50)
    yield times_at_most("searches, 99 of 100", 1.5, writer, beside.p99 / alone.p99)
    reached = shown(writes.p99, "ms")
    yield Target("writes, 99 of 100: at most 3 ms", reached, writes.p99 <= 3e-3)
    before, most = _memory(report)
    growth = most / before if before and most else None
    yield times_at_most("peak memory", 1.1, "that without the writer", growth)


def _memory(report: Report) -> tuple[int | None, int | None]:
    """The peak before anything was written, and the highest while it was."""
    peaks = [peak for peak in report.writing.peaks if peak is not None]
    return report.quiet.peaks[0], max(peaks, default=None)


def _checks(plan: Plan, report: Report) -> Iterator[str]:
    quiet, writing = report.quiet, report.writing
    pace, alone = (len(half.searches) / half.seconds for half in (writing, quiet))
    yield f"{pace:,.0f} searches a second, without the writer {alone:,.0f}"
    due = ceil(plan.rate * plan.window) * plan.pairs
    yield f"{len(writing.writes):,} of {due:,} writes in time"
    before, most = _memory(report)
    if before and most:
        yield f"peak memory {shown(most, 'MB')}, without the writer {shown(before, 'MB')}"
    yield f"written last and found by their vectors: {report.found} of {report.looked_for}"
