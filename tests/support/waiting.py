"""Waiting for events elsewhere, with timeouts for busy machines."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST = 300.0
"""The timeout of a test in seconds: far more than anything takes on a busy machine."""


def until(condition: Callable[[], object], what: str = "what the test waits for") -> None:
    """Wait until the condition is true."""
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {LONGEST:g} seconds"
        time.sleep(0.005)


class CpuTime:
    """The processor time of this process in seconds, independent of other processes."""

    def __init__(self) -> None:
        self._start = time.process_time()

    def so_far(self) -> float:
        return time.process_time() - self._start
