"""The effects of actions on a store, in plain Python: slow, short and independent of the engine."""

from __future__ import annotations

from functools import singledispatchmethod

from hedgerow.agents import (
    Action,
    Categorize,
    Delete,
    LinkAdd,
    Note,
    Refine,
    Rename,
    Weight,
    WriteNode,
)

WEIGHTS = {"high": 0.9, "medium": 0.7, "low": 0.5, None: 0.7}
CATEGORIES = {"core", "general", "technical", "observation", "task"}


class PlainStore:
    """Nodes with their text and weight, and edges as (relation, source, target)."""

    def __init__(self, keys: str) -> None:
        self.nodes = {key: (f"about {key}", 0.7) for key in keys}
        self.edges: set[tuple[str, str, str]] = set()
        self._known = set(keys)
        self._written: set[str] = set()

    @singledispatchmethod
    def act(self, action: Action) -> bool:
        """Apply an action. Return whether it was possible."""
        raise NotImplementedError(action)

    @act.register
    def _(self, action: LinkAdd) -> bool:
        a, b = action.a, action.b
        linked = {("link", a, b), ("link", b, a)} & self.edges
        ends = a != b and {a, b} <= set(self.nodes)
        if not ends or not 0 < action.strength <= 1 or linked:
            return False
        self.edges.add(("link", a, b))
        return True

    @act.register
    def _(self, action: Weight) -> bool:
        if action.key not in self.nodes or not 0 <= action.value <= 1:
            return False
        self.nodes[action.key] = (self.nodes[action.key][0], action.value)
        return True

    @act.register
    def _(self, action: Categorize) -> bool:
        return action.key in self.nodes and action.category in CATEGORIES

    @act.register
    def _(self, action: WriteNode) -> bool:
        free = action.key not in self._known or action.key in self._written
        if not free or not {*action.covers} <= set(self.nodes) - {action.key}:
            return False
        self.nodes[action.key] = (action.content, WEIGHTS[action.confidence])
        self._known.add(action.key)
        self._written.add(action.key)
        earlier = {edge for edge in self.edges if edge[:2] == ("derived", action.key)}
        self.edges -= earlier
        self.edges |= {("derived", action.key, one) for one in action.covers}
        return True

    @act.register
    def _(self, action: Refine) -> bool:
        if action.key not in self.nodes:
            return False
        self.nodes[action.key] = (action.content, self.nodes[action.key][1])
        return True

    @act.register
    def _(self, action: Delete) -> bool:
        return self.nodes.pop(action.key, None) is not None

    @act.register
    def _(self, action: Rename) -> bool:
        old, new = action.key, action.new_key
        if old not in self.nodes or new in self._known:
            return False
        self.nodes[new] = self.nodes.pop(old)
        for keys in (self._known, self._written):
            if old in keys:
                keys.remove(old)
                keys.add(new)
        self.edges = {
            (relation, *(new if end == old else end for end in ends))
            for relation, *ends in self.edges
        }
        return True

    @act.register
    def _(self, action: Note) -> bool:  # noqa: ARG002 - it does nothing
        return True
