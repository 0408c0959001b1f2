"""The workspace of agents: a store, or an object that has one (spec/agents.md, "A run")."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hedgerow._engine import Pipeline, Store, _apply_run, _unclaimed
from hedgerow.results import QueryResult

from .actions import Action, RejectedPart
from .definition import Bounds


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run to apply.

    `shown` has the content of the nodes shown to the model, by key.
    """

    run: int
    agent: str
    now: int
    actions: tuple[Action, ...]
    rejected: tuple[RejectedPart, ...]
    visited: tuple[str, ...]
    shown: dict[str, str]
    tokens_in: int
    tokens_out: int


@runtime_checkable
class Workspace(Protocol):
    """The workspace of agents."""

    def bounds(self) -> Bounds:
        """Return the names and actions that definitions may use."""

    def store(self) -> Store:
        """Return the open store."""

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Bring the store up to date, and run a pipeline without the claimed nodes."""

    def apply(self, result: RunResult) -> list[str | None] | None:
        """Apply a run; returns for each action why it was rejected, or None.

        Returns None, with nothing applied, if the run is over.
        """


class StoreWorkspace:
    """A store: every action is supported, and applied in one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def bounds(self) -> Bounds:
        """Return the names and actions that definitions may use."""
        return Bounds(types=tuple(self._store.types))

    def store(self) -> Store:
        """Return the store."""
        return self._store

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Run a pipeline without the claimed nodes."""
        return _unclaimed(self._store, pipeline, now)

    def apply(self, result: RunResult) -> list[str | None] | None:
        """Apply a run."""
        return apply_to_store(self._store, result)


def apply_to_store(
    store: Store, result: RunResult, applied: Sequence[Action] | None = None
) -> list[str | None] | None:
    """End a run in one transaction.

    `applied` replaces the actions one by one if they were applied elsewhere; the log keeps the
    original ones.
    """
    actions = result.actions if applied is None else applied
    records = [_json(action.to_dict()) for action in result.actions]
    return _apply_run(
        store,
        result.run,
        now=result.now,
        actions=[
            (action, action.line, record) for action, record in zip(actions, records, strict=True)
        ],
        rejected=[(one.line, _json(one.text), one.reason) for one in result.rejected],
        visited=result.visited,
        shown=list(result.shown.items()),
        tokens_in=result.tokens_in,
        tokens_out=result.tokens_out,
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
