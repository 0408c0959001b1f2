"""The state of one operation on a root, which reads each file and table once (spec/memory.md,
"Operations").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
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
from .links import SUPERSEDED_BY, SUPERSEDES, without_attachments
from .names import check_types, type_word
from .note import now
from .operations import ListRequest
from .recall import Moment, RecallFilter
from .results import ListedMemory, MemoryList, RootGraph
from .root_files import FileCheck, FreshnessCheck
from .scope import Scope
from .view import View

if TYPE_CHECKING:
    from hedgerow._engine import Index, Store, _FileColumns, _View
    from hedgerow.typing import Progress

T = TypeVar("T")

_SHOWN = 10


class Session:
    """The configuration of a root, and the state of its index and its store, during one operation.

    Index and store are brought up to date with the files when they are first needed, unless `sync` is
    False; after that they are read as they are. `wrote` brings up to date what the operation wrote.
    """

    def __init__(
        self, config: Config, index: OpenedIndex, check: FileCheck, scope: Scope, *, sync: bool
    ) -> None:
        self.config = config
        self.index = index
        self.scope = scope
        self._views: dict[Scope, View] = {}
        self._check = check
        self._files = check.files
        self._sync = sync
        self._store_due = sync
        self._index_fresh = False

    @cached_property
    def derived(self) -> Derived:
        """The paths of the derived files."""
        return Derived.of(self.config)

    @property
    def view(self) -> View:
        """The view of the memories that may be seen, made once."""
        return self._view_of(self.scope)

    @property
    def own(self) -> View:
        """The view of the memories that may be written: none is shared."""
        return self._view_of(self.scope.own)

    def _view_of(self, scope: Scope) -> View:
        def files(scope: Scope) -> _View:
            return self.read(lambda index, columns: columns.view(index, scope.ids, scope.shared))

        if scope not in self._views:
            self._views[scope] = View(scope, files, self.nodes, self.store)
        return self._views[scope]

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
        self._views.clear()
        return work()

    def graph(self) -> RootGraph:
        """Return the links between the memories of the scope, and those that lead to no file."""

        def work() -> RootGraph:
            edges, unresolved = self.view.nodes.edges()
            if not self.scope:
                # Pipelines use those of the store.
                edges = self._files.store(self.derived)._edges()  # noqa: SLF001 - of the same package
            missing = without_attachments(unresolved, self.config.source_root)
            # The scope of a file that cannot be read is unknown.
            skips = () if self.scope else starmap(Skip, self.nodes().ledger.skips)
            return RootGraph(tuple(edges), tuple(missing), tuple(skips))

        return self.mended(work)

    def read(self, answer: Callable[[Index, _FileColumns], T]) -> T:
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
        return self._resolve(keys, self.view, ended=False)

    def resolve_own(self, *keys: str, ended: bool = False) -> list[str]:
        """Return the paths that keys mean among the memories that may be written: none is shared.

        With `ended`, of several memories the one that no longer holds counts.
        """
        try:
            return self._resolve(keys, self.own, ended=ended)
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

    def _resolve(self, keys: Iterable[str], view: View, *, ended: bool) -> list[str]:
        skips = () if self.scope else unread_files(self.nodes().ledger)
        unread = {one.path: one.reason for one in skips}
        pages = cache(lambda: _passing(self.view, RecallFilter(frozenset({"page"}))))

        def prefers(path: str) -> bool:
            """Whether a memory holds now, or with `ended` no longer does."""
            return self.view.marks.holds(path, now()) is not ended

        def is_page(path: str) -> bool:
            return path in pages()

        return [key_of(view.names, key, prefers, is_page, unread) for key in keys]

    def wrote(self, paths: Sequence[str]) -> None:
        """Bring index and store up to date with files that the operation wrote.

        Raises HedgerowError if that fails; its message says that the files are written.
        """
        from .sync import sync_written  # noqa: PLC0415 - slow to import

        self._views.clear()
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
    several files the only one that is no page counts, then the only one that `prefers` is true of. Raises
    InvalidInputError if there is no such file (`unknown_node`), or still more than one (`ambiguous_node`). The error names the reason for one of the `unread` paths.
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
    store, view = session.store(), session.view
    stages = "all | sort:timestamp | select:key,type,timestamp"
    rows = store.query(stages, now=0, within=view.paths).rows or []
    if request.superseded:
        old = _superseded(session.graph())
        rows = [row for row in rows if row[0] in old]
    types = () if request.type is None else (request.type,)
    if wanted := RecallFilter.of(types, request.tags, request.written_by, None, None, time.now):
        passing = _passing(view, wanted)
        rows = [row for row in rows if row[0] in passing]
    marks = view.marks
    for why in [name for name in ("retracted", "expired") if getattr(request, name)]:
        rows = [row for row in rows if time.validity(marks, str(row[0])).why == why]
    page = rows[request.offset : request.offset + request.limit]
    titles = session.titles(str(key) for key, _, _ in page)

    def one(file: str, of: str, timestamp: int) -> ListedMemory:
        title, validity = titles.get(file, ""), time.validity(marks, file)
        return ListedMemory(file, type_word(of), timestamp, title, validity)

    memories = tuple(one(str(key), str(of), int(at)) for key, of, at in page)
    return MemoryList(str(root), len(rows), memories)


def _passing(view: View, wanted: RecallFilter) -> frozenset[str]:
    """Return the files with the wanted types, tags and writers.

    Raises InvalidInputError for a type that no memory has.
    """
    if wanted.types:
        check_types(wanted.types, view.files.types)
    types, tags, writers = list(wanted.types), list(wanted.tags), list(wanted.writers)
    return frozenset(view.files.paths_passing(types=types, tags=tags, writers=writers))


def _superseded(graph: RootGraph) -> set[str]:
    """Return the files that a link of front matter says are superseded, on either side of it."""
    by_new = {target for _, target, relation, _ in graph.edges if relation == SUPERSEDES}
    return by_new | {source for source, _, relation, _ in graph.edges if relation == SUPERSEDED_BY}
