"""Searches with and without a concurrent writer, in a process that holds nothing else in memory.

The parent sends a `Plan` and gets a `Report`, both pickled. Windows of equal length alternate, one
without the writer and one with it, so that other load on the machine affects both. The writer is a
thread of the process on the same handle, or another process.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path
from time import perf_counter
from typing import IO, Protocol

import hedgerow as hr

from .contenders import SHOWN, TOP
from .contenders.ours import Ready
from .shapes import Vectors
from .timing import Cost, cost

_CHECKED = 20
_FOLDER = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Plan:
    """The load: `threads` searching threads, and `rate` chunks written per second, one by one."""

    path: Path
    questions: Sequence[str]
    vectors: Vectors
    chunks: Sequence[hr.Chunk]
    rate: float
    threads: int
    window: float
    pairs: int
    another_process: bool


@dataclass(slots=True)
class Half:
    """The windows with or without the writer: the cost of each search, the seconds of each write,
    the seconds of all windows, and the peak memory of each window in bytes, None if the system does
    not report it.

    The processor time and the context switches of a search are those of its thread.
    """

    searches: list[Cost] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    seconds: float = 0.0
    peaks: list[int | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Report:
    """The windows without and with the writer, and the number of last written chunks found."""

    quiet: Half
    writing: Half
    found: int
    looked_for: int


class Writer(Protocol):
    """Writes for some seconds while its caller searches."""

    def start(self, seconds: float) -> None:
        """Start writing."""

    def finish(self) -> list[float]:
        """Wait for the end. Return the seconds of each write."""

    def close(self) -> None:
        """Stop the writer for good."""


class OwnThread:
    """A writer thread on the handle that is searched."""

    def __init__(self, plan: Plan, index: hr.Index) -> None:
        self._write = writing(plan, index)
        self._thread = ThreadPoolExecutor(1)
        self._taken: Future[list[float]] = Future()

    def start(self, seconds: float) -> None:
        """Start writing in the thread."""
        self._taken = self._thread.submit(self._write, seconds)

    def finish(self) -> list[float]:
        """Return the seconds of each write. Raises the error of the writer."""
        return self._taken.result()

    def close(self) -> None:
        """Shut the thread down."""
        self._thread.shutdown()


class OwnProcess:
    """A writer process with its own handle. A pipe tells it for how many seconds to write."""

    def __init__(self, plan: Plan, index: hr.Index) -> None:
        del index
        self._process = start("serve_writes")
        self._send(plan)
        self.finish()  # waits until the process is ready, so that its start disturbs no measurement

    def start(self, seconds: float) -> None:
        """Send the number of seconds."""
        self._send(seconds)

    def finish(self) -> list[float]:
        """Read the seconds of each write."""
        taken: list[float] = pickle.load(_there(self._process.stdout))  # noqa: S301 - our own
        return taken

    def close(self) -> None:
        """Close its input, which ends the process, and wait."""
        _there(self._process.stdin).close()
        self._process.wait()
        _there(self._process.stdout).close()

    def _send(self, what: object) -> None:
        pipe = _there(self._process.stdin)
        pickle.dump(what, pipe)
        pipe.flush()


def run(plan: Plan) -> Report:
    """Search in windows, every second one with the writer."""
    with hr.Index.open(plan.path, ranking="memory") as index:
        retriever = hr.Retriever(index, embedder=Ready(plan.questions, plan.vectors))
        writer: Writer = (OwnProcess if plan.another_process else OwnThread)(plan, index)
        _search(retriever, plan, plan.window)
        gc.collect()
        gc.freeze()
        halves = [Half(), Half()]
        for number in range(2 * plan.pairs):
            _window(halves[number % 2], retriever, plan, writer if number % 2 else None)
        writer.close()
        last = _written(plan, len(halves[1].writes))
        found = sum(index.search_vector(one.embedding, 1)[0].id == one.id for one in last)
    return Report(*halves, found, len(last))


def _window(half: Half, retriever: hr.Retriever, plan: Plan, writer: Writer | None) -> None:
    """Run one window after an untimed search, which loads the last write of the previous window."""
    retriever.search(plan.questions[0], limit=SHOWN, candidates=TOP)
    can_measure = reset_peak()
    began = perf_counter()
    if writer:
        writer.start(plan.window)
    half.searches += _search(retriever, plan, plan.window)
    half.seconds += perf_counter() - began
    if writer:
        half.writes += writer.finish()
    half.peaks.append(peak() if can_measure else None)


def _search(retriever: hr.Retriever, plan: Plan, seconds: float) -> list[Cost]:
    """Return the cost of each search of all threads. Each thread starts at a different question."""
    end = perf_counter() + seconds

    def go_on(first: int) -> list[Cost]:
        taken = []
        for question in islice(cycle(plan.questions), first, None):
            search = partial(retriever.search, question, limit=SHOWN, candidates=TOP)
            taken.append(cost(search, of_thread=True))
            if perf_counter() >= end:
                break
        return taken

    step = len(plan.questions) // plan.threads
    with ThreadPoolExecutor(plan.threads) as threads:
        return list(chain(*threads.map(go_on, range(0, step * plan.threads, step))))


def writing(plan: Plan, index: hr.Index) -> Callable[[float], list[float]]:
    """Return a function that writes the next chunks at the planned rate for some seconds."""
    chunks = iter(plan.chunks)

    def write(seconds: float) -> list[float]:
        taken: list[float] = []
        start = perf_counter()
        while (due := len(taken) / plan.rate) < seconds:
            time.sleep(max(0.0, start + due - perf_counter()))
            began = perf_counter()
            if taken and began - start >= seconds:
                break  # the writer is behind its rate, and the searches do not wait for it
            index.upsert([next(chunks)])
            taken.append(perf_counter() - began)
        return taken

    return write


def _written(plan: Plan, count: int) -> list[hr.Chunk]:
    """Return the last written chunks."""
    return list(plan.chunks[max(0, count - _CHECKED) : count])


def reset_peak() -> bool:
    """Reset the system's record of peak memory. Return False if that is not possible."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def peak() -> int | None:
    """Return the peak memory in bytes since `reset_peak`. None if the system does not report it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None


def ask(plan: Plan) -> Report:
    """Run a plan in a separate process."""
    with start("serve") as process:
        told, _ = process.communicate(pickle.dumps(plan))
    if process.returncode:
        raise RuntimeError(f"the load has ended with status {process.returncode}")
    report: Report = pickle.loads(told)  # noqa: S301 - our own
    return report


def start(function: str, module: str = __name__) -> subprocess.Popen[bytes]:
    """Start a process that calls a function of this module or of another module."""
    code = f"from {module} import {function}; {function}()"
    path = os.pathsep.join([str(_FOLDER), *filter(None, sys.path)])
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def serve() -> None:
    """Read a plan, run it and write the report."""
    plan: Plan = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own
    pickle.dump(run(plan), sys.stdout.buffer)


def serve_writes() -> None:
    """Read a plan, then write for each number of seconds read from standard input."""
    plan: Plan = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own
    with hr.Index.open(plan.path) as index:
        write = writing(plan, index)
        for seconds in chain([0.0], _asked()):
            pickle.dump(write(seconds), sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _asked() -> Iterator[float]:
    with suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)  # noqa: S301 - our own


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("a process was started without its pipes")
    return pipe
