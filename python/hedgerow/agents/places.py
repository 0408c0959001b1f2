"""Where agents work: on a store, or on what has one (spec/agents.md, "A run")."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hedgerow._engine import _apply_run, _unclaimed

from .definition import Bounds

if TYPE_CHECKING:
    from hedgerow._engine import Pipeline, QueryResult, Store

    from .actions import Action, Rejected

__all__ = ["Harvest", "Place", "StorePlace", "apply_to_store"]


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a run comes to. `shown` is what nodes said that the model was shown, by key."""

    run: int
    agent: str
    now: int
    actions: tuple[Action, ...]
    rejected: tuple[Rejected, ...]
    visited: tuple[str, ...]
    shown: dict[str, str]
    tokens_in: int
    tokens_out: int


class Place(Protocol):
    """What agents work on."""

    def bounds(self) -> Bounds:
        """Say what agents may name and do."""

    def store(self) -> Store:
        """Give the open store, up to date."""

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Run a pipeline as if claimed nodes were not there."""

    def apply(self, harvest: Harvest) -> list[str | None] | None:
        """Say of each action why it was rejected; None, with nothing done, when the run is over."""


class StorePlace:
    """A store: everything can be done, in one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def bounds(self) -> Bounds:
        """Say what agents may name and do."""
        return Bounds(types=tuple(self._store.types))

    def store(self) -> Store:
        """Give the store."""
        return self._store

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Run a pipeline as if claimed nodes were not there."""
        return _unclaimed(self._store, pipeline, now)

    def apply(self, harvest: Harvest) -> list[str | None] | None:
        """Apply the actions."""
        return apply_to_store(self._store, harvest)


def apply_to_store(
    store: Store, harvest: Harvest, done: Sequence[Action] | None = None
) -> list[str | None] | None:
    """End a run in one transaction; `done` stands for actions that were done elsewhere."""
    actions = harvest.actions if done is None else done
    records = [_json(action.to_dict()) for action in harvest.actions]
    return _apply_run(
        store,
        harvest.run,
        now=harvest.now,
        actions=[
            (action, action.line, record) for action, record in zip(actions, records, strict=True)
        ],
        rejected=[(one.line, _json(one.text), one.reason) for one in harvest.rejected],
        visited=harvest.visited,
        shown=list(harvest.shown.items()),
        tokens_in=harvest.tokens_in,
        tokens_out=harvest.tokens_out,
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
