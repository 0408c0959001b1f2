"""The agents of a folder at work on a store (spec/agents.md)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._engine import Store, _last_visits, _resume_agent
from hedgerow.errors import InvalidInputError

from .due import Verdict, due
from .library import AgentLibrary
from .places import StorePlace
from .reports import DryRun, RunReport
from .run import dry_run, run_once
from .runs import ActionRecord, AgentRun, Standing, records_of, runs_of, standing_of

if TYPE_CHECKING:
    from .definition import AgentDefinition, Problem
    from .models import ModelClient
    from .places import Place

__all__ = ["AgentStatus", "Agents", "Tick"]


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """An agent, whether it is due, and how it stands."""

    definition: AgentDefinition
    verdict: Verdict
    standing: Standing

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        last = self.standing.last
        return {
            "name": self.definition.name,
            "file": str(self.definition.file),
            "schedule": self.definition.schedule,
            "pipeline": self.definition.pipeline.to_string(),
            "model": self.definition.model,
            "actions": list(self.definition.actions),
            "state": self.verdict.word,
            "reason": self.verdict.sentence,
            "failures": self.standing.failures,
            "last": last.to_dict() if last else None,
        }


@dataclass(frozen=True, slots=True)
class Tick:
    """What a tick did: problems that are new since the last one, and the run it made, if any."""

    problems: list[Problem] = field(default_factory=list)
    report: RunReport | None = None


class Agents:
    """The agents that a folder defines, and the store they work on.

    `model` answers their prompts; without one they can be looked at and rehearsed. `clock` gives
    Unix seconds. One thread at a time may use an instance; several instances, in one process or
    many, keep out of each other's way. Files that cannot be used are in `problems`; where an
    earlier version could, that stays in use.
    """

    def __init__(
        self,
        store: Store | Place,
        folder: str | PathLike[str],
        model: ModelClient | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._place = StorePlace(store) if isinstance(store, Store) else store
        self._library = AgentLibrary(folder, self._place.bounds())
        self._model = model
        self._clock = clock
        self._stop = threading.Event()
        self.reload()

    @property
    def folder(self) -> Path:
        """The folder of the definitions."""
        return self._library.folder

    @property
    def definitions(self) -> dict[str, AgentDefinition]:
        """The agents by name, as they were last read."""
        return dict(sorted(self._library.definitions.items()))

    def definition(self, name: str) -> AgentDefinition:
        """Give an agent by its name; raises InvalidInputError for one that no agent has."""
        found = self._library.definitions.get(name)
        if found is None:
            known = ", ".join(self.definitions) or "none"
            raise InvalidInputError(
                f"there is no agent {name!r}; there are: {known}", code="unknown_agent"
            )
        return found

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the files of the folder, as they were last read."""
        return list(self._library.problems)

    def reload(self) -> list[Problem]:
        """Read what changed in the folder; returns the problems that are new."""
        return list(self._library.reload())

    def statuses(self, now: int | None = None) -> list[AgentStatus]:
        """Say of each agent, by name, whether it is due at a time, in Unix seconds."""
        at = self._time(now)
        return [self._status(definition, at) for definition in self.definitions.values()]

    def run(self, name: str, now: int | None = None) -> RunReport:
        """Run an agent now, whether it is due or not.

        What goes wrong with the model is in the report. Raises InvalidInputError for a name that
        no agent has and without a model, IndexFileError when the store cannot be used.
        """
        definition = self.definition(name)
        at = self._time(now)
        return self._run(definition, standing_of(self._place.store(), definition, at), at)

    def dry_run(self, name: str, now: int | None = None) -> DryRun:
        """Say what a run of an agent would ask and, with a model, do; nothing is stored.

        Raises InvalidInputError for a name that no agent has, and what the model raises.
        """
        definition = self.definition(name)
        return dry_run(self._place, definition, self._model, now=self._time(now))

    def tick(self, now: int | None = None) -> Tick:
        """Read what changed in the folder, and run the agent that waited longest, if any is due."""
        problems = self.reload()
        at = self._time(now)
        due_now = [status for status in self.statuses(at) if status.verdict.due]
        for status in sorted(due_now, key=_longest_waiting):
            if self._stop.is_set():
                break
            report = self._run(status.definition, status.standing, at)
            if report.status != "idle":
                return Tick(problems, report)
        return Tick(problems)

    def resume(self, name: str) -> None:
        """Have the failures of an agent so far count no more, so that it is paused no longer.

        Raises InvalidInputError for a name that no agent has.
        """
        _resume_agent(self._place.store(), self.definition(name).name)

    def history(self, name: str, limit: int = 20, now: int | None = None) -> list[AgentRun]:
        """Give the last runs of an agent, the latest first; also of one whose file is gone."""
        return runs_of(self._place.store(), name, self._time(now), limit)

    def records(self, run: int) -> list[ActionRecord]:
        """Give what became of each action of a run, in the order of the model's reply."""
        return records_of(self._place.store(), run)

    def stop(self) -> None:
        """Have a run that is under way given up soon, and no other begin. Callable from anywhere."""
        self._stop.set()

    @property
    def stopped(self) -> threading.Event:
        """The event that `stop` sets."""
        return self._stop

    def _run(self, definition: AgentDefinition, standing: Standing, at: int) -> RunReport:
        if self._model is None:
            raise InvalidInputError(
                "there is no model to ask; give Agents a model", code="no_model"
            )
        begin = self._clock()
        return run_once(
            self._place,
            definition,
            self._model,
            standing,
            # The caller's time, and what went by since then.
            clock=lambda: at + int(max(self._clock() - begin, 0)),
            stop=self._stop,
        )

    def _status(self, definition: AgentDefinition, now: int) -> AgentStatus:
        standing = standing_of(self._place.store(), definition, now)

        def visits() -> list[int | None]:
            found = self._place.select(definition.pipeline, now)
            return _last_visits(self._place.store(), definition.name, found.keys)

        return AgentStatus(definition, due(definition, standing, now, visits), standing)

    def _time(self, now: int | None) -> int:
        return int(self._clock()) if now is None else now


def _longest_waiting(status: AgentStatus) -> tuple[int, str]:
    last = status.standing.last
    return (-1 if last is None else last.started, status.definition.name)
