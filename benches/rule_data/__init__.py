"""The data that rules are measured on: one module for each kind (benches/rules.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

SEED = 20260418
RESAMPLES = 2_000

Without = Callable[[str], AbstractContextManager[None]]
"""Switches a rule off for a while."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The mean of a measure with a rule, and the gain of the rule with its 95 % interval."""

    data: str
    measure: str
    value: float
    gain: float
    low: float
    high: float

    @property
    def is_gain(self) -> bool:
        """Whether the whole interval is above 0, to three places."""
        return round(self.low, 3) > 0

    def __str__(self) -> str:
        gain = f"{self.gain:+.3f} ({self.low:+.3f} to {self.high:+.3f})"
        return f"{self.data}, {self.measure}: {self.value:.3f}, {gain}"


def compared(data: str, measure: str, on: Sequence[float], off: Sequence[float]) -> Figure:
    """Compare the values of the same questions with a rule and without it."""
    values = np.array(on)
    gains = values - np.array(off)
    chance = np.random.default_rng(SEED)
    if gains.any():
        means = [chance.choice(gains, gains.size).mean() for _ in range(RESAMPLES)]
        low, high = np.percentile(means, [2.5, 97.5])
    else:
        low = high = 0.0
    return Figure(data, measure, float(values.mean()), float(gains.mean()), float(low), float(high))
