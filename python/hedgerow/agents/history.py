"""The runs recorded in a store (spec/agents.md, "The tables")."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from hedgerow._engine import Store, _agent_runs, _run_records, _standing

from .definition import AgentDefinition


@dataclass(frozen=True, slots=True)
class AgentRun:
    """A run of an agent. Times are in Unix seconds.

    `definition` is the hash of the definition used. `status` is "started" while the run is in
    progress, then "ok", "failed" or "stopped"; a run that has not ended by `expires` counts as
    failed. `permanent` means that its failure will not pass by itself. `nodes`, `applied` and
    `rejected` are counts, `tokens_in` and `tokens_out` those of the model; `error` says why it
    failed, else it is None.
    """

    id: int
    agent: str
    definition: str
    started: int
    expires: int
    ended: int | None
    status: str
    permanent: bool
    nodes: int
    applied: int
    rejected: int
    error: str | None
    tokens_in: int
    tokens_out: int

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """The outcome of an action. `action` is its JSON form, or the text of one that is invalid.

    `line` counts from 1 in the reply; `reason` says why it was rejected, None if it was applied.
    """

    line: int
    action: dict[str, Any] | str
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The state of an agent: its last run, ok runs in the last period, and consecutive failures.

    `failures` counts those with the current definition since the agent was last resumed;
    `failure` is the last of them.
    """

    last: AgentRun | None = None
    ok_runs: int = 0
    failures: int = 0
    failure: AgentRun | None = None


def standing_of(store: Store, definition: AgentDefinition, now: int) -> RunHistory:
    """Read the state of an agent at a time, in Unix seconds."""
    period = definition.period_s or 0
    found = _standing(store, definition.name, definition.sha, now, now - period)
    return RunHistory(
        last=_run(found["last"]),
        ok_runs=found["ok_runs"],
        failures=found["failures"],
        failure=_run(found["failure"]),
    )


def runs_of(store: Store, agent: str, now: int, limit: int) -> list[AgentRun]:
    """Read the last runs of an agent, latest first."""
    return [AgentRun(**fields) for fields in _agent_runs(store, agent, now, limit)]


def records_of(store: Store, run: int) -> list[ActionRecord]:
    """Read the outcomes of the actions of a run, in the order of the reply."""
    records = _run_records(store, run)
    # An invalid action is stored as a JSON string.
    return [ActionRecord(line, json.loads(text), reason) for line, text, reason in records]


def _run(fields: dict[str, Any] | None) -> AgentRun | None:
    return None if fields is None else AgentRun(**fields)


PAUSED_AFTER = 5
"""The number of consecutive failures after which an agent is paused."""

FIRST_BACKOFF = 60
LONGEST_BACKOFF = 3600
_MOST_DOUBLINGS = 6  # more than an hour


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an agent is due, and why: one word, and a sentence for people.

    The word is due, disabled, on-demand, paused, running, backoff, budget, few, visited or refused.
    """

    word: str
    sentence: str

    @property
    def due(self) -> bool:
        """Whether it is due."""
        return self.word == "due"


def due(
    definition: AgentDefinition,
    standing: RunHistory,
    now: int,
    visits: Callable[[], Sequence[int | None]],
) -> Verdict:
    """Return whether an agent is due at a time, in Unix seconds.

    `visits` is called only if the answer depends on it; it returns when the agent last visited
    each node of its query.
    """
    return _held(definition, standing, now) or _wanted(definition, now, visits())


def backoff_until(standing: RunHistory) -> int | None:
    """Return when the backoff of an agent ends, in Unix seconds; None if it did not fail."""
    if standing.failure is None or standing.failure.ended is None:
        return None
    doublings = min(standing.failures - 1, _MOST_DOUBLINGS)
    return standing.failure.ended + min(FIRST_BACKOFF << doublings, LONGEST_BACKOFF)


def pause_reason(standing: RunHistory) -> str | None:
    """Return why an agent is paused until its file changes or it is resumed; None if it is not."""
    failure = standing.failure
    if failure is None:
        return None
    if failure.permanent:
        return f"its last run failed permanently: {failure.error}"
    if standing.failures >= PAUSED_AFTER:
        return f"it failed {standing.failures} times in a row: {failure.error}"
    return None


def _held(definition: AgentDefinition, standing: RunHistory, now: int) -> Verdict | None:
    """The verdict that holds an agent back whatever its nodes are, if any."""
    if not definition.enabled:
        return Verdict("disabled", "its definition has enabled = false")
    if definition.period_s is None:
        return Verdict("on-demand", "it only runs on demand")
    failing = _held_by_failures(standing, now)
    if failing:
        return failing
    if standing.last is not None and standing.last.status == "started":
        return Verdict("running", f"run {standing.last.id} is in progress")
    if standing.ok_runs >= definition.max_runs_per_period:
        return Verdict("budget", "it has had all the runs of its period")
    return None


def _held_by_failures(standing: RunHistory, now: int) -> Verdict | None:
    paused = pause_reason(standing)
    if paused:
        return Verdict("paused", paused)
    until = backoff_until(standing)
    if until is not None and now < until:
        return Verdict("backoff", f"it failed and waits until {_time(until)}")
    return None


def _wanted(definition: AgentDefinition, now: int, visits: Sequence[int | None]) -> Verdict:
    """The verdict by what its query finds."""
    period = definition.period_s or 0
    least = definition.least_nodes
    if len(visits) < least:
        return Verdict("few", f"its query finds {len(visits)} nodes, and it needs {least}")
    if all(at is not None and now - at < period for at in visits):
        return Verdict("visited", "it has visited all nodes of its query within its period")
    return Verdict("due", "it is due")


def _time(at: int) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
