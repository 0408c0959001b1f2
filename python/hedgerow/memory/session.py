"""The state of one operation on a root, which reads each file and table once (spec/memory.md,
"Operations").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cache, cached_property, partial
from itertools import starmap
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from hedgerow._checks import checked_text, shown
from hedgerow._engine import _is_linked, _Names, _Nodes
from hedgerow.errors import Fix, HedgerowError, IndexFileError, InvalidInputError
from hedgerow.ingest.source import Skip

from .config import Config
from .derived import Derived, damage_in, is_mended_by_sync, remove_damaged
from .documents import unread_files
from .files import locked, system_errors
from .index_handle import OpenedIndex
from .links import SUPERSEDED_BY, SUPERSEDES, Marks, without_attachments
from .names import check_types, type_word
from .note import now
from .operations import ListRequest
from .recall import Moment, RecallFilter
from .results import ListedMemory, MemoryList, RootGraph
from .root_files import FileCheck, FreshnessCheck
from .scope import Scope

if TYPE_CHECKING:
    from hedgerow._engine import Index, Store, _FileColumns
    from hedgerow.typing import Progress

T = TypeVar("T")

_SHOWN = 10


class Session:
    """The configuration, and the state of index and store, for the time of one operation.

    Index and store are brought up to date with the files when they are first needed, unless `sync` is
    False; after that they are read as they are. `wrote` brings up to date what the operation wrote.
    """

    def __init__(
        self, config: Config, index: OpenedIndex, check: FileCheck, scope: Scope, *, sync: bool
    ) -> None:
        self.config = config
        self.index = index
        self.scope = scope
        self._check = check
        self._files = check.files
        self._sync = sync
        self._store_due = sync
        self._index_fresh = False

    @cached_property
    def derived(self) -> Derived:
        """The paths of the derived files."""
        return Derived.of(self.config)

    def nodes(self, progress: Progress | None = None) -> _Nodes:
        """Return the state of the nodes in the store. Raises IndexFileError if there is none to read."""
        if self._store_due:
            self._store_due, self._index_fresh = False, True
            self._bring_up_to_date(progress)
        if self.derived.has_store:
            state = self._files.nodes(self.derived)
            if state.ledger.is_current:
                return state
        raise IndexFileError(
            f"{self.config.root} has no store yet",
            code="index_not_found",
            path=self.derived.store,
            fixes=(Fix("make it from the files, in a writable folder", arguments={"sync": True}),),
        )

    def titles(self, files: Iterable[str]) -> dict[str, str]:
        """Return the titles of files by path: of the front matter, else the first heading."""
        return self.nodes().titles(list(files))

    def store(self, progress: Progress | None = None) -> Store:
        """Return the open store."""
        self.nodes(progress)
        return self._files.store(self.derived)

    def mended(self, work: Callable[[], T]) -> T:
        """Work with the store; after damage once more, with a rebuilt store or index."""
        try:
            return work()
        except HedgerowError as error:
            damage = damage_in(error)
            if damage is None or not self._sync:
                raise
            with locked(self.derived.lock), system_errors("remove", self.derived.folder):
                if not remove_damaged(self.derived, damage):
                    raise
        self._store_due = True
        return work()

    def graph(self) -> RootGraph:
        """Return the links between the memories of the scope, and those that lead to no file."""

        def work() -> RootGraph:
            visible = self.visible()
            edges, unresolved = self.edges(visible)
            missing = without_attachments(unresolved, self.config.source_root)
            # A file that is not read has no scope.
            skips = starmap(Skip, self.nodes().ledger.skips) if visible is None else ()
            return RootGraph(tuple(edges), tuple(missing), tuple(skips))

        return self.mended(work)

    def edges(
        self, visible: AbstractSet[str] | None
    ) -> tuple[list[tuple[str, str, str, float]], list[tuple[str, str]]]:
        """Return the links between the visible files, as if there were no others, or between all, and
        those that lead to none.
        """
        edges, unresolved = self.nodes().edges(visible)
        if visible is None:
            # Pipelines use those of the store.
            edges = self._files.store(self.derived)._edges()  # noqa: SLF001 - of the same package
        return edges, unresolved

    def marks(self) -> Marks:
        """Return the marks that the files state."""
        return self._read(Marks.of)

    def passing(self, wanted: RecallFilter) -> frozenset[str]:
        """Return the files of the scope with the wanted types, tags and writers, in the state of the last sync.

        Raises InvalidInputError for a type that no memory has.
        """
        ids, shared = self.scope.ids, self.scope.shared
        types, tags, writers = list(wanted.types), list(wanted.tags), list(wanted.writers)

        def files(index: Index, columns: _FileColumns) -> frozenset[str]:
            if types:
                check_types(types, columns.types(index, ids, shared))
            found = columns.paths_passing(
                index, types=types, tags=tags, writers=writers, scope=ids, shared=shared
            )
            return frozenset(found)

        return self.index.read(self.config, files, sync=False)

    def visible(self, scope: Scope | None = None) -> frozenset[str] | None:
        """Return the files of the scope, or of another one; None for all."""
        wanted = self.scope if scope is None else scope
        if not wanted:
            return None
        return self._read(
            lambda index, columns: frozenset(columns.paths_in(index, wanted.ids, wanted.shared))
        )

    def _read(self, answer: Callable[[Index, _FileColumns], T]) -> T:
        """Return an answer of the index, which is brought up to date unless it just was."""
        fresh, self._index_fresh = self._index_fresh, self._sync
        return self.index.read(self.config, answer, sync=self._sync, fresh=fresh)

    def _bring_up_to_date(self, progress: Progress | None) -> None:
        """Sync index and store, unless they surely have the present state of every file."""
        looked = self._look()
        is_current = looked is not None and looked.skips is not None
        if is_current and _is_linked(self._files.store(self.derived)):
            return
        from .sync import sync  # noqa: PLC0415 - slow to import

        listing = None if looked is None else looked.listing
        sync(self.derived, progress, files=self._files, listing=listing, with_store=True)

    def _look(self) -> FreshnessCheck | None:
        """Compare the files with index and store, without a lock; None if one cannot be read."""
        derived = self.derived
        if not (derived.has_store and derived.has_index):
            return None
        try:
            ledgers = self._files.ledger(derived), self._files.nodes(derived).ledger
        except IndexFileError as error:
            if not is_mended_by_sync(error):
                raise
            return None
        return self._check.look(derived, *ledgers)

    def resolve(self, *keys: str) -> list[str]:
        """Return the path of the memory that each key means, as in `[[name]]`.

        Of several memories the one that holds counts. Raises InvalidInputError: `unknown_node` if there
        is no such memory, `ambiguous_node` if several hold, or none.
        """
        return self._resolve(keys, self.scope, ended=False)

    def own(self, *keys: str, ended: bool = False) -> list[str]:
        """Return the paths that keys mean among the memories that may be written: none is shared.

        With `ended`, of several memories the one that no longer holds counts.
        """
        try:
            return self._resolve(keys, self.scope.own, ended=ended)
        except InvalidInputError as error:
            if error.code != "unknown_node" or not (self.scope.shared and self._are_known(keys)):
                raise
            raise InvalidInputError(
                f"a memory that is shared cannot be changed from the scope of the {self.scope}; open the root "
                "without a scope",
                code="unknown_node",
            ) from None

    def _are_known(self, keys: Iterable[str]) -> bool:
        try:
            self.resolve(*keys)
        except InvalidInputError:
            return False
        return True

    def _resolve(self, keys: Iterable[str], scope: Scope, *, ended: bool) -> list[str]:
        state = self.nodes()
        visible = self.visible(scope)
        names, holds = state.names(visible), self._holding(ended=ended)
        pages = cache(partial(self.passing, RecallFilter(frozenset({"page"}))))

        skips = unread_files(state.ledger) if visible is None else ()
        unread = {one.path: one.reason for one in skips}
        return [key_of(names, key, holds, lambda path: path in pages(), unread) for key in keys]

    def _holding(self, *, ended: bool) -> Callable[[str], bool]:
        """Return a predicate: whether a memory holds now, or with `ended` no longer does."""
        return lambda path: self.marks().holds(path, now()) is not ended

    def wrote(self, paths: Sequence[str]) -> None:
        """Bring index and store up to date with files that the operation wrote.

        Raises HedgerowError if that fails; its message says that the files are written.
        """
        from .sync import sync_written  # noqa: PLC0415 - slow to import

        with after_writing(", ".join(paths)):
            sync_written(self.derived, paths, self._files, with_store=True)


@contextmanager
def after_writing(files: str) -> Iterator[None]:
    """Name the files that an operation wrote in the errors of the sync after that."""
    try:
        yield
    except HedgerowError as error:
        kind = IndexFileError if isinstance(error, IndexFileError) else HedgerowError
        message = (
            f"{error.message}. Written before that: {files}. The next recall reads all changes."
        )
        raise kind(message, code=error.code, path=error.path, key=error.key) from error


def key_of(
    names: _Names,
    name: str,
    prefers: Callable[[str], bool] = lambda _: True,
    is_page: Callable[[str], bool] = lambda _: False,
    unread: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the file that a path, a name or a title means, as in `[[name]]`, also in these brackets.

    `names` are those of the files that count. If only pages have the name, files with that title count too. Of
    several files the only one that is no page counts, then the only one that `prefers` is true of. Raises InvalidInputError if there is no such file (`unknown_node`), or still more than one
    (`ambiguous_node`). The error names the reason for one of the `unread` paths.
    """
    key = checked_text(name, "key")
    found = names.candidates(key)
    if not found and key.strip().startswith("[[") and key.strip().endswith("]]"):
        key = key.strip()[2:-2].partition("|")[0]
        found = names.candidates(key)
    if found != [key] and all(map(is_page, found)):
        found = sorted({*found, *names.by_title(key)})
    if len(found) > 1:
        found = [one for one in found if not is_page(one)] or found
        found = [one for one in found if prefers(one)] or found
    if len(found) == 1:
        return found[0]
    if found:
        first = ", ".join(found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise InvalidInputError(
            f"{shown(name)} is ambiguous: it means {first}{more}; give the path",
            code="ambiguous_node",
            key=name,
        )
    if name in unread:
        raise InvalidInputError(
            f"{shown(name)} cannot be read: {unread[name]}", code="unknown_node", key=name
        )
    near = names.nearest(name)
    hint = f"; did you mean {near!r}?" if near else ""
    raise InvalidInputError(
        f"there is no memory {shown(name)} in this root{hint}",
        code="unknown_node",
        key=name,
        fixes=() if near else (Fix("list the memories", "list"),),
    )


# Lists of the memories of a root.


def listed(root: Path, session: Session, request: ListRequest, time: Moment) -> MemoryList:
    """List memories, the last changed first, each as it is at a time."""
    store, visible = session.store(), session.visible()
    stages = "all | sort:timestamp | select:key,type,timestamp"
    rows = store.query(stages, now=0, within=visible).rows or []
    if request.superseded:
        old = _superseded(session.graph())
        rows = [row for row in rows if row[0] in old]
    types = () if request.type is None else (request.type,)
    if wanted := RecallFilter.of(types, request.tags, request.written_by, None, None, time.now):
        passing = session.passing(wanted)
        rows = [row for row in rows if row[0] in passing]
    marks = session.marks()
    for why in [name for name in ("retracted", "expired") if getattr(request, name)]:
        rows = [row for row in rows if time.validity(marks, str(row[0])).why == why]
    page = rows[request.offset : request.offset + request.limit]
    titles = session.titles(str(key) for key, _, _ in page)

    def one(file: str, of: str, timestamp: int) -> ListedMemory:
        title, validity = titles.get(file, ""), time.validity(marks, file)
        return ListedMemory(file, type_word(of), timestamp, title, validity)

    memories = tuple(one(str(key), str(of), int(at)) for key, of, at in page)
    return MemoryList(str(root), len(rows), memories)


def _superseded(graph: RootGraph) -> set[str]:
    """Return the files that a link of front matter says are superseded, on either side of it."""
    by_new = {target for _, target, relation, _ in graph.edges if relation == SUPERSEDES}
    return by_new | {source for source, _, relation, _ in graph.edges if relation == SUPERSEDED_BY}
