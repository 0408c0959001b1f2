"""Opening: from a file to the first result, and the memory of the ranking."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import hedgerow as hr
from suite.bench import LARGE, Bench
from suite.contenders import SHOWN, TOP, fts5, ours
from suite.results import Row, at_most
from suite.timing import Times, rounds

_ROUNDS = 5

# Runs in a separate process with nothing else in memory.
_GROWTH = """
import json, os, sys
import hedgerow as hr

def resident():
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None

path, question = sys.argv[1:]
index = hr.Index.open(path, ranking="memory")
before = resident()
index.search_bm25(question)
after = resident()
grown = None if before is None else after - before
print(json.dumps([index.stats().ranking_bytes, grown]))
"""


def measure(bench: Bench) -> Iterator[Row]:
    """Measure opening with keywords and with vectors, and the memory."""
    yield _opening(bench)
    yield _vectors(bench)
    yield _memory(bench)


def _opening(bench: Bench) -> Row:
    """Measure opening a file that is in the system's cache, as after a restart of a service."""
    question = bench.corpus.questions[0]
    path = bench.path
    vector = bench.corpus.question_vectors[0]
    ready = ours.Ready([question], [vector])

    def plain() -> None:
        with hr.Index.open(path) as index:
            index.search_bm25(question, SHOWN)

    def in_memory() -> None:
        with hr.Index.open(path, ranking="memory") as index:
            index.search_bm25(question, SHOWN)

    def hybrid() -> None:
        with hr.Index.open(path) as index:
            hr.Retriever(index, embedder=ready).search(question)

    def meaning() -> None:
        with hr.Index.open(path) as index:
            index.search_vector(vector, SHOWN)

    calls = {
        "hedgerow": plain,
        "hedgerow, ranking in memory at once": in_memory,
        "hedgerow, vectors": meaning,
        "hedgerow, hybrid": hybrid,
    }
    if "FTS5" in bench.present:
        bare = bench.present["FTS5"]

        def floor() -> None:
            connection = fts5.connect(bare.path)
            connection.execute(fts5.SEARCH, (bare.matches[question], SHOWN)).fetchall()
            connection.close()

        calls["FTS5"] = floor
    figures = rounds(calls, _ROUNDS)
    slowest = max(times.p50 for name, times in figures.items() if name.startswith("hedgerow"))
    aims = (at_most(400, "ms", slowest),) if bench.large and not bench.million else ()
    return bench.row("open", "open a file and search it once", "ms", figures, targets=aims)


def _vectors(bench: Bench) -> Row:
    """Compare all contenders that keep vectors in files."""
    vector = bench.corpus.question_vectors[0]
    calls = {name: partial(call, vector) for name, call in bench.calls("reopened").items()}
    return bench.row(
        "open-vectors",
        f"open a file or a folder and search vectors once, top {TOP}",
        "ms",
        rounds(calls, _ROUNDS),
        absent=bench.missing("reopened"),
    )


def _memory(bench: Bench) -> Row:
    arguments = [str(bench.path), bench.corpus.questions[0]]
    command = [sys.executable, "-c", _GROWTH, *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    counted, grown = json.loads(printed)
    figures = {"hedgerow": Times.of([counted])}
    if grown is not None:
        figures["hedgerow, growth of its process"] = Times.of([grown])
    largest = max(times.p50 for times in figures.values()) * LARGE / len(bench.corpus)
    aims = (at_most(100, "MB", largest),) if bench.large else ()
    what = f"memory of ranking; the target is for {LARGE:,} chunks"
    return bench.row("memory", what, "MB", figures, targets=aims)
