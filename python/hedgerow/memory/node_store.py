"""The store of a root, open: its files as nodes, queried and visited (spec/memory.md, "The store")."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hedgerow._checks import checked_text
from hedgerow._engine import Store, _is_unlinked, _Names
from hedgerow.errors import HedgerowError, IndexFileError, InvalidInputError
from hedgerow.ingest.ledger import Ledger
from hedgerow.typing import Legs, Progress, Time, VisitOutcome

from .config import Config
from .derived import (
    OLDER,
    Derived,
    check_ours,
    check_regular,
    damage_in,
    is_of_no_use,
    make_room,
)
from .files import system_errors
from .freshness import FileCheck
from .links import without_attachments
from .lock import locked
from .node_state import NodeState
from .results import RootGraph

if TYPE_CHECKING:
    from hedgerow._engine import Pipeline
    from hedgerow.results import QueryResult

T = TypeVar("T")


_SHOWN = 10


class NodeStore:
    """The store of one root, which may be deleted and made anew at any time."""

    def __init__(self, root: Path, check: FileCheck) -> None:
        self._root = root
        self._check = check
        self._opening = threading.Lock()
        self._store: Store | None = None
        self._file: tuple[int, int] | None = None
        self._state: tuple[object, NodeState] | None = None

    def query(  # noqa: PLR0913 - what a query depends on
        self,
        config: Config,
        pipeline: str | Iterable[str] | Pipeline,
        *,
        now: Time | None,
        terms: Iterable[str] | None,
        legs: Legs,
        explain: bool,
        sync: bool,
        within: Iterable[str] | None = None,
    ) -> QueryResult:
        """Run a pipeline, after bringing the store up to date with `sync`."""

        def work() -> QueryResult:
            store = self.open(config, sync=sync)
            return store.query(
                pipeline, now=now, terms=terms, legs=legs, explain=explain, within=within
            )

        return self._mended(config, work) if sync else work()

    def visit(self, config: Config, visits: Iterable[tuple[str, str, Time, VisitOutcome]]) -> None:
        """Note visits (agent, path, time, outcome), which are kept in the store alone."""
        noted = list(visits)

        def work() -> None:
            self.open(config, sync=True).visit_many(noted)

        self._mended(config, work)

    def graph(self, config: Config, *, sync: bool) -> RootGraph:
        """Return all edges, and the links that lead nowhere."""

        def work() -> RootGraph:
            state = self.state(config, sync=sync)
            edges = self._opened(Derived.of(config))._edges()  # noqa: SLF001 - of the same package
            unresolved = without_attachments(state.nodes.unresolved(), config.source_root)
            return RootGraph(tuple(edges), tuple(unresolved), tuple(state.ledger.skips))

        return self._mended(config, work) if sync else work()

    def open(self, config: Config, *, sync: bool, progress: Progress | None = None) -> Store:
        """Return the open store, up to date with `sync`."""
        self.state(config, sync=sync, progress=progress)
        return self._opened(Derived.of(config))

    def written(self, config: Config, paths: Sequence[str]) -> None:
        """Bring index and store up to date with files that were just written."""
        from .sync import sync_written  # noqa: PLC0415 - slow to import

        sync_written(Derived.of(config), paths, with_store=True)

    def close(self) -> None:
        """Close the store; the next call opens it again."""
        with self._opening:
            if self._store is not None:
                self._store.close()
            self._store = self._file = None

    def state(self, config: Config, *, sync: bool, progress: Progress | None = None) -> NodeState:
        """Return what is known of the files, up to date with `sync`."""
        derived = Derived.of(config)
        if sync and not self._is_fresh(derived):
            from .sync import sync as bring_up_to_date  # noqa: PLC0415 - slow to import

            bring_up_to_date(derived, progress, with_store=True)
        if derived.store.exists():
            state = self._known(derived)
            if state.ledger.is_current:
                return state
        raise IndexFileError(
            f"{self._root} has no store yet; leave out --no-sync (sync=False) once",
            code="index_not_found",
        )

    def _mended(self, config: Config, work: Callable[[], T]) -> T:
        """Do what syncs first; after damage once more, with a store or an index made anew."""
        try:
            return work()
        except HedgerowError as error:
            damage, derived = damage_in(error), Derived.of(config)
            if damage is None:
                raise
            with locked(derived.lock), system_errors("remove", derived.folder):
                if not make_room(derived, damage):
                    raise
        return work()

    def _is_fresh(self, derived: Derived) -> bool:
        """Tell, without a lock, whether the store has surely read every file as it is now."""
        if not derived.store.exists():
            return False
        try:
            ledger = self._known(derived).ledger
            if _is_unlinked(self._opened(derived)):
                return False
            key = ("store", self._file)
            return self._check.skips(derived, ledger, key) is not None
        except IndexFileError as error:
            if not is_of_no_use(error):
                raise
            return False

    def _known(self, derived: Derived) -> NodeState:
        """Return what the store knows of the files, with what has changed since the last call."""
        store = self._opened(derived)
        of = (self._file, derived.scope)
        known = self._state  # read once: other threads replace it
        if known is None or known[0] != of:
            self._state = known = of, NodeState(Ledger.load(store.index, derived.scope))
        ledger = known[1].ledger.refreshed(store.index)
        if ledger is not known[1].ledger:
            self._state = known = of, NodeState(ledger, known[1])
        return known[1]

    def _opened(self, derived: Derived) -> Store:
        """Return the open store, opened again when its file was deleted and made anew."""
        status = derived.store.stat()
        identity = (status.st_dev, status.st_ino)
        with self._opening:
            if self._store is None or self._file != identity:
                if self._store is not None:
                    self._store.close()
                self._store = None
                check_regular(derived.store)
                store = _opened(derived.store)
                try:
                    check_ours(derived, store.index, derived.store)
                except IndexFileError:
                    store.close()
                    raise
                self._store, self._file = store, identity
            return self._store


def _opened(file: Path) -> Store:
    """Open a store to write where that can be done, and else to read."""
    try:
        return Store.open(file)
    except IndexFileError as error:
        if error.code != OLDER:
            raise
        return Store.open(file, read_only=True)


def key_of(
    names: _Names,
    paths: Callable[[], Iterable[str]],
    name: str,
    prefers: Callable[[str], bool] = lambda _: True,
) -> str:
    """Return the file that a path, a name or a title means, as in `[[name]]`.

    `names` are those of the files that count, and `paths` returns these. Of several files the only one
    that `prefers` is true of counts. Raises InvalidInputError if there is no such file
    (`unknown_node`), or still more than one (`ambiguous_node`).
    """
    found = names.candidates(checked_text(name, "key"))
    if len(found) > 1:
        found = [one for one in found if prefers(one)] or found
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise InvalidInputError(
            f"{name!r} is ambiguous: it means {shown}{more}; give the path", code="ambiguous_node"
        )
    near = get_close_matches(name, paths(), 1)
    hint = f"did you mean {near[0]!r}?" if near else "`hedgerow query all` lists what there is"
    raise InvalidInputError(
        f"there is no memory {name!r} in this root; {hint}", code="unknown_node"
    )
