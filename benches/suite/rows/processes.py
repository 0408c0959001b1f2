"""Many processes that each write one chunk: errors, segments, and a search ranked by FTS5."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import TOP
from suite.results import Row, Target, times_at_most, usage
from suite.single_writes import CAN_FORK, Plan, ask, segments
from suite.timing import Times, by_turns
from suite.writes import always, changes

_MOST_SEGMENTS = 100
# The time budget relative to that of other lines.
_LONGER = 20


def measure(bench: Bench) -> Iterator[Row]:
    """Measure a search before and after the writes. Yields nothing on systems that cannot fork."""
    if not CAN_FORK:
        return
    path = bench.folder / "processes.db"
    shutil.copyfile(bench.path, path)
    before, first = _searched(bench, path), _segments(path)
    bench.tell(f"{bench.processes:,} processes with one write each")
    chunks = changes(bench.corpus, "process", bench.processes, is_new=always)
    report = ask(Plan(path, chunks, bench.budget * _LONGER))
    after, last = _searched(bench, path), _segments(path)
    with hr.Index.open(path) as index:
        damage = index.check()
        written = len(index) - len(bench.corpus)
    path.unlink()
    figures = {
        "hedgerow": Times.of(report.seconds),
        "hedgerow, FTS5's search before": before,
        "hedgerow, FTS5's search after": after,
    }
    began = len(report.seconds) + report.failed
    targets = (
        Target("no errors", f"{report.failed:,} of {began:,} failed", report.failed == 0),
        Target(f"segments: at most {_MOST_SEGMENTS}", f"{last:,}", last <= _MOST_SEGMENTS),
        times_at_most("FTS5's search after", 1.2, "that before", after.p50 / before.p50),
    )
    yield bench.row(
        "processes",
        f"open, `upsert` of one chunk and close, by {began:,} processes one after the other",
        "ms",
        figures,
        targets=targets,
        checks=(
            f"{began:,} of {bench.processes:,} processes in time, {report.failed:,} failed",
            f"chunks found afterwards: {written:,} of {len(report.seconds):,}",
            f"segments of FTS5: {first:,} before, {last:,} after",
            f"damage found by a check: {len(damage)}",
            *usage(figures, "ms"),
        ),
    )


def _searched(bench: Bench, path: Path) -> Times:
    """Return the time of a search ranked by FTS5."""
    with hr.Index.open(path, ranking="fts5") as index:
        calls = {"hedgerow": lambda question: index.search_bm25(question, TOP)}
        return by_turns(calls, bench.corpus.questions, bench.budget / 2)["hedgerow"]


def _segments(path: Path) -> int:
    """Return the number of FTS5 segments in a file that no handle has open."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT block FROM knowledge_fts_data WHERE id = 10")
        return segments(found.fetchone()[0])
