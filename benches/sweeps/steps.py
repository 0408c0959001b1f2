"""Costs by size, and the steps whose cost grows faster than the size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from suite.results import shown
from suite.timing import Cost

MARGIN = 1.5
"""A cost that grows by less than this factor beyond the growth of the size is noise."""
WAITING_MARGIN = 3.0
"""The margin for elapsed time, which other work on the machine prolongs."""
WAITING = 3.0
"""A call that takes more than this many times its processor time is mostly waiting."""
NOISE = {"ms": 100e-6, "MB": 1e6}
"""A growth below this, in seconds or bytes, is noise."""

Growth = Literal["linear", "constant"]
"""Whether a cost may grow with the size, or should stay constant."""


@dataclass(frozen=True, slots=True)
class Step:
    """The median cost at one size, and its growth from the previous size.

    `cost` and `processor` are in seconds, or both in bytes. `least` is the smallest processor time.
    `calm` is the median elapsed time of the calls without preemption, None if there were none. The
    ratios are None for the first size. `flag` names the cost that grows too much, and is empty if
    none does.
    """

    dimension: str
    what: str
    unit: Literal["ms", "MB"]
    growth: Growth
    size: int
    cost: float
    processor: float
    least: float
    calm: float | None
    calls: int
    size_ratio: float | None
    cost_ratio: float | None
    processor_ratio: float | None
    flag: str


def steps(
    dimension: str,
    what: str,
    costs: Mapping[int, Sequence[Cost]],
    *,
    growth: Growth = "linear",
    unit: Literal["ms", "MB"] = "ms",
) -> list[Step]:
    """Return a step for each size in ascending order. Each size needs at least one cost."""
    made: list[Step] = []
    for size in sorted(costs):
        cost = median(one.elapsed for one in costs[size])
        processor = median(one.processor for one in costs[size])
        least = min(one.processor for one in costs[size])
        calm = [one.elapsed for one in costs[size] if not one.preemptions]
        before = made[-1] if made else None
        size_ratio = size / before.size if before and before.size else None
        made.append(
            Step(
                dimension,
                what,
                unit,
                growth,
                size,
                cost,
                processor,
                least,
                median(calm) if calm else None,
                len(costs[size]),
                size_ratio,
                _ratio(cost, before and before.cost),
                _ratio(processor, before and before.processor),
                "",
            )
        )
        if before:
            made[-1] = replace(made[-1], flag=_flag(made[-1], before))
    return made


def _ratio(value: float, before: float | None) -> float | None:
    return value / before if before else None


def _allowed(step: Step) -> float:
    """Return the factor by which the cost may grow."""
    return max(1.0, step.size_ratio or 1.0) if step.growth == "linear" else 1.0


def _flag(step: Step, before: Step) -> str:
    """Return the name of the cost that has grown too much since the previous size, or "".

    Processor time is checked first, by its median and by its minimum, because other work on the
    machine hardly changes it. Elapsed time is checked only if most of it is waiting, and only for
    calls without preemption.
    """
    allowed, noise = _allowed(step), NOISE[step.unit]

    def is_excessive(now: float, then: float, margin: float) -> bool:
        return now - then > noise and now > then * allowed * margin

    if step.unit == "MB":
        return "memory" if is_excessive(step.cost, before.cost, MARGIN) else ""
    if is_excessive(step.processor, before.processor, MARGIN) and is_excessive(
        step.least, before.least, MARGIN
    ):
        return "processor time"
    if step.calm is None or before.calm is None or step.calm <= WAITING * step.processor:
        return ""
    if is_excessive(step.calm, before.calm, WAITING_MARGIN):
        return "elapsed time"
    return ""


def table(made: Sequence[Step]) -> Iterator[str]:
    """Yield lines for the steps of one cost, with a mark at each flagged step."""
    first = made[0]
    aim = "as much as the size" if first.growth == "linear" else "not at all"
    yield f"{first.dimension}: {first.what} (may grow {aim})"
    columns = ("size", "cost", "processor", "cost ratio", "size ratio")
    yield "  " + "".join(f"{column:>14}" for column in columns)
    for step in made:
        processor = shown(step.processor, step.unit) if step.unit != "MB" else ""
        ratios = (step.processor_ratio if step.unit != "MB" else step.cost_ratio, step.size_ratio)
        if step.flag == "elapsed time":
            ratios = (step.cost_ratio, step.size_ratio)
        cells = [f"{step.size:,}", shown(step.cost, step.unit), processor, *map(_shown, ratios)]
        mark = f"  <-- {step.flag}" if step.flag else ""
        yield "  " + "".join(f"{cell:>14}" for cell in cells) + mark


def summary(made: Sequence[Step]) -> Iterator[str]:
    """Yield a line for each flagged step, the steepest first."""
    flagged = sorted((step for step in made if step.flag), key=_excess, reverse=True)
    yield f"{len(flagged)} of {len(made)} steps grow by more than they may"
    for step in flagged:
        cost = step.cost if step.flag != "processor time" else step.processor
        ratio = step.cost_ratio if step.flag != "processor time" else step.processor_ratio
        yield (
            f"  {step.dimension} {step.size:,}: {step.what}: {shown(cost, step.unit)}, "
            f"{_shown(ratio)} times, size {_shown(step.size_ratio)} times ({step.flag})"
        )


def _excess(step: Step) -> float:
    """Return the cost's growth relative to its allowed growth."""
    ratio = step.processor_ratio if step.flag == "processor time" else step.cost_ratio
    return (ratio or 0.0) / _allowed(step)


def _shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}"
