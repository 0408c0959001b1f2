"""The agents of a folder, working on a store (spec/agents.md)."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from hedgerow._engine import Store, _last_visits, _resume_agent
from hedgerow._times import checked_time
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.typing import Time

from .definition import AgentDefinition, Problem
from .definition_file import AgentLibrary
from .models import ModelClient
from .reply import new_token
from .run import (
    ActionRecord,
    AgentRun,
    DryRun,
    RunHistory,
    RunReport,
    StoreWorkspace,
    Verdict,
    Workspace,
    dry_run,
    due,
    records_of,
    run_once,
    runs_of,
    standing_of,
)


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """An agent, whether it is due, and its state."""

    definition: AgentDefinition
    verdict: Verdict
    standing: RunHistory

    def to_dict(self) -> dict[str, Any]:
        """Return the status as JSON."""
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
    """The result of a tick: problems new since the last one, and the report of its run, if any."""

    problems: list[Problem] = field(default_factory=list)
    report: RunReport | None = None


class Agents:
    """The agents that a folder defines, and the store they work on.

    `model` answers their prompts; without one they can only be inspected and dry-run. `clock`
    returns Unix seconds. An instance is not thread-safe; several instances, in one process or
    many, may share a store. `now` of its methods is Unix seconds, a datetime or a date. Invalid
    files are in `problems`; the last valid version of a file stays in use. `refuses` returns why an
    agent must not ask its model, so that it is not run, or None.

    `token` makes the token that the reply to one prompt must have; tests may give one that is not
    random.
    """

    def __init__(  # noqa: PLR0913 - options with a default
        self,
        store: Store | Workspace,
        folder: str | PathLike[str],
        model: ModelClient | None = None,
        *,
        clock: Callable[[], float] = time.time,
        refuses: Callable[[AgentDefinition], str | None] | None = None,
        token: Callable[[], str] = new_token,
    ) -> None:
        if isinstance(store, Store):
            self._workspace: Workspace = StoreWorkspace(store)
        elif isinstance(store, Workspace):
            self._workspace = store
        else:
            raise InvalidInputError(
                f"store must be a Store, not {type(store).__name__}", code="invalid_option"
            )
        self._library = AgentLibrary(folder, self._workspace.bounds())
        self._model = model
        self._clock = clock
        self._refuses = refuses
        self._token = token
        self._stop = threading.Event()
        self.reload()

    @property
    def folder(self) -> Path:
        """The folder of the definitions."""
        return self._library.folder

    @property
    def definitions(self) -> dict[str, AgentDefinition]:
        """The agents by name, as of the last reload."""
        return dict(sorted(self._library.definitions.items()))

    def definition(self, name: str) -> AgentDefinition:
        """Return an agent by its name; raises InvalidInputError for an unknown name."""
        found = self._library.definitions.get(name)
        if found is None:
            known = ", ".join(self.definitions) or "none"
            raise InvalidInputError(
                f"there is no agent {name!r}; there are: {known}", code="unknown_agent"
            )
        return found

    @property
    def problems(self) -> list[Problem]:
        """The problems of the files in the folder, as of the last reload."""
        return list(self._library.problems)

    @property
    def warnings(self) -> list[Problem]:
        """The actions that agents request without permission, by file and position, at the last reload."""
        return list(self._library.warnings)

    def reload(self) -> list[Problem]:
        """Reload what changed in the folder; returns the problems that are new."""
        return list(self._library.reload())

    def statuses(self, now: Time | None = None) -> list[AgentStatus]:
        """Return whether each agent, by name, is due at a time."""
        at = self._time(now)
        return [self._status(definition, at) for definition in self.definitions.values()]

    def run(self, name: str, now: Time | None = None) -> RunReport:
        """Run an agent now, whether it is due or not.

        Failures of the model are in the report. Raises InvalidInputError for an unknown name and
        without a model, HedgerowError (`not_allowed`) for an agent that is refused, IndexFileError
        if the store cannot be used.
        """
        definition = self._allowed(name)
        at = self._time(now)
        return self._run(definition, standing_of(self._workspace.store(), definition, at), at)

    def dry_run(self, name: str, now: Time | None = None) -> DryRun:
        """Return the prompt of a run of an agent and, with a model, its actions; nothing is stored.

        Raises InvalidInputError for an unknown name, HedgerowError (`not_allowed`) if the model is
        refused, and the errors of the model.
        """
        definition = self.definition(name) if self._model is None else self._allowed(name)
        at = self._time(now)
        return dry_run(self._workspace, definition, self._model, now=at, token=self._token)

    def tick(self, now: Time | None = None) -> Tick:
        """Reload what changed in the folder, and run the due agent that has waited longest, if any."""
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
        """Reset the failures of an agent, which ends its pause or backoff.

        Raises InvalidInputError for an unknown name.
        """
        _resume_agent(self._workspace.store(), self.definition(name).name)

    def history(self, name: str, limit: int = 20, now: Time | None = None) -> list[AgentRun]:
        """Return the last runs of an agent, latest first, even if its file is gone."""
        return runs_of(self._workspace.store(), name, self._time(now), limit)

    def records(self, run: int) -> list[ActionRecord]:
        """Return the outcome of each action of a run, in the order of the reply."""
        return records_of(self._workspace.store(), run)

    def stop(self) -> None:
        """Stop the current run soon, and begin no other. May be called from any thread."""
        self._stop.set()

    @property
    def stopped(self) -> threading.Event:
        """The event that `stop` sets."""
        return self._stop

    def _allowed(self, name: str) -> AgentDefinition:
        """Return an agent that may ask its model."""
        definition = self.definition(name)
        if refusal := self._refusal(definition):
            raise HedgerowError(f"{name} is not run. {refusal}", code="not_allowed")
        return definition

    def _refusal(self, definition: AgentDefinition) -> str | None:
        return None if self._refuses is None else self._refuses(definition)

    def _run(self, definition: AgentDefinition, standing: RunHistory, at: int) -> RunReport:
        if self._model is None:
            raise InvalidInputError(
                "there is no model to ask; give Agents a model", code="no_model"
            )
        begin = self._clock()
        return run_once(
            self._workspace,
            definition,
            self._model,
            standing,
            # The caller's time plus the time elapsed since.
            clock=lambda: at + int(max(self._clock() - begin, 0)),
            stop=self._stop,
            token=self._token,
        )

    def _status(self, definition: AgentDefinition, now: int) -> AgentStatus:
        standing = standing_of(self._workspace.store(), definition, now)
        if refusal := self._refusal(definition):
            return AgentStatus(definition, Verdict("refused", refusal), standing)

        def visits() -> list[int | None]:
            found = self._workspace.select(definition.pipeline, now)
            return _last_visits(self._workspace.store(), definition.name, found.keys)

        return AgentStatus(definition, due(definition, standing, now, visits), standing)

    def _time(self, now: Time | None) -> int:
        return int(self._clock()) if now is None else checked_time(now, "now")


def _longest_waiting(status: AgentStatus) -> tuple[int, str]:
    last = status.standing.last
    return (-1 if last is None else last.started, status.definition.name)


_LOG = logging.getLogger("hedgerow.agents")

TICK_S = 60.0
"""Seconds to wait if no agent is due."""


def log_tick(tick: Tick) -> None:
    """Log a tick: problems and failures as warnings, everything else as information."""
    for problem in tick.problems:
        _LOG.warning("%s", problem)
    report = tick.report
    if report is None:
        return
    if report.status == "failed":
        _LOG.warning("the agent %s failed: %s", report.agent, report.error)
    else:
        done = len(report.applied)
        _LOG.info("the agent %s: %s, %d actions applied", report.agent, report.status, done)


def serve(
    agents: Agents,
    *,
    tick_s: float = TICK_S,
    sleep: Callable[[float], object] | None = None,
    on_tick: Callable[[Tick], None] = log_tick,
) -> None:
    """Tick until `agents.stop()` is called: immediately after a run, else every `tick_s` seconds.

    `sleep(seconds)` waits between ticks, by default until the time is up or `stop` is called.
    `on_tick` is called with each tick, by default to log it to "hedgerow.agents". A tick that
    fails, say because the store is busy or the disk full, is logged and retried. A run in progress
    has a few seconds to end after the stop, then it is abandoned.
    """
    wait = agents.stopped.wait if sleep is None else sleep
    while not agents.stopped.is_set():
        try:
            tick = agents.tick()
        except HedgerowError as error:
            _LOG.warning("a tick failed and will be retried: %s", error)
            wait(tick_s)
            continue
        on_tick(tick)
        if tick.report is None:
            wait(tick_s)


@contextmanager
def stopped_by_signals(agents: Agents) -> Iterator[None]:
    """Have SIGTERM and SIGINT stop the agents, if on the main thread.

    A second signal exits immediately.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: SimpleQueue[int | None] = SimpleQueue()
    told = False

    def hear(number: int, _frame: object) -> None:
        """Only record the signal: this may interrupt the main thread anywhere.

        A second signal may interrupt this too, and the main thread may hold the lock of
        `agents.stopped` or of a stream that is logged to. `put` can be interrupted by itself.
        """
        nonlocal told
        if told or agents.stopped.is_set():
            raise KeyboardInterrupt
        told = True
        heard.put(number)

    def stop() -> None:
        number = heard.get()
        if number is not None:
            _LOG.info("stopping: %s", signal.Signals(number).name)
            agents.stop()

    listener = threading.Thread(target=stop, name="hedgerow-signals", daemon=True)
    listener.start()
    before = {one: signal.signal(one, hear) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        heard.put(None)
        listener.join()
