"""The runs recorded in a store (spec/agents.md, "The tables")."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from hedgerow._engine import Store, _agent_runs, _run_records, _standing

from .definition import AgentDefinition

__all__ = ["ActionRecord", "AgentRun", "RunHistory", "records_of", "runs_of", "standing_of"]


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
    return [ActionRecord(line, _action(text), reason) for line, text, reason in records]


def _action(text: str) -> dict[str, Any] | str:
    """Decode an action, or an invalid one, which is stored as a JSON string."""
    value: dict[str, Any] | str = json.loads(text)
    return value


def _run(fields: dict[str, Any] | None) -> AgentRun | None:
    return None if fields is None else AgentRun(**fields)
