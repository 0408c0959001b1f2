"""What the suite finds out: lines of figures, each with what it was to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .timing import Times


@dataclass(frozen=True, slots=True)
class Target:
    """What we aim at, how near we are, and whether that is enough; None where it cannot be said."""

    aim: str
    reached: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured over one corpus.

    `figures` are in `unit`, the first of them hedgerow's, and are shown by their median and their
    `tail`; `checks` say whether the answers are those they must be.
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
        """The median and the tail; of a single call there is no tail."""
        times = self.figures[name]
        return [times.p50, getattr(times, self.tail)] if times.calls > 1 else [times.p50]

    def against_ours(self, name: str) -> float:
        """The time relative to hedgerow's."""
        return self.figures[name].p50 / next(iter(self.figures.values())).p50


# In seconds, or in bytes for sizes.
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "MB": 1e6}


def shown(value: float, unit: str) -> str:
    """With three significant digits."""
    scaled = value / UNITS[unit]
    decimals = 0 if scaled >= 100 else 1 if scaled >= 10 else 2 if scaled >= 1 else 3
    return f"{scaled:,.{decimals}f} {unit}"


def at_most(limit: float, unit: str, value: float) -> Target:
    """Not more than so many of a unit."""
    reached = shown(value, unit)
    return Target(f"at most {limit:g} {unit}", reached, value <= limit * UNITS[unit])


def usage(figures: Mapping[str, Times], unit: str) -> Iterator[str]:
    """Lines on the processor time and the involuntary context switches of each figure's calls."""
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
    """Not more than so large a part of what the floor takes."""
    share = f"at most {fraction(limit)}{' of' if limit < 1 else ''}"
    aim = f"{'no slower than' if limit == 1 else share} {floor}"
    ours = next(iter(figures.values()))
    if floor not in figures:
        return Target(aim, "not measured", None)
    part = ours.p50 / figures[floor].p50
    return Target(aim, fraction(part), part <= limit)


def times_at_most(what: str, limit: float, of: str, part: float | None) -> Target:
    """Not more than so many times something else; None where one of both was not measured."""
    aim = f"{what}: at most {limit:g} times {of}"
    if part is None:
        return Target(aim, "not measured", None)
    return Target(aim, f"{part:.3g} times", part <= limit)


def fraction(part: float) -> str:
    """1/15, or 1.2 times."""
    if part >= 0.67:
        return f"{part:.3g} times"
    over = 1 / part
    return f"1/{over:.2g}" if over < 10 else f"1/{over:.0f}"


def agreement(what: str, count: int, agrees: Callable[[int], bool]) -> str:
    """In how many of so many cases what should hold does."""
    return f"{what}: {sum(map(agrees, range(count)))} of {count}"
