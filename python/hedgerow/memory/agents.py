"""Agents that work on a memory root, by editing its files (spec/memory.md, "Agents")."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from hedgerow._engine import Pipeline, Store, _agent_runs, _rehearse, _unclaimed
from hedgerow.agents import (
    Action,
    Bounds,
    Categorize,
    LinkAdd,
    Note,
    RejectedPart,
    Weight,
    write_action,
)
from hedgerow.agents.run import RunResult, apply_to_store
from hedgerow.errors import HedgerowError
from hedgerow.results import QueryResult
from hedgerow.typing import Legs

from .config import Config
from .derived import Derived
from .edit import Change, planned
from .files import locked

__all__ = ["RootWorkspace"]

_ACTIONS = ("link-add", "weight", "categorize", "note")
"""The actions that lose nothing people wrote into the files."""


class _Root(Protocol):
    """The methods of MemoryRoot that agents use. Its module imports this one."""

    def _config(self) -> Config: ...

    def store(self, *, sync: bool = True) -> Store: ...

    def link(self, a: str, b: str, strength: float = 1.0) -> object: ...

    def _legs(self) -> Legs: ...


class RootWorkspace:
    """A memory root: first front matter is edited, then the run ends in one transaction.

    If the process is killed in between, the edits stay; repeating one changes nothing.
    """

    def __init__(self, root: _Root) -> None:
        self._root = root

    def bounds(self) -> Bounds:
        """Return the types and actions that definitions may use."""
        return Bounds(tuple(self._root.store().types), _ACTIONS, "a memory root")

    def store(self) -> Store:
        """Return the store as of the last sync."""
        return self._root.store(sync=False)

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Sync the store, and run a pipeline without the claimed nodes."""
        legs = self._root._legs()  # noqa: SLF001 - of the same package
        return _unclaimed(self._root.store(), pipeline, now, legs)

    def apply(self, result: RunResult) -> list[str | None] | None:
        """Edit the files, and end the run."""
        store = self._root.store()
        last = _agent_runs(store, result.agent, result.now, 1)
        if not last or last[0]["id"] != result.run or last[0]["status"] != "started":
            return None
        shown = list(result.shown.items())
        reasons = _rehearse(store, result.agent, result.actions, shown, result.now, result.run)
        reasons = [
            self._edit(action) if reason is None else reason
            for action, reason in zip(result.actions, reasons, strict=True)
        ]
        return self._end(result, reasons)

    def _end(self, result: RunResult, reasons: list[str | None]) -> list[str | None] | None:
        """End the run, recording the applied and the rejected actions."""
        with_reasons = list(zip(result.actions, reasons, strict=True))
        refused = tuple(
            RejectedPart(action.line, write_action(action), reason, action.op)
            for action, reason in with_reasons
            if reason is not None
        )
        kept = tuple(action for action, reason in with_reasons if reason is None)
        ended = replace(result, actions=kept, rejected=(*result.rejected, *refused))
        # The files already have the changes, and the next sync brings them into the store.
        applied = [Note("", line=action.line) for action in kept]
        ok = apply_to_store(self._root.store(), ended, applied) is not None
        return reasons if ok else None

    def _edit(self, action: Action) -> str | None:
        """Apply an action to a file; returns why that failed, or None."""
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
        derived = Derived.of(self._root._config())  # noqa: SLF001 - of the same package
        with locked(derived.lock):
            planned(derived.source_root, key, Change(fields={field: value})).write()
