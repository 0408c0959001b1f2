"""Checks that reading a hostile text takes linear time."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from math import inf

LENGTH = 64 * 1024
"""The length of the texts whose reading is timed."""

_MOST_GROWTH = 12
_SLACK_S = 0.5
_LONG_S = 0.2
_MOST_ROUNDS = 5


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Return the minimum processor time of some work. Errors are ignored.

    Long work is measured once, because interruptions affect it little.
    """
    least = inf
    for _ in range(times):
        if _LONG_S < least < inf:
            break
        start = time.process_time()
        with contextlib.suppress(Exception):
            work()
        least = min(least, time.process_time() - start)
    return least


def assert_linear(
    function: Callable[[str], object], make_text: Callable[[int], str], length: int = LENGTH
) -> None:
    """Assert that a text of four times the length takes about four times as long.

    Quadratic time would take sixteen times as long. `make_text` returns a text of about a given
    length. A slow round is repeated, because other load on the machine can slow down any round,
    while quadratic time is slow in every round.
    """
    texts = [make_text(length // 4), make_text(length)]
    rounds = []
    # Freeze objects of earlier tests, which every garbage collection would traverse otherwise.
    gc.collect()
    gc.freeze()
    try:
        for _ in range(_MOST_ROUNDS):
            short, long = (seconds(lambda text=text: function(text)) for text in texts)  # type: ignore[misc]
            if long < _MOST_GROWTH * short + _SLACK_S:
                return
            rounds.append((short, long))
    finally:
        gc.unfreeze()
    raise AssertionError(f"four times the text takes too long in every round: {rounds}")
