"""The definition of an agent, and problems in one (spec/agents.md, "Definitions"); `definition_file` reads them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hedgerow._engine import Pipeline
from hedgerow.errors import HedgerowError

from .actions import ACTIONS


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a definition. `line` and `column` count characters from 1.

    `suggestion` is the probable intention, or None.
    """

    file: Path
    line: int
    column: int
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        meant = f'; did you mean "{self.suggestion}"?' if self.suggestion else ""
        return f"{self.file}:{self.line}:{self.column}: {self.message}{meant}"

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON."""
        return {**asdict(self), "file": str(self.file)}


class DefinitionError(HedgerowError):
    """A definition cannot be used; `problems` lists everything wrong with it, in file order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)), code="invalid_definition")
        self.problems = problems

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problems,))


WITHHELD = ("categorize", "delete")
"""The actions that a definition has to list in `allow` too, since they delete or retype nodes."""


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """An agent: its selection of nodes, its prompt, its permissions and its schedule.

    `template` is the text of the prompt with its placeholders. `actions` are the actions it may
    request; without any it is read-only. `allow` are the actions among them that delete or retype
    nodes and are permitted. `warnings` name the actions that it requests without permission.
    `period_s` is the period of `schedule` in seconds, None for on-demand. `max_chars` and
    `node_chars` count characters. `file` is the file it was read from and `sha` the SHA-256 of that
    file and its template, in hexadecimal.
    """

    name: str
    pipeline: Pipeline
    template: str
    model: str
    file: Path
    sha: str
    enabled: bool = True
    min_results: int = 1
    placeholders: tuple[str, ...] = ()
    max_chars: int = 60_000
    node_chars: int = 4_000
    actions: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    schedule: str = "on-demand"
    period_s: int | None = None
    max_runs_per_period: int = 1
    timeout_s: float = 120.0
    max_actions: int = 50
    warnings: tuple[Problem, ...] = ()

    @property
    def least_nodes(self) -> int:
        """The smallest number of nodes it runs on."""
        return max(self.min_results, 1)

    @property
    def withheld(self) -> tuple[str, ...]:
        """The actions that it lists but may not carry out, because `allow` does not list them."""
        return tuple(one for one in self.actions if one in WITHHELD and one not in self.allow)

    @property
    def permitted(self) -> tuple[str, ...]:
        """The actions that it may carry out."""
        return tuple(one for one in self.actions if one not in self.withheld)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a store for its agents: its registered types, and the actions it supports.

    `place` is the name of the store in error messages.
    """

    types: tuple[str, ...] = ()
    actions: tuple[str, ...] = ACTIONS
    place: str = "a store"


_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

PERIODS = {
    "on-demand": None,
    "hourly": _UNITS["h"],
    "daily": _UNITS["d"],
    "weekly": _UNITS["w"],
    "monthly": 30 * _UNITS["d"],
}
"""The named schedules, in seconds; on-demand has no period."""

_LONGEST_SHOWN = 60
_LONGEST_PERIOD = 3_660 * _UNITS["d"]
_EVERY = re.compile(r"every[ \t]+((?:[0-9]{1,12}[smhdw])+|[0-9]{1,12})")
_PART = re.compile(r"([0-9]+)([smhdw]?)")


def period_of(schedule: str) -> int | None:
    """Return the period of a schedule in seconds, None for on-demand.

    `every` takes a duration as pipelines write it: `every 6h`, `every 1d12h`; digits alone are
    seconds. Raises ValueError for anything else.
    """
    if schedule in PERIODS:
        return PERIODS[schedule]
    found = _EVERY.fullmatch(schedule)
    if found is None:
        written = schedule if len(schedule) <= _LONGEST_SHOWN else f"{schedule[:_LONGEST_SHOWN]}…"
        raise ValueError(
            f'"{written}" is not a schedule; write {", ".join(PERIODS)}, or "every 6h" with any '
            "duration"
        )
    seconds = sum(int(digits) * _UNITS[unit or "s"] for digits, unit in _PART.findall(found[1]))
    if not 0 < seconds <= _LONGEST_PERIOD:
        raise ValueError("a period must be from 1 s to 3660 d")
    return seconds
