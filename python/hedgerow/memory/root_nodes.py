"""The methods of a root that see its files as nodes: lists, names, pipelines, links and visits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import InvalidInputError
from hedgerow.typing import Legs, Progress, Time, VisitOutcome

from .choices import Choices
from .config import Config, read_config
from .derived import Derived
from .freshness import FileCheck
from .node_state import NodeState
from .node_store import NodeStore, key_of
from .note import now
from .opened import OpenedIndex
from .results import RootGraph
from .scope import Scope

if TYPE_CHECKING:
    from hedgerow._engine import Pipeline, Store
    from hedgerow.results import QueryResult

    from .texts import MemoryList


class RootNodes:
    """The part of `MemoryRoot` that sees its files as nodes of a store."""

    _root: Path
    _scope: Scope
    _choices: Choices
    _opened: OpenedIndex
    _nodes: NodeStore
    _check: FileCheck

    def memories(
        self,
        *,
        type: str | None = None,  # noqa: A002 - what it is called in the file
        limit: int = 100,
        offset: int = 0,
        superseded: bool = False,
    ) -> MemoryList:
        """List the memories, the last changed first, from `offset` on.

        Only those of a `type` of nodes, if one is given; with `superseded`, only those that another
        memory supersedes, now or later. At most `limit` are listed; `count` has how many there are.
        Raises InvalidInputError for a type that no memory can have, and for a negative `offset`.
        """
        from .listing import listed  # noqa: PLC0415 - slow to import

        state = self.graph() if superseded else None
        store, visible = self._store(), self._visible(fresh=True)
        return listed(self._root, store, type, limit, offset, state, visible)

    def resolve(self, name: str, *, sync: bool = True) -> str:
        """Return the path of the memory that a path, a name or a title means, as in `[[name]]`.

        Of several memories the one that holds counts. Raises InvalidInputError: `unknown_node` if
        there is no such memory, `ambiguous_node` if several hold, or none.
        """
        return self._resolve(name, sync=sync)

    def _own(self, name: str, *, sync: bool = True, ended: bool = False) -> str:
        """Return the path that a name means, of the memories that may be written: none is shared."""
        return self._resolve(name, self._scope.own, sync=sync, ended=ended)

    def _resolve(
        self, name: str, scope: Scope | None = None, *, sync: bool = True, ended: bool = False
    ) -> str:
        """Return the path that a name means; of several the one that holds, or with `ended` not."""
        found = self._config()
        state = self._nodes.state(found, sync=sync)
        # The index is up to date with the store.
        visible = self._opened.visible(found, scope or self._scope, sync=sync, fresh=sync)
        names, paths = state.names(visible), self._paths_of(state, visible)
        return key_of(names, paths, name, self._holding(found, ended=ended))

    @staticmethod
    def _paths_of(
        state: NodeState, visible: AbstractSet[str] | None
    ) -> Callable[[], Iterable[str]]:
        """Return what returns the paths of nodes that are visible."""
        return lambda: (path for path in state.nodes.paths() if visible is None or path in visible)

    def _holding(self, found: Config, *, ended: bool = False) -> Callable[[str], bool]:
        """Return whether a memory holds now, or with `ended` no longer does."""

        def holds(path: str) -> bool:
            marks = self._opened.marks(found, sync=True, fresh=True)
            return marks.holds(path, now()) is not ended

        return holds

    def query(
        self,
        pipeline: str | Iterable[str] | Pipeline,
        *,
        now: Time | None = None,
        terms: Iterable[str] | None = None,
        explain: bool = False,
        sync: bool = True,
    ) -> QueryResult:
        """Select memories by a pipeline (spec/pipeline.md): the files are the nodes of a store.

        Their keys are their paths below the indexed folder, as in a recall. `search` and `rank`
        find what a recall would. The other arguments are those of `Store.query`. Without `sync`
        store and index are read as they are.

        Raises PipelineError for a pipeline that cannot be read, and IndexFileError if there is no
        store to read.
        """
        return self._nodes.query(
            self._config(),
            pipeline,
            now=now,
            terms=terms,
            legs=self._legs(sync=sync),
            explain=explain,
            sync=sync,
            within=self._visible(sync=sync),
        )

    def store(self, *, sync: bool = True, progress: Progress | None = None) -> Store:
        """Return the open store whose nodes are the files, up to date with `sync`.

        It is for reading, and for recording visits; nodes and edges are changed by editing the
        files. It is closed with the root. `progress(done, total)` is called as files are read.
        Raises InvalidInputError (`incompatible_options`) for a root with a scope.
        """
        self._check_whole("store")
        return self._store(sync=sync, progress=progress)

    def visit(self, agent: str, key: str, at: Time, outcome: VisitOutcome = "processed") -> None:
        """Record that an agent visited a memory at a time, as `Store.visit` does.

        `key` is a path, a name or a title. Visits are only in the store: deleting `.hedgerow/` loses
        them. Raises InvalidInputError as `resolve` does.
        """
        self.visit_many([(agent, key, at, outcome)])

    def visit_many(self, visits: Iterable[tuple[str, str, Time, VisitOutcome]]) -> None:
        """Record visits (agent, key, time, outcome): all of them, or none if one is refused."""
        found = self._config()
        state, visible = self._nodes.state(found, sync=True), self._visible(fresh=True)
        names, paths = state.names(visible), self._paths_of(state, visible)
        noted = [
            (agent, key_of(names, paths, key, self._holding(found)), at, outcome)
            for agent, key, at, outcome in visits
        ]
        self._nodes.visit(found, noted)

    def graph(self, *, sync: bool = True) -> RootGraph:
        """Return the links between memories, and those that lead to no file."""
        found = self._nodes.graph(self._config(), sync=sync)
        visible = self._visible(sync=sync)
        return found if visible is None else found.within(visible)

    def _store(self, *, sync: bool = True, progress: Progress | None = None) -> Store:
        return self._nodes.open(self._config(), sync=sync, progress=progress)

    def _visible(self, *, sync: bool = True, fresh: bool = False) -> frozenset[str] | None:
        """Return the files of the scope; None for all."""
        return self._opened.visible(self._config(), self._scope, sync=sync, fresh=fresh)

    def _check_whole(self, method: str) -> None:
        """Raise InvalidInputError for a method that concerns the whole root, if there is a scope."""
        if self._scope:
            raise InvalidInputError(
                f"{method} is about the whole root, not about the {self._scope}; open the root "
                "without a scope",
                code="incompatible_options",
            )

    def _legs(self, *, sync: bool = True) -> Legs:
        """Return what `search` and `rank` find in a pipeline: what a recall would."""
        found = self._config()
        return lambda query, leg: self._opened.leg(found, query, leg, self._scope, sync=sync)

    def _config(self) -> Config:
        """Read the configuration, which may change at any time; HedgerowError if we cannot use it."""
        found = read_config(self._root, self._choices)
        found.check()
        self._choices.tell(found.not_allowed)
        return found

    def _derived(self) -> Derived:
        return Derived.of(self._config())
