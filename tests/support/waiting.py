"""Waiting for what happens elsewhere, for as long as a busy machine may take."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST = 300.0
"""Seconds after which a test gives up: far more than anything takes, however busy the machine."""


def until(condition: Callable[[], object], what: str = "what the test waits for") -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {LONGEST:g} seconds"
        time.sleep(0.005)


class CpuTime:
    """The processor time that this process takes, in seconds, which other processes do not change."""

    def __init__(self) -> None:
        self._start = time.process_time()

    def so_far(self) -> float:
        return time.process_time() - self._start
