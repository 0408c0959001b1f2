"""The results of the suite: rows of figures with their targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .timing import Times


@dataclass(frozen=True, slots=True)
class Target:
    """An aim, the reached value, and whether it meets the aim. None if it was not measured."""

    aim: str
    reached: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement over one corpus.

    `figures` are in `unit`, hedgerow's first, and are shown by their median and their `tail`.
    `checks` report whether the results are correct.
    """

    key: str
    what: str
    corpus: str
    chunks: int
    unit: str
    figures: Mapping[str, Times]
    targets: tuple[Target, ...] = ()
    checks: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    tail: Literal["p95", "p99"] = "p95"

    def both(self, name: str) -> list[float]:
        """Return the median and the tail, or only the median for a single call."""
        times = self.figures[name]
        return [times.p50, getattr(times, self.tail)] if times.calls > 1 else [times.p50]

    def against_ours(self, name: str) -> float:
        """Return the time relative to hedgerow's."""
        return self.figures[name].p50 / next(iter(self.figures.values())).p50


# Seconds per unit, or bytes per unit for sizes.
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "MB": 1e6}


def shown(value: float, unit: str) -> str:
    """Return a value with three significant digits and its unit."""
    scaled = value / UNITS[unit]
    decimals = 0 if scaled >= 100 else 1 if scaled >= 10 else 2 if scaled >= 1 else 3
    return f"{scaled:,.{decimals}f} {unit}"


def at_most(limit: float, unit: str, value: float) -> Target:
    """Return the target of at most `limit` units."""
    reached = shown(value, unit)
    return Target(f"at most {limit:g} {unit}", reached, value <= limit * UNITS[unit])


def usage(figures: Mapping[str, Times], unit: str) -> Iterator[str]:
    """Yield lines with the processor time and the involuntary context switches of each figure."""
    labels = {name: name.partition(", ")[2] or name for name in figures}
    times = [
        f"{labels[name]} {shown(figure.processor, unit)}"
        for name, figure in figures.items()
        if figure.processor is not None
    ]
    if times:
        yield f"processor time of a call, median: {', '.join(times)}"
    switches = [
        f"{labels[name]} {figure.preemptions:.3g}"
        for name, figure in figures.items()
        if figure.preemptions is not None
    ]
    if switches:
        yield f"involuntary context switches of a call, mean: {', '.join(switches)}"


def part_of(floor: str, limit: float, figures: Mapping[str, Times]) -> Target:
    """Return the target of at most `limit` times the floor."""
    share = f"at most {fraction(limit)}{' of' if limit < 1 else ''}"
    aim = f"{'no slower than' if limit == 1 else share} {floor}"
    ours = next(iter(figures.values()))
    if floor not in figures:
        return Target(aim, "not measured", None)
    part = ours.p50 / figures[floor].p50
    return Target(aim, fraction(part), part <= limit)


def times_at_most(what: str, limit: float, of: str, part: float | None) -> Target:
    """Return the target of at most `limit` times another figure.

    `part` is None if one was not measured.
    """
    aim = f"{what}: at most {limit:g} times {of}"
    if part is None:
        return Target(aim, "not measured", None)
    return Target(aim, f"{part:.3g} times", part <= limit)


def fraction(part: float) -> str:
    """Return a ratio as text, such as 1/15 or 1.2 times."""
    if part >= 0.67:
        return f"{part:.3g} times"
    over = 1 / part
    return f"1/{over:.2g}" if over < 10 else f"1/{over:.0f}"


def agreement(what: str, count: int, agrees: Callable[[int], bool]) -> str:
    """Return the share of `count` cases that meet a condition, as text."""
    return f"{what}: {sum(map(agrees, range(count)))} of {count}"
