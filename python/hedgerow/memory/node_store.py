"""The store of a root, open: its files as nodes, queried and visited (spec/memory.md, "The store")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from hedgerow._checks import checked_text
from hedgerow._engine import Store, _is_unlinked, _Names
from hedgerow.errors import HedgerowError, IndexFileError, InvalidInputError
from hedgerow.typing import Progress

from .config import Config
from .derived import (
    Derived,
    damage_in,
    is_mended_by_sync,
    remove_damaged,
)
from .files import locked, system_errors
from .links import without_attachments
from .results import RootGraph
from .root_files import FileCheck, FreshnessCheck, NodeState

T = TypeVar("T")


_SHOWN = 10


class NodeStore:
    """The store of one root, which may be deleted and rebuilt at any time."""

    def __init__(self, root: Path, check: FileCheck) -> None:
        self._root = root
        self._check = check
        self._files = check.files

    def use(self, config: Config, work: Callable[[Store], T], *, sync: bool = True) -> T:
        """Work with the store, after bringing it up to date with `sync`; after damage once more."""

        def attempt() -> T:
            return work(self.open(config, sync=sync))

        return self._mended(config, attempt) if sync else attempt()

    def graph(self, config: Config, *, sync: bool) -> RootGraph:
        """Return all edges, and the links that lead nowhere."""

        def work() -> RootGraph:
            state = self.state(config, sync=sync)
            edges = self._files.store(Derived.of(config))._edges()  # noqa: SLF001 - of the same package
            unresolved = without_attachments(state.nodes.unresolved(), config.source_root)
            return RootGraph(tuple(edges), tuple(unresolved), tuple(state.ledger.skips))

        return self._mended(config, work) if sync else work()

    def open(self, config: Config, *, sync: bool, progress: Progress | None = None) -> Store:
        """Return the open store, up to date with `sync`."""
        self.state(config, sync=sync, progress=progress)
        return self._files.store(Derived.of(config))

    def written(self, config: Config, paths: Sequence[str]) -> None:
        """Bring index and store up to date with files that were just written."""
        from .sync import sync_written  # noqa: PLC0415 - slow to import

        sync_written(Derived.of(config), paths, self._files, with_store=True)

    def close(self) -> None:
        """Close the store; the next call opens it again."""
        self._files.close_store()

    def state(self, config: Config, *, sync: bool, progress: Progress | None = None) -> NodeState:
        """Return the state of the nodes, up to date with `sync`."""
        derived = Derived.of(config)
        if sync:
            self._bring_up_to_date(derived, progress)
        if derived.store.exists():
            state = self._files.nodes(derived)
            if state.ledger.is_current:
                return state
        raise IndexFileError(
            f"{self._root} has no store yet; leave out --no-sync (sync=False) once",
            code="index_not_found",
        )

    def _mended(self, config: Config, work: Callable[[], T]) -> T:
        """Do work that syncs first; after damage once more, with a rebuilt store or index."""
        try:
            return work()
        except HedgerowError as error:
            damage, derived = damage_in(error), Derived.of(config)
            if damage is None:
                raise
            with locked(derived.lock), system_errors("remove", derived.folder):
                if not remove_damaged(derived, damage):
                    raise
        return work()

    def _bring_up_to_date(self, derived: Derived, progress: Progress | None) -> None:
        """Sync index and store, unless they surely have the present state of every file."""
        looked = self._look(derived)
        if looked is not None and looked.skips is not None:
            files = self._files
            if not _is_unlinked(files.store(derived)):
                return
        from .sync import sync  # noqa: PLC0415 - slow to import

        listing = None if looked is None else looked.listing
        sync(derived, progress, files=self._files, listing=listing, with_store=True)

    def _look(self, derived: Derived) -> FreshnessCheck | None:
        """Compare the files with index and store, without a lock; None if one cannot be read."""
        if not (derived.store.exists() and derived.index.exists()):
            return None
        try:
            ledgers = self._files.ledger(derived), self._files.nodes(derived).ledger
        except IndexFileError as error:
            if not is_mended_by_sync(error):
                raise
            return None
        return self._check.look(derived, *ledgers)


def key_of(
    names: _Names,
    paths: Callable[[], Iterable[str]],
    name: str,
    prefers: Callable[[str], bool] = lambda _: True,
) -> str:
    """Return the file that a path, a name or a title means, as in `[[name]]`, also in these brackets.

    `names` are those of the files that count, and `paths` returns these. Of several files the only one
    that `prefers` is true of counts. Raises InvalidInputError if there is no such file
    (`unknown_node`), or still more than one (`ambiguous_node`).
    """
    found = names.candidates(checked_text(name, "key"))
    if not found and name.strip().startswith("[[") and name.strip().endswith("]]"):
        found = names.candidates(name.strip()[2:-2].partition("|")[0])
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
