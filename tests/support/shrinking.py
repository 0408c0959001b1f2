"""Runs of random operations: a failure is printed with its seed and a minimal failing sequence."""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class MismatchError(AssertionError):
    """A simulated object and its model differ."""


def expect(found: Any, expected: Any, what: str) -> None:
    """Raise MismatchError unless both values are equal."""
    if found != expected:
        raise MismatchError(f"{what}: {found!r}, expected {expected!r}")


@dataclass(frozen=True)
class Simulation(Generic[T]):
    """A name, a function that draws operations, and one that returns their failure or None."""

    name: str
    drawn: Callable[[random.Random], list[T]]
    failure_of: Callable[[Sequence[T]], str | None]

    def shrunk(self, operations: Sequence[T], seconds: float = 60.0) -> list[T]:
        """Return a minimal failing subsequence of failing operations, as far as time allows."""
        end = time.monotonic() + seconds
        kept = list(operations)
        size = len(kept) // 2
        while size and time.monotonic() < end:
            at = 0
            while at < len(kept) and time.monotonic() < end:
                fewer = kept[:at] + kept[at + size :]
                if self.failure_of(fewer) is None:
                    at += size
                else:
                    kept = fewer
            size //= 2
        return kept

    def report(self, seed: int) -> str | None:
        """Run a seed. Return its failure with the seed and a minimal sequence.

        None if there is no failure.
        """
        operations = self.drawn(random.Random(seed))  # noqa: S311 - no secrets
        failure = self.failure_of(operations)
        if failure is None:
            return None
        fewest = self.shrunk(operations)
        lines = [
            f"{self.name}, seed {seed}: {failure}",
            f"{len(fewest)} of {len(operations)} operations fail:",
        ]
        return "\n".join([*lines, *map(repr, fewest), str(self.failure_of(fewest))])

    def run(self, first: int, seconds: float) -> None:
        """Run one seed after the other until the time is over, then print the line for the record.

        Exits the process at the first failure.
        """
        begun, seed, count = time.monotonic(), first, 0
        while True:
            failure = self.report(seed)
            if failure is not None:
                sys.exit(f"FAILED: {failure}")
            count += len(self.drawn(random.Random(seed)))  # noqa: S311 - no secrets
            seed += 1
            if time.monotonic() - begun > seconds:
                break
        spent = math.ceil(time.monotonic() - begun)
        run = {"name": self.name, "seed": first, "seconds": spent, "count": count}
        sys.stdout.write(f"proof {json.dumps(run)}\n")
        sys.stdout.flush()
