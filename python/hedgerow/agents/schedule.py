"""How often an agent runs (spec/agents.md, "Definitions")."""

from __future__ import annotations

import re

__all__ = ["PERIODS", "period_of"]

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

PERIODS = {
    "on-demand": None,
    "hourly": _UNITS["h"],
    "daily": _UNITS["d"],
    "weekly": _UNITS["w"],
    "monthly": 30 * _UNITS["d"],
}
"""The named schedules, in seconds; None runs when it is asked to."""

LONGEST = 3_660 * _UNITS["d"]

_EVERY = re.compile(r"every[ \t]+((?:[0-9]{1,12}[smhdw])+|[0-9]{1,12})")
_PART = re.compile(r"([0-9]+)([smhdw]?)")


def period_of(schedule: str) -> int | None:
    """Give the period in seconds, None for on-demand; ValueError, in words, for no schedule.

    `every` takes a duration as pipelines do: `every 6h`, `every 1d12h`, bare digits are seconds.
    """
    if schedule in PERIODS:
        return PERIODS[schedule]
    found = _EVERY.fullmatch(schedule)
    if found is None:
        raise ValueError(
            f'"{schedule}" is no schedule; write {", ".join(PERIODS)}, or "every 6h" with any '
            "duration"
        )
    seconds = sum(int(digits) * _UNITS[unit or "s"] for digits, unit in _PART.findall(found[1]))
    if not 0 < seconds <= LONGEST:
        raise ValueError("a period is at least 1 s and at most 3660 d")
    return seconds
