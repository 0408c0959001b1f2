"""The view of a session: the memories that it may see, and everything derived from them (spec/memory.md, "Scopes")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property

from hedgerow._engine import Store, _Names, _Nodes, _View

from .names import NODE_TYPES
from .scope import Scope
from .times import HOLDS, Validity, micros_of

_OF_EVERY_STORE = 5
"""The types of every store, the first of `Store.types`."""


class View:
    """The visible memories of a root, as if there were no others.

    Each part is read when it is first needed, from the state of the session. Without a scope all memories are
    visible.
    """

    def __init__(
        self,
        scope: Scope,
        files: Callable[[Scope], _View],
        nodes: Callable[[], _Nodes],
        store: Callable[[], Store],
    ) -> None:
        """The functions read the files of a scope, the nodes of all files, and the store."""
        self.scope = scope
        self._files = files
        self._nodes = nodes
        self._store = store

    @cached_property
    def files(self) -> _View:
        """The files, as the index knows them."""
        return self._files(self.scope)

    @cached_property
    def nodes(self) -> _Nodes:
        """The files with their links, as the store knows them."""
        nodes = self._nodes()
        return nodes if self.paths is None else nodes.within(self.paths)

    @cached_property
    def paths(self) -> frozenset[str] | None:
        """The paths of the files; None for all files."""
        return frozenset(self.files.paths) if self.scope else None

    @cached_property
    def marks(self) -> Marks:
        """The marks that the files state."""
        return Marks(self.files)

    @property
    def names(self) -> _Names:
        """The files that names mean."""
        return self.nodes.names

    @property
    def node_types(self) -> Sequence[str]:
        """The types that a pipeline may name: those of every root, and those that a file states."""
        store = self._store()
        types = store.types
        if not self.scope:
            return types
        select = "all | select:type"
        rows = store._query_within(  # noqa: SLF001 - of the same package
            select, self.nodes, now=0, terms=None, legs=None, explain=False
        ).rows
        known = {*types[:_OF_EVERY_STORE], *NODE_TYPES, *(str(one) for (one,) in rows or ())}
        return [one for one in types if one in known]

    def has(self, path: str) -> bool:
        """Whether a path is that of a visible file."""
        return self.paths is None or path in self.paths


class Marks:
    """The marks of the memories of a view, and which memories hold at a time.

    A memory can supersede only those of the same scope or a narrower one. Marks by which memories
    supersede each other in a cycle do not count, and neither do times of validity that end before
    they begin; lint names both.
    """

    def __init__(self, found: _View) -> None:
        self._found = found

    def at(self, path: str, time: datetime, *, was_known: bool = False) -> Validity:
        """Return whether a memory holds at a time.

        With `was_known`, a memory without `valid_from` holds from its own time on.
        """
        found = self._found.at(path, micros_of(time), was_known)
        return HOLDS if found is None else Validity.of_texts(*found)

    def holds(self, path: str, time: datetime) -> bool:
        """Return whether a memory holds.

        Faster than `at`, which follows the memories it is derived from.
        """
        return self._found.holds(path, micros_of(time))

    def superseding(self, path: str) -> list[str]:
        """Return the memories that supersede a memory, without cycles.

        Names of missing files count too.
        """
        return self._found.superseding(path)

    def said_to_supersede(self, path: str) -> list[str]:
        """Return everything that is said to supersede a memory, also in a cycle."""
        in_cycles = [new for old, new in self.cycles if old == path]
        return sorted([*self.superseding(path), *in_cycles])

    @property
    def cycles(self) -> list[tuple[str, str]]:
        """The pairs (old, new) of memories that supersede each other, in path order."""
        return self._found.cycles
