"""Timing in turns, so that other load on the machine affects all contenders equally."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from statistics import fmean, median, quantiles
from time import perf_counter, process_time, thread_time
from typing import Any, NamedTuple, TypeVar

resource: Any = None
with suppress(ImportError):  # Windows does not count context switches
    import resource

_T = TypeVar("_T")
_BLOCK = 10
_clock = perf_counter


def count_processor_time() -> None:
    """Measure processor time instead of elapsed time from now on, so waiting does not count.

    On a busy machine, a call of a millisecond is interrupted more often than one of a microsecond,
    so ratios of elapsed time would be unfair to slower contenders.
    """
    global _clock  # noqa: PLW0603 - one clock for everybody
    _clock = process_time


class Cost(NamedTuple):
    """The cost of one call: elapsed and processor time in seconds, and involuntary context switches.

    The switches are None on systems that do not count them.
    """

    elapsed: float
    processor: float
    preemptions: float | None


@dataclass(frozen=True, slots=True)
class Times:
    """The duration of a call in seconds: median, 95th and 99th percentile, and number of calls.

    `longest` is the maximum. `processor` is the median processor time in seconds, and `preemptions`
    the mean number of involuntary context switches of a call. Each is None if it was not measured.
    """

    p50: float
    p95: float
    p99: float
    calls: int
    longest: float | None = None
    processor: float | None = None
    preemptions: float | None = None

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        """Summarize at least one measurement."""
        longest = max(seconds)
        if len(seconds) == 1:
            return cls(*[seconds[0]] * 3, 1, longest)
        cuts = quantiles(seconds, n=100, method="inclusive")
        return cls(cuts[49], cuts[94], cuts[98], len(seconds), longest)

    @classmethod
    def of_costs(cls, costs: Sequence[Cost]) -> Times:
        """Summarize the costs of at least one call."""
        times = cls.of([cost.elapsed for cost in costs])
        switches = [cost.preemptions for cost in costs if cost.preemptions is not None]
        return cls(
            times.p50,
            times.p95,
            times.p99,
            times.calls,
            times.longest,
            median(cost.processor for cost in costs),
            fmean(switches) if switches else None,
        )

    def each(self, count: int) -> Times:
        """Return the times divided by `count`, for a call that does that many things."""
        parts = (self.longest, self.processor, self.preemptions)
        return Times(
            self.p50 / count,
            self.p95 / count,
            self.p99 / count,
            self.calls,
            *(None if part is None else part / count for part in parts),
        )


def cost(call: Callable[[], object], *, of_thread: bool = False, repeat: int = 1) -> Cost:
    """Call and return the cost of one call, on average if it is repeated.

    Processor time and context switches are those of the whole process, or of the calling thread.
    """
    processor, switches = _usage(of_thread=of_thread)
    began = _clock()
    for _ in range(repeat):
        call()
    elapsed = _clock() - began
    processor_after, switches_after = _usage(of_thread=of_thread)
    preempted = None if switches is None or switches_after is None else switches_after - switches
    return Cost(
        elapsed / repeat,
        (processor_after - processor) / repeat,
        None if preempted is None else preempted / repeat,
    )


def _usage(*, of_thread: bool) -> tuple[float, int | None]:
    """Return the processor time in seconds and the involuntary context switches so far."""
    who = getattr(resource, "RUSAGE_THREAD" if of_thread else "RUSAGE_SELF", None)
    switches = None if who is None else resource.getrusage(who).ru_nivcsw
    return (thread_time if of_thread else process_time)(), switches


def by_turns(  # noqa: PLR0913 - each has its default
    calls: Mapping[str, Callable[[_T], object]],
    inputs: Sequence[_T],
    budget: float,
    *,
    repeat: int = 1,
    warm: Sequence[_T] | None = None,
    before: Mapping[str, Callable[[], object]] | None = None,
) -> dict[str, Times]:
    """Time calls on the same inputs, ten inputs each in turn, until the budget of seconds is spent.

    Every second round runs in reverse, so that no contender always follows the same one, which may
    leave its own data in the processor's caches.

    Each input is used at most once, and every contender gets the first ten. With `repeat`, several
    calls are timed together, for calls too short for the clock. Before the timing, every contender
    runs the same inputs, or `warm`, so that its files are in memory: the system may have evicted
    them while the others were built.

    `before` has functions that run untimed before each call of a name.
    """
    taken: dict[str, list[Cost]] = {name: [] for name in calls}
    prepare = before or {}
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
                    prepare.get(name, _nothing)()
                    taken[name].append(cost(partial(call, one), repeat=repeat))
    return {name: Times.of_costs(costs) for name, costs in taken.items()}


def _nothing() -> None:
    """Do nothing."""


def _warm(call: Callable[[_T], object], inputs: Sequence[_T], budget: float) -> None:
    """Call with the inputs in order.

    The first call may have to read an index, so it is not timed.
    """
    call(inputs[0])
    start = perf_counter()
    for one in inputs[1:]:
        if perf_counter() - start > budget:
            break
        call(one)


def rounds(
    calls: Mapping[str, Callable[[], object]],
    count: int,
    *,
    least: int = 1,
    budget: float | None = None,
    before: Mapping[str, Callable[[], object]] | None = None,
) -> dict[str, Times]:
    """Time long calls, each once a round.

    No round begins after `budget` seconds, except the first `least`. `before` has functions that
    run untimed before each call of a name.
    """
    taken: dict[str, list[Cost]] = {name: [] for name in calls}
    prepare = before or {}
    with _without_collector():
        start = perf_counter()
        for number in range(count):
            if number >= least and budget is not None and perf_counter() - start > budget:
                break
            for name, call in calls.items():
                prepare.get(name, _nothing)()
                taken[name].append(cost(call))
    return {name: Times.of_costs(costs) for name, costs in taken.items()}


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    began = _clock()
    call()
    return _clock() - began


def as_many(things: Sequence[_T], count: int) -> list[_T]:
    """Return `count` items, starting again at the first after the last."""
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
