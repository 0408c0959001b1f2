"""Texts that somebody made to do harm, and how long it takes to read them."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from math import inf

LENGTH = 64 * 1024
"""How long the texts are, of which the time is measured."""

_MOST_GROWTH = 12
_SLACK_S = 0.5
_LONG_S = 0.2
_MOST_ROUNDS = 5


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The least time that work takes on the processor; an error is an end like any other.

    What takes long is not disturbed by much, and done once.
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

    One that took the square would take sixteen times. `make_text` makes a text of about so many
    characters. What seems too long is timed again, for a neighbour on the machine can make any one
    run long, but a square is one in every round.
    """
    texts = [make_text(length // 4), make_text(length)]
    rounds = []
    # What earlier tests of the process left would be traversed by every collection of the longer text.
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
