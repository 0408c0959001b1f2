"""Compare one server with one process per session: memory, latency and searches per second.

python benches/serve.py [--data DIR] [--chunks N] [--notes N] [--sessions N] [--seconds N]

The load generator is oha (cargo install oha). Set OHA to its path if it is not on the PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from time import monotonic, sleep
from typing import Any, TextIO, cast

for library in ("MKL", "OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402

import hedgerow as hr  # noqa: E402
from memory import write_notes  # noqa: E402
from scaling.corpora import grown, without_texts  # noqa: E402
from sessions.worker import TOKEN  # noqa: E402
from suite.machine import machine  # noqa: E402

_STARTED = monotonic()
_WARM = 3.0
_BATCH = 100
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one setup. Times are in milliseconds, memory in bytes."""

    way: str
    pace: float
    p50: float | None
    p99: float | None
    memory: int


@dataclass(frozen=True, slots=True)
class Place:
    """The searched index or root, and the embedder."""

    name: str
    path: Path
    questions: list[str]
    files: tuple[Path, ...]
    verb: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 2 if oha is missing."""
    asked = _parser().parse_args(arguments)
    tool = os.environ.get("OHA") or shutil.which("oha")
    if tool is None:
        _tell("benches/serve.py needs oha, which makes the load: cargo install oha --locked")
        return 2
    print("\n".join(f"- {key}: {value}" for key, value in machine().items() if key != "peers"))
    with tempfile.TemporaryDirectory() as folder:
        for place in (_index(Path(folder), asked), _root(Path(folder), asked.notes)):
            figures = list(_measured(place, tool, asked.sessions, asked.seconds))
            print(f"\n{place.name}, {asked.sessions} sessions:\n\n{_table(figures)}", flush=True)
    return 0


def _measured(place: Place, tool: str, sessions: int, seconds: float) -> Iterator[Figures]:
    sizes = (_BATCH, sessions) if place.verb == "search" else ()
    for size in sizes:
        way = f"search_many of {size}, one process"
        _tell(f"{place.name}: {way}")
        with _workers(f"batch-{size}", place, 1) as [worker]:
            worker.done_in(_WARM)
            done = worker.done_in(seconds)
            yield Figures(way, done["count"] / seconds, None, None, worker.memory())
    _tell(f"{place.name}: one process a session")
    with _workers("session", place, sessions) as workers:
        _together(workers, _WARM)
        done = _together(workers, seconds)
        times = [time * 1e3 for one in done for time in one["seconds"]]
        count = sum(one["count"] for one in done)
        cuts = quantiles(times, n=100, method="inclusive")
        memory = sum(worker.memory() for worker in workers)
        yield Figures("one process a session", count / seconds, cuts[49], cuts[98], memory)
    _tell(f"{place.name}: one server")
    with _workers("server", place, 1) as [server]:
        load = _Load(tool, server.said, place)
        load.run(sessions, _WARM)
        full = load.run(sessions, seconds)
        yield Figures("one server", *full, server.memory())
        half = load.run(sessions, seconds, rate=full[0] / 2)
        yield Figures("one server, half of that load", *half, server.memory())


class _Worker:
    """A child process that runs `sessions.worker`."""

    def __init__(self, role: str, place: Place) -> None:
        files = [str(file) for file in place.files]
        command = [sys.executable, "-m", "sessions.worker", role, str(place.path), *files]
        self._process = subprocess.Popen(  # noqa: S603 - itself
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent,
        )
        self._stdin = cast("TextIO", self._process.stdin)
        self._stdout = cast("TextIO", self._process.stdout)
        self.said = ""

    def wait(self) -> None:
        """Wait until the worker is ready."""
        self.said = self._stdout.readline().strip()
        if not self.said:
            raise SystemExit("a worker did not start; what it wrote stands above")

    def begin(self, seconds: float) -> None:
        """Start a run of searches for a number of seconds."""
        print(seconds, file=self._stdin, flush=True)

    def done(self) -> dict[str, Any]:
        """Return the counts since `begin`."""
        found: dict[str, Any] = json.loads(self._stdout.readline())
        return found

    def done_in(self, seconds: float) -> dict[str, Any]:
        """Run searches for a number of seconds and return their counts."""
        self.begin(seconds)
        return self.done()

    def memory(self) -> int:
        """Return the memory of the process in bytes.

        Shared pages are divided among their processes.
        """
        for line in Path(f"/proc/{self._process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
        raise SystemExit("the system does not say how much memory a process takes")

    def end(self) -> None:
        """Stop the process."""
        self._process.terminate()
        self._process.communicate()


class _Load:
    """Runs the load generator against a server."""

    def __init__(self, tool: str, url: str, place: Place) -> None:
        self._tool = tool
        self._url = f"{url}/v1/{place.verb}"
        self._bodies = place.path.parent / f"{place.verb}.jsonl"
        lines = [json.dumps({"query": question}) for question in place.questions]
        self._bodies.write_text("\n".join(lines), encoding="utf-8")

    def run(
        self, sessions: int, seconds: float, *, rate: float | None = None
    ) -> tuple[float, float, float]:
        """Return the requests per second, and p50 and p99 in milliseconds.

        Raises SystemExit if one failed.
        """
        command = [self._tool, "--no-tui", "--output-format", "json", "-z", f"{seconds:g}s"]
        command += ["-c", str(sessions), "-m", "POST", "-T", "application/json"]
        command += ["-H", f"Authorization: Bearer {TOKEN}", "-Z", str(self._bodies)]
        if rate is not None:
            command += ["-q", str(max(1, round(rate))), "--latency-correction"]
        told = subprocess.run(  # noqa: S603 - the user's own
            [*command, self._url], capture_output=True, text=True, check=True
        )
        found = json.loads(told.stdout)
        states = found["statusCodeDistribution"]
        if set(states) != {"200"}:
            raise SystemExit(f"the server did not answer all requests: {states}")
        percentiles = found["latencyPercentiles"]
        return (
            sum(states.values()) / seconds,
            percentiles["p50"] * 1e3,
            percentiles["p99"] * 1e3,
        )


@contextmanager
def _workers(role: str, place: Place, count: int) -> Iterator[list[_Worker]]:
    with ExitStack() as stack:
        workers = []
        for _ in range(count):
            worker = _Worker(role, place)
            stack.callback(worker.end)
            workers.append(worker)
        for worker in workers:
            worker.wait()
        yield workers


def _together(workers: Sequence[_Worker], seconds: float) -> list[dict[str, Any]]:
    for worker in workers:
        worker.begin(seconds)
    sleep(seconds)
    return [worker.done() for worker in workers]


def _index(folder: Path, asked: argparse.Namespace) -> Place:
    _tell(f"making an index of {asked.chunks:,} chunks")
    queries = 300
    made = (
        grown(asked.data, asked.chunks, queries)
        if asked.data
        else without_texts(asked.chunks, queries)
    )
    with hr.Index.open(folder / "index.db") as index:
        index.upsert(made.chunks)
    questions, vectors = folder / "questions.txt", folder / "vectors.npy"
    questions.write_text("\n".join(made.questions), encoding="utf-8")
    np.save(vectors, made.vectors)
    name = f"An index of {asked.chunks:,} chunks, hybrid"
    return Place(name, folder / "index.db", made.questions, (questions, vectors), "search")


def _root(folder: Path, count: int) -> Place:
    _tell(f"making a root of {count:,} notes")
    (folder / "root").mkdir()
    words = write_notes(folder / "root", count)
    with hr.MemoryRoot.open(folder / "root") as root:
        root.sync()
    asked = [" ".join(words[first : first + 3]) for first in range(0, 900, 3)]
    questions = folder / "asked.txt"
    questions.write_text("\n".join(asked), encoding="utf-8")
    name = f"A root of {count:,} notes, which a session looks through before each recall"
    return Place(name, folder / "root", asked, (questions,), "recall")


def _table(rows: Sequence[Figures]) -> str:
    first = rows[0].pace
    lines = [
        "| way | a second | of the first | p50, ms | p99, ms | memory in all, MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        times = ["" if time is None else f"{time:.1f}" for time in (row.p50, row.p99)]
        lines.append(
            f"| {row.way} | {row.pace:,.0f} | {row.pace / first:.2f} | {times[0]} | {times[1]} | {row.memory / _MB:,.0f} |"
        )
    return "\n".join(lines)


def _tell(what: str) -> None:
    print(f"{monotonic() - _STARTED:6.0f} s  {what}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("serve.py", description="a server (benches/README.md)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="real texts (default: made up)")
    parser.add_argument("--chunks", type=int, default=100_000, metavar="N")
    parser.add_argument("--notes", type=int, default=10_000, metavar="N")
    parser.add_argument("--sessions", type=int, default=8, metavar="N")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="N")
    return parser


if __name__ == "__main__":
    sys.exit(main())
