"""A root for agents to work on: their actions edit files (spec/memory.md, "Agents")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hedgerow._engine import _agent_runs, _rehearse, _unclaimed
from hedgerow.agents import Bounds, Categorize, LinkAdd, Note, Rejected, Weight, write_action
from hedgerow.agents.places import Harvest, apply_to_store
from hedgerow.errors import HedgerowError

from .config import read_config
from .derived import Derived
from .edit import set_field
from .lock import locked

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow._engine import Pipeline, QueryResult, Store
    from hedgerow.agents import Action

    from .node_store import Legs

__all__ = ["RootPlace"]

_ACTIONS = ("link-add", "weight", "categorize", "note")
"""The actions that lose nothing of files that people write."""


class Root(Protocol):
    """What agents need of a `MemoryRoot`, whose module imports this one."""

    @property
    def path(self) -> Path: ...

    def store(self, *, sync: bool = True) -> Store: ...

    def link(self, a: str, b: str, strength: float = 1.0) -> str: ...

    def _legs(self) -> Legs: ...


class RootPlace:
    """A root: front matter is edited first, then the run ends in one transaction of the store.

    An edit that was made stays when the process is killed before the run has ended; made once
    more, it changes nothing.
    """

    def __init__(self, root: Root) -> None:
        self._root = root

    def bounds(self) -> Bounds:
        """Say what agents may name and do."""
        return Bounds(tuple(self._root.store().types), _ACTIONS, "a memory root")

    def store(self) -> Store:
        """Give the store as it was last brought up to date."""
        return self._root.store(sync=False)

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Bring the store up to date, and run a pipeline as if claimed nodes were not there."""
        legs = self._root._legs()  # noqa: SLF001 - of the same package
        return _unclaimed(self._root.store(), pipeline, now, legs)

    def apply(self, harvest: Harvest) -> list[str | None] | None:
        """Edit the files, and end the run."""
        store = self._root.store()
        last = _agent_runs(store, harvest.agent, harvest.now, 1)
        if not last or last[0]["id"] != harvest.run or last[0]["status"] != "started":
            return None
        shown = list(harvest.shown.items())
        reasons = _rehearse(store, harvest.agent, harvest.actions, shown, harvest.now, harvest.run)
        reasons = [
            self._edit(action) if reason is None else reason
            for action, reason in zip(harvest.actions, reasons, strict=True)
        ]
        return self._end(harvest, reasons)

    def _end(self, harvest: Harvest, reasons: list[str | None]) -> list[str | None] | None:
        """Note what was done, and what was not."""
        judged = list(zip(harvest.actions, reasons, strict=True))
        refused = tuple(
            Rejected(action.line, write_action(action), reason, action.op)
            for action, reason in judged
            if reason is not None
        )
        kept = tuple(action for action, reason in judged if reason is None)
        ended = Harvest(
            harvest.run,
            harvest.agent,
            harvest.now,
            kept,
            (*harvest.rejected, *refused),
            harvest.visited,
            harvest.shown,
            harvest.tokens_in,
            harvest.tokens_out,
        )
        # The files say it already, and what they say is in the store after the next sync.
        done = [Note("", line=action.line) for action in kept]
        ok = apply_to_store(self._root.store(), ended, done) is not None
        return reasons if ok else None

    def _edit(self, action: Action) -> str | None:
        """Write an action into a file; the answer is why it could not be."""
        try:
            match action:
                case LinkAdd(a, b, strength):
                    self._root.link(a, b, strength)
                case Weight(key, value):
                    self._set(key, "weight", value)
                case Categorize(key, category):
                    self._set(key, "category", category)
        except HedgerowError as error:
            return error.message
        return None

    def _set(self, key: str, field: str, value: float | str) -> None:
        derived = Derived.of(read_config(self._root.path))
        with locked(derived.lock):
            set_field(derived.source_root / key, field, value, root=derived.source_root)
