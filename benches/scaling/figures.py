"""Statistics of measurements: quantiles, least squares, and the quality of a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from statistics import median, quantiles

import numpy as np

DEPTH = 10


@dataclass(frozen=True, slots=True)
class Times:
    """Durations of calls in milliseconds: minimum, median and 95th percentile."""

    least: float
    p50: float
    p95: float

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Times:
        """Summarize at least one measurement."""
        if len(milliseconds) == 1:
            return cls(*[milliseconds[0]] * 3)
        cuts = quantiles(milliseconds, n=20, method="inclusive")
        return cls(min(milliseconds), median(milliseconds), cuts[18])


@dataclass(frozen=True, slots=True)
class Fit:
    """A linear cost model: `fixed`, and a cost for each unit of each quantity in `each`. `worst` is
    the largest residual, in the unit of the measurements.

    `worst` is by how much the sum misses a measurement at most, in the unit of the measurements.
    """

    fixed: float
    each: tuple[float, ...]
    worst: float


def fitted(quantities: Sequence[Sequence[float]], measured: Sequence[float]) -> Fit:
    """Return the least-squares fit of `fixed` + `each` · quantities.

    Every measurement has a row of quantities. Raises ValueError if the measurements do not
    determine all costs.
    """
    rows = np.array([[1.0, *row] for row in quantities])
    values = np.array(measured, dtype=float)
    # Scale the columns, so that the rank does not depend on the units.
    scale = np.abs(rows).max(axis=0, initial=0.0)
    if not scale.all() or np.linalg.matrix_rank(rows / scale) < rows.shape[1]:
        raise ValueError(
            f"{len(values)} measurements do not tell {rows.shape[1]} costs apart; vary each quantity "
            "by itself"
        )
    costs = np.linalg.lstsq(rows / scale, values, rcond=None)[0] / scale
    worst = float(np.abs(rows @ costs - values).max())
    return Fit(float(costs[0]), tuple(map(float, costs[1:])), worst)


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int]) -> float:
    """Return nDCG@10 of a ranking of ids. At least one document must be relevant."""
    gains = [max(0, relevant.get(name, 0)) for name in ranking[:DEPTH]]
    best = sorted((gain for gain in relevant.values() if gain > 0), reverse=True)[:DEPTH]
    return _discounted(gains) / _discounted(best)


def overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of the first ten of one ranking that is among the first ten of another."""
    wanted = set(one[:DEPTH])
    return len(wanted & set(other[:DEPTH])) / len(wanted) if wanted else 1.0


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(place + 2) for place, gain in enumerate(gains))


def counted(count: int, what: str) -> str:
    """Return a count with its noun, in the singular or the plural."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
