"""Rounds of faults: a few of them among the tests, and as many as a time allows for `make faults`.

FAULTS_SEED repeats the rounds of an earlier run, FAULTS_SECONDS is how long all of them together go
on. Round N of a test depends on the seed, the test and N alone.
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
    """The seed of this run, for all its processes; a new one unless it is given or CI runs."""
    drawn = "7" if os.environ.get("CI") else str(int.from_bytes(os.urandom(4), "little"))
    return os.environ.setdefault(SEED, drawn)


class Rounds:
    """What a test asks for its rounds."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.done = 0
        self._seconds = seconds

    def at_least(self, count: int) -> Iterator[random.Random]:
        """A source of chance for each round: `count` of them, and more while there is time."""
        end = time.monotonic() + self._seconds
        while self.done < count or time.monotonic() < end:
            seed = os.environ[SEED]
            print(f"{self.name}: round {self.done} with {SEED}={seed}")
            yield random.Random(f"{seed} {self.name} {self.done}")  # noqa: S311 - no secrets
            self.done += 1


def python(*arguments: object, before: Sequence[object] = ()) -> subprocess.Popen[str]:
    """A Python of its own, which finds the helpers of the tests and takes warnings for errors.

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
    """Kill a process at a moment from its first lines on; returns the whole lines that it wrote."""
    assert process.stdout is not None
    assert process.stderr is not None
    # Not with `communicate`, which forgets what was read ahead of the first line.
    with process:
        first = "".join(process.stdout.readline() for _ in range(lines))
        time.sleep(chance.uniform(0, longest))
        process.send_signal(signal.SIGKILL)
        written = first + process.stdout.read()
        assert (bool(first), process.stderr.read()) == (True, "")
    return written.split("\n")[:-1]


def finish(*processes: subprocess.Popen[str]) -> list[str]:
    """What processes wrote that must end well."""
    ends = [process.communicate(timeout=LONGEST) for process in processes]
    assert [(process.returncode, problem) for process, (_, problem) in zip(processes, ends, strict=True)] == [
        (0, "")
    ] * len(processes)  # fmt: skip
    return [out for out, _ in ends]
