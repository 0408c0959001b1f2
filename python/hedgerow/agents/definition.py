"""An agent as its file defines it (spec/agents.md, "Definitions")."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from hedgerow._engine import Pipeline

from .actions import ACTIONS
from .problems import DefinitionError, Problem

__all__ = ["AgentDefinition", "Bounds", "DefinitionError", "Problem", "load_definition"]


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """One agent: what it selects, what it asks, what it may do and when.

    `template` is the text of the prompt with its placeholders. `actions` are the operations it
    may ask for; without any it only reads. `period_s` is the seconds of `schedule`, None for
    on-demand. `max_chars` and `node_chars` are characters. `file` is where it was read from and
    `sha` the SHA-256 of that file and its template, in hexadecimal.
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
    schedule: str = "on-demand"
    period_s: int | None = None
    max_runs_per_period: int = 1
    timeout_s: float = 120.0
    max_actions: int = 50


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a store allows its agents: the types registered there, and the actions it can do.

    `place` is what the store is called where an action is refused.
    """

    types: tuple[str, ...] = ()
    actions: tuple[str, ...] = ACTIONS
    place: str = "a store"


def load_definition(path: str | PathLike[str], bounds: Bounds = Bounds()) -> AgentDefinition:
    """Read an agent's file and the template it names; `bounds` are those of its store.

    Raises DefinitionError with everything that is wrong with them.
    """
    from .reading import read_definition  # noqa: PLC0415 - it makes what this module defines

    reading = read_definition(Path(path), bounds=bounds)
    if reading.definition is None:
        raise DefinitionError(reading.problems)
    return reading.definition
