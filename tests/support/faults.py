"""Rounds of faults: a few in the regular tests, and many with `make faults`.

FAULTS_SEED repeats the rounds of an earlier run. FAULTS_SECONDS is the total duration of all
rounds. Round N of a test depends only on the seed, the test and N.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from waiting import LONGEST

SEED = "FAULTS_SEED"
SECONDS = "FAULTS_SECONDS"
SUPPORT = Path(__file__).resolve().parent


def set_seed() -> str:
    """Return the seed of this run: the given one, a fixed one in CI, or a new one."""
    drawn = "7" if os.environ.get("CI") else str(int.from_bytes(os.urandom(4), "little"))
    return os.environ.setdefault(SEED, drawn)


class Rounds:
    """The rounds of one test."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.done = 0
        self._seconds = seconds

    def at_least(self, count: int) -> Iterator[random.Random]:
        """Yield a random generator for each round: at least `count`, and more while time is
        left.
        """
        end = time.monotonic() + self._seconds
        while self.done < count or time.monotonic() < end:
            seed = os.environ[SEED]
            print(f"{self.name}: round {self.done} with {SEED}={seed}")
            yield random.Random(f"{seed} {self.name} {self.done}")  # noqa: S311 - no secrets
            self.done += 1


def python(*arguments: object, before: Sequence[object] = ()) -> subprocess.Popen[str]:
    """Start a Python process that can import the test helpers and turns warnings into errors.

    `before` is a command that runs it.
    """
    paths = [str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "error"}
    return subprocess.Popen(
        [*map(str, before), sys.executable, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def killed(
    process: subprocess.Popen[str], chance: random.Random, longest: float, lines: int = 1
) -> list[str]:
    """Kill a process at a random moment after its first lines.

    Return the complete lines it wrote.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    # `communicate` would lose the data that was buffered with the first line.
    with process:
        first = "".join(process.stdout.readline() for _ in range(lines))
        time.sleep(chance.uniform(0, longest))
        process.send_signal(signal.SIGKILL)
        written = first + process.stdout.read()
        assert (bool(first), process.stderr.read()) == (True, "")
    return written.split("\n")[:-1]


def finish(*processes: subprocess.Popen[str]) -> list[str]:
    """Wait for processes that must succeed, and return their output."""
    ends = [process.communicate(timeout=LONGEST) for process in processes]
    assert [(process.returncode, problem) for process, (_, problem) in zip(processes, ends, strict=True)] == [
        (0, "")
    ] * len(processes)  # fmt: skip
    return [out for out, _ in ends]
