"""The operations of a root that read: what it knows, its memories, their links and what holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow._checks import checked_flag, checked_list
from hedgerow._dual import Call, Steps, arun
from hedgerow._engine import _settled_signatures
from hedgerow._operations.operation import Request
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Legs, Progress, QuestionDate, Time

from .config import Config, read_config, read_status
from .derived import Derived
from .index_handle import OpenedIndex
from .node_store import NodeStore
from .operations import (
    AuditRequest,
    ContextRequest,
    DiffRequest,
    GrepRequest,
    HistoryRequest,
    LinksRequest,
    ListRequest,
    RecallRequest,
    RootOperations,
    ShowRequest,
    StatusRequest,
)
from .recall import Moment, resolved_options
from .results import (
    Audit,
    Context,
    Diff,
    Edge,
    GrepResult,
    History,
    Links,
    Memory,
    MemoryList,
    Recall,
    RootGraph,
    RootStatus,
)
from .root_files import FileCheck
from .scope import Scope
from .session import Session
from .times import HOLDS, Validity
from .trust import Choices

if TYPE_CHECKING:
    from hedgerow._engine import Pipeline, Store
    from hedgerow.results import QueryResult

    from .why_not import RecallWhyNot

R = TypeVar("R")


class RootReads(RootOperations):
    """The part of `MemoryRoot` that reads."""

    _root: Path
    _scope: Scope
    _choices: Choices
    _check: FileCheck
    _opened: OpenedIndex
    _nodes: NodeStore
    _configured: Config | None
    _stamp: list[str | None] | None
    _config_files: tuple[str, str]

    def _perform(self, request: Request[R]) -> R:
        """Carry out a request: each operation is a method with an underscore before its name."""
        done: R = getattr(self, f"_{request.operation.name}")(request)
        return done

    async def _aperform(self, request: Request[R]) -> R:
        def steps() -> Steps[R]:
            done: R = yield Call(self._perform, request)
            return done

        return await arun(steps())

    def _recall(self, request: RecallRequest) -> Recall:
        config = self._configured
        # Looked up without a call: each costs a recall time.
        if (
            config is None
            or self._stamp is None
            or self._stamp != _settled_signatures(self._config_files)
        ):
            config = self._config()
        explains = request.explain
        return self._opened.recall(config, request, self._scope, is_explained=explains)[0]

    def _context(self, request: ContextRequest) -> Context:
        from . import context  # noqa: PLC0415 - slow to import

        found, passages = self._opened.recall(
            self._config(), request, self._scope, with_evidence=True
        )
        count = request.count_tokens or context.estimated_tokens
        return context.pack(
            found, passages, request.budget, request.per_file, count, diversify=request.diversify
        )

    def _list(self, request: ListRequest) -> MemoryList:
        from .session import listed  # noqa: PLC0415 - slow to import

        session = self._session()
        return listed(self._root, session, request, Moment.of(None, self._scope))

    def _grep(self, request: GrepRequest) -> GrepResult:
        return self._opened.grep(self._config(), request, self._scope)

    def _show(self, request: ShowRequest) -> Memory:
        from .edit import at_section, show  # noqa: PLC0415 - slow to import

        session = self._session()
        file, request = at_section(session.resolve, request)
        return show(session.derived, file, request)

    def _history(self, request: HistoryRequest) -> History:
        from .history import history  # noqa: PLC0415 - slow to import

        session = self._session()
        [file] = session.resolve(request.key)
        return history(self._root, session, file, request.limit)

    def _diff(self, request: DiffRequest) -> Diff:
        from .history import diff  # noqa: PLC0415 - slow to import

        session = self._session()
        [file] = session.resolve(request.key)
        return diff(self._root, session, file, request)

    def _links(self, request: LinksRequest) -> Links:
        from hedgerow._graph.figures import around  # noqa: PLC0415 - slow to import

        session = self._session()
        [key] = session.resolve(request.key)
        graph = session.graph()
        part = around(graph.edges, key, hops=request.hops, most=request.limit)
        return Links(
            str(self._root),
            key,
            part.hops,
            tuple(Edge(*edge) for edge in part.edges),
            part.left_out,
            tuple(to for file, to in graph.unresolved if file == key),
            self._validities(session, part.hops, None),
            session.titles(part.hops),
        )

    def _audit(self, _: AuditRequest) -> Audit:
        from .process import audit_root  # noqa: PLC0415 - slow to import

        return audit_root(self._derived(), self._scope)

    def _status(self, _: StatusRequest) -> RootStatus:
        return replace(read_status(self._root, self._choices), watch=self._check.state)

    def resolve(self, key: str, *, sync: bool = True) -> str:
        """Return the path of the memory that a path, a name or a title means, as in `[[name]]`.

        Of several memories the one that holds counts. Raises InvalidInputError: `unknown_node` if
        there is no such memory, `ambiguous_node` if several hold, or none.
        """
        return self._session(sync=sync).resolve(key)[0]

    def why_not(self, query: str, key: str, *, sync: bool = True, **options: Any) -> RecallWhyNot:
        """Return why a memory is not among the results of `recall`, which takes the same options.

        `key` is a path, a name or a title. `str()` of the answer is the reason in words. Searches without
        a limit, so its time grows with the size of the root. Raises InvalidInputError as `resolve` and
        `recall` do.
        """
        from .why_not import why_not  # noqa: PLC0415 - slow to import

        request = RecallRequest(query, **options, sync=False)
        resolved_options(request)  # raises for a date that does not exist, before a sync
        session = self._session(sync=sync)
        session.nodes()
        # No name can mean a file that cannot be read.
        unreadable = [] if self._scope else self._opened.unreadable(session.config)
        is_path = any(skip.path == key for skip in unreadable)
        file = key if is_path else session.resolve(key)[0]
        return why_not(self._opened, session.config, request, self._scope, file)

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
        checked_flag(explain, "explain")
        session, legs = self._session(sync=sync), self._legs(sync=sync)
        within = session.visible()

        def work(store: Store) -> QueryResult:
            return store.query(
                pipeline, now=now, terms=terms, legs=legs, explain=explain, within=within
            )

        return self._nodes.use(session.config, work, sync=sync)

    def store(self, *, sync: bool = True, progress: Progress | None = None) -> Store:
        """Return the open store whose nodes are the files, up to date with `sync`.

        It is for reading, and for recording visits; nodes and edges are changed by editing the
        files. It is closed with the root. `progress(done, total)` is called as files are read.
        Raises InvalidInputError (`incompatible_options`) for a root with a scope.
        """
        self._check_whole("store")
        return self._session(sync=sync).store(progress)

    def graph(self, *, sync: bool = True) -> RootGraph:
        """Return the links between memories, and those that lead to no file."""
        return self._session(sync=sync).graph()

    def validity(
        self, key: str, *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> Validity:
        """Return whether a memory holds, now or at `as_of`, and why not.

        `key` is a path, a name or a title. Raises InvalidInputError as `resolve` does.
        """
        session = self._session(sync=sync)
        [path] = session.resolve(key)
        return Moment.of(as_of, self._scope).validity(session.marks(), path)

    def validities(
        self, keys: Iterable[str], *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> dict[str, Validity]:
        """Return the validity, now or at `as_of`, of each memory with marks that count, by path.

        `keys` are paths as in results; those that mean no memory are ignored.
        """
        wanted = checked_list(keys, "keys", "invalid_option")
        return self._validities(self._session(sync=sync), wanted, as_of)

    def _validities(
        self, session: Session, keys: Iterable[str], as_of: QuestionDate | None
    ) -> dict[str, Validity]:
        at, marks = Moment.of(as_of, self._scope), session.marks()
        seen = (key for key in keys if self._scope.has(marks.scope(key)))
        found = {key: at.validity(marks, key) for key in seen}
        return {key: validity for key, validity in found.items() if validity != HOLDS}

    def _session(self, *, sync: bool = True) -> Session:
        """Begin an operation."""
        checked_flag(sync, "sync")
        return Session(self._config(), self._opened, self._nodes, self._scope, sync=sync)

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
        """Return the configuration, read again if it may have changed; HedgerowError if we cannot use it.

        Returns the same object until the configuration changes.
        """
        stamp = _settled_signatures(self._config_files)
        if stamp is not None and stamp == self._stamp and self._configured is not None:
            return self._configured
        found = read_config(self._root, self._choices)
        found.check()
        self._choices.tell(found.not_allowed)
        if self._configured is None or found != self._configured:
            self._configured = found
        # Consents and the target of an indexRoot may change without a change of the file.
        is_alone = not found.requests and found.source_root == found.root
        self._stamp = stamp if is_alone else None
        return self._configured

    def _derived(self) -> Derived:
        return Derived.of(self._config())
