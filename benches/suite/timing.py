"""Timing by turns, so that what disturbs the machine disturbs everybody."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from statistics import quantiles
from time import perf_counter, process_time
from typing import TypeVar

_T = TypeVar("_T")
_BLOCK = 10
_clock = perf_counter


def count_processor_time() -> None:
    """From now on count what the threads of this process compute, and not what they wait for.

    On a machine that is busy with other work, a call of a millisecond is interrupted more often
    than one of a microsecond, so that ratios of elapsed time would be unfair to whoever is slower.
    """
    global _clock  # noqa: PLW0603 - one clock for everybody
    _clock = process_time


@dataclass(frozen=True, slots=True)
class Times:
    """How long a call took, in seconds: the median, and what 95 and 99 of 100 calls stay below."""

    p50: float
    p95: float
    p99: float
    calls: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        """Sum up at least one measurement."""
        if len(seconds) == 1:
            return cls(*[seconds[0]] * 3, 1)
        cuts = quantiles(seconds, n=100, method="inclusive")
        return cls(cuts[49], cuts[94], cuts[98], len(seconds))

    def each(self, count: int) -> Times:
        """The same for one of so many that a call is made of."""
        return Times(self.p50 / count, self.p95 / count, self.p99 / count, self.calls)


def by_turns(
    calls: Mapping[str, Callable[[_T], object]],
    inputs: Sequence[_T],
    budget: float,
    *,
    repeat: int = 1,
    warm: Sequence[_T] | None = None,
) -> dict[str, Times]:
    """Time calls on the same inputs, ten inputs each in turn, until the budget of seconds is spent.

    Every other round goes backwards, so that nobody always comes after the same, who may leave the
    processor's caches full of something else.

    The inputs are gone through at most once, and their first ten by everybody in any case. With
    `repeat` a call is timed as one of so many, for calls too short for the clock. Before, and not
    timed, everybody is asked the same, or what `warm` says, so that what they read from files is in
    memory: a machine may have put it out while the others were made.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    turns = list(calls.items())
    for call in calls.values():
        _warm(call, inputs if warm is None else warm, budget)
    with _without_collector():
        start = perf_counter()
        for first in range(0, len(inputs), _BLOCK):
            if first and perf_counter() - start > budget:
                break
            for name, call in turns if first // _BLOCK % 2 == 0 else reversed(turns):
                for one in inputs[first : first + _BLOCK]:
                    began = _clock()
                    for _ in range(repeat):
                        call(one)
                    taken[name].append((_clock() - began) / repeat)
    return {name: Times.of(seconds) for name, seconds in taken.items()}


def _warm(call: Callable[[_T], object], inputs: Sequence[_T], budget: float) -> None:
    """Call with the inputs in their order. The first may have to read an index, so it is extra."""
    call(inputs[0])
    start = perf_counter()
    for one in inputs[1:]:
        if perf_counter() - start > budget:
            break
        call(one)


def rounds(calls: Mapping[str, Callable[[], object]], count: int) -> dict[str, Times]:
    """Time long calls, each once a round."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    with _without_collector():
        for _ in range(count):
            for name, call in calls.items():
                taken[name].append(seconds(call))
    return {name: Times.of(times) for name, times in taken.items()}


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    began = _clock()
    call()
    return _clock() - began


def as_many(things: Sequence[_T], count: int) -> list[_T]:
    """So many of the things, from the first again after the last."""
    return [thing for thing, _ in zip(cycle(things), range(count), strict=False)]


@contextmanager
def _without_collector() -> Iterator[None]:
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
