"""`MemoryRoot`: a folder of Markdown memories, written, recalled and processed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow._checks import (
    checked_callable,
    checked_flag,
    checked_list,
    checked_path,
)
from hedgerow._dual import asynchronous, on_thread
from hedgerow._engine import _settled_signatures, parse_pipeline
from hedgerow._operations.operation import Request
from hedgerow._times import checked_time
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Durability, Legs, Progress, QuestionDate

from . import config
from .config import Config, InitResult, read_config, read_status
from .derived import Derived
from .edit import at_section, edit, show
from .index_handle import OpenedIndex
from .links import check_no_circle, link, restore, retract, supersede, unlink
from .names import AGENTS, CONFIG, DIRECTORIES, LEGACY_CONFIG
from .operations import (
    AuditRequest,
    ContextRequest,
    DiffRequest,
    EditRequest,
    ForgetRequest,
    GrepRequest,
    HistoryRequest,
    LinkRequest,
    LinksRequest,
    ListRequest,
    ProcessRequest,
    QueryRequest,
    RecallRequest,
    RememberRequest,
    RenameRequest,
    RestoreRequest,
    RetractRequest,
    RootOperations,
    ShowRequest,
    StatusRequest,
    SupersedeRequest,
    UnlinkRequest,
    VisitRequest,
    WhyNotRequest,
    WrapupRequest,
)  # fmt: skip
from .recall import Evidence, Moment
from .results import (
    Audit,
    Context,
    DepthPolicy,
    Diff,
    Edge,
    ForgetResult,
    GrepResult,
    History,
    LinkResult,
    Links,
    MarkResult,
    Memory,
    MemoryList,
    ProcessResult,
    Recall,
    RecallWhyNot,
    RememberResult,
    RenameResult,
    RootGraph,
    RootStatus,
    VisitResult,
    WrapupResult,
    depth_boost,
)  # fmt: skip
from .root_files import FileCheck, IndexState, index_state
from .scope import Scope
from .session import Session, after_writing, listed
from .times import HOLDS, Validity
from .trust import Choices, agent_model

if TYPE_CHECKING:
    from hedgerow._engine import Store
    from hedgerow.agents import AgentDefinition, Agents, ModelClient
    from hedgerow.embedders import AnyEmbedder
    from hedgerow.results import QueryResult

    from .imports.moving import ImportResult
    from .sync import SyncReport

__all__ = ["MemoryRoot"]

R = TypeVar("R")

_OTHER_NAMES = {"read": "show", "aread": "ashow"}


class MemoryRoot(RootOperations):
    """A folder whose Markdown files are memories (spec/memory.md).

    The files are the source of truth: people read, edit and commit them. What is derived from
    them is in `.hedgerow/`, which may be deleted at any time and is rebuilt. Threads and processes
    may use one root at the same time.

    `depth_policy` replaces the function from bucket and depth to a part of the score. Paths in
    results are relative to the indexed folder, with `/`. Raises HedgerowError with the codes of
    spec/errors.md.

    The configuration of a root decides only about the root. An embedder that it names, or a folder
    outside the root that it wants indexed, is used if the user allowed it (`hedgerow trust`) or
    with `trust=True`, and never with `trust=False`. `embedder`, an object or a name, replaces the
    one in the configuration. Whatever is not allowed is left out, and `notify` is called once for
    each, with a sentence that says how to allow it, and for each key of the configuration that does not
    exist; by default it is logged as a warning.

    With a `scope` such as `{"user": "ana"}`, whose keys are any of user, agent and session, all
    methods see and write only the memories of that scope (spec/memory.md, "Scopes"). With `shared`
    they also see memories without a scope, and do not write them. A pickled root opens the folder again,
    with the same scope and arguments.

    With `watch`, for processes that live long, a recall looks at the files only after the system has
    reported a change of one, which it does within 200 ms; `status` says whether it can.

    `durability` is that of index and store, as in `Index.open`, instead of the one in the configuration.
    Markdown files are on the disk when a method returns, whatever it is. Raises InvalidInputError for
    another word than "normal" and "full".
    """

    _real_folder = staticmethod(config.existing_root)

    def __init__(  # noqa: PLR0913 - what a root depends on
        self,
        path: str | os.PathLike[str],
        *,
        depth_policy: DepthPolicy = depth_boost,
        embedder: AnyEmbedder | str | None = None,
        trust: bool | None = None,
        notify: Callable[[str], object] | None = None,
        scope: Mapping[str, str] | None = None,
        shared: bool = False,
        watch: bool = False,
        durability: Durability | None = None,
    ) -> None:
        self._root = root = self._real_folder(path)
        self._scope = Scope.of(scope, shared=shared)
        self._choices = Choices(trust, embedder, notify, durability)
        self._depth_policy = depth_policy
        self._configured: Config | None = None
        self._stamp: list[str | None] | None = None
        self._config_files = f"{root}/{CONFIG}", f"{root}/{LEGACY_CONFIG}"
        self._check = FileCheck(watch=watch)
        checked_callable(depth_policy, "depth_policy")
        self._opened = OpenedIndex(root, depth_policy, embedder, self._check)

    if not TYPE_CHECKING:  # so that checkers of types still find misspelt names

        def __getattr__(self, name: str) -> Any:
            """Return `show` for `read`, and `ashow` for `aread`: programs of others call them so."""
            if name in _OTHER_NAMES:
                return getattr(self, _OTHER_NAMES[name])
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def open(  # noqa: PLR0913 - what a root depends on
        cls,
        path: str | os.PathLike[str],
        *,
        depth_policy: DepthPolicy = depth_boost,
        embedder: AnyEmbedder | str | None = None,
        trust: bool | None = None,
        notify: Callable[[str], object] | None = None,
        scope: Mapping[str, str] | None = None,
        shared: bool = False,
        watch: bool = False,
        durability: Durability | None = None,
    ) -> MemoryRoot:
        """Open the root at `path`, whether it was set up or not, as `MemoryRoot(path)` does.

        Raises InvalidInputError (`root_not_found`) if there is no such folder.
        """
        return cls(
            path,
            depth_policy=depth_policy,
            embedder=embedder,
            trust=trust,
            notify=notify,
            scope=scope,
            shared=shared,
            watch=watch,
            durability=durability,
        )

    @classmethod
    def init(
        cls, path: str | os.PathLike[str], *, force: bool = False, vault: bool = False
    ) -> MemoryRoot:
        """Set up a root: configuration, folders, `.gitignore`; then open it.

        A vault of Obsidian or Logseq is recognized and gets no folders; with `vault` any folder is one.

        Existing files stay; `force` writes a new configuration, but never over a newer schema.
        Raises HedgerowError for a configuration that cannot be read, without `force`, and for one
        with a newer schema.
        """
        config.initialize(path, force=force, vault=vault)
        return cls.open(path)

    @staticmethod
    def initialize(
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        embedder: str | None = None,
        vault: bool = False,
    ) -> InitResult:
        """Set up a root as `init` does, and report what was done.

        `embedder` is a name as in `hedgerow.json`, such as "local". It is used once the user allows it
        (`hedgerow trust`).
        """
        return config.initialize(path, force=force, embedder=embedder, vault=vault)

    @property
    def path(self) -> Path:
        """The folder: its absolute path, with links resolved."""
        return self._root

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self._root.name

    @property
    def scope(self) -> dict[str, str]:
        """The user, the agent and the session whose memories these are; empty for the whole root."""
        return self._scope.to_dict()

    def scoped(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        shared: bool = False,
    ) -> MemoryRoot:
        """Return the same root with only the memories of a scope; both share the open index.

        With `shared`, memories without a scope are seen as well, and never written.

        Raises InvalidInputError for a scope that is not within the scope of this root.
        """
        given = {"user": user, "agent": agent, "session": session}
        ids = {key: value for key, value in given.items() if value is not None}
        checked_flag(shared, "shared")
        wanted = Scope.of({**self.scope, **ids} if shared else ids, shared=shared)
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view._scope = self._scope.narrowed(wanted)
        return view

    def close(self) -> None:
        """Close index, store, embedder and watch, to free their files and connections.

        The root stays usable, and so do its scoped views: the next call of any method opens them again.
        """
        self._opened.close()
        self._check.files.close_store()
        self._check.close()

    def __enter__(self) -> MemoryRoot:  # noqa: PYI034 - not for subclasses
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryRoot({str(self._root)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        given = self._choices
        options = {
            "depth_policy": self._depth_policy,
            "embedder": given.embedder,
            "trust": given.trust,
            "notify": given.notify,
            "watch": self._check.watches,
            "durability": given.durability,
        }
        return (_reopened, (self._root, options, self._scope))

    # Operations that read.

    def _perform(self, request: Request[R]) -> R:
        """Carry out a request: each operation is a method with an underscore before its name."""
        done: R = getattr(self, f"_{request.operation.name}")(request)
        return done

    async def _aperform(self, request: Request[R]) -> R:
        return await on_thread(self._perform, request)

    def _recall(self, request: RecallRequest) -> Recall:
        config = self._configured
        # Looked up without a call: each costs a recall time.
        if (
            config is None
            or (config.file is None and not os.path.isdir(self._root))  # noqa: PTH112 - of each recall
            or self._stamp is None
            or self._stamp != _settled_signatures(self._config_files)
        ):
            config = self._config()
        if request.budget is not None:
            return self._with_context(request, request.budget)
        return self._opened.recall(config, request, self._scope)[0]

    def _with_context(self, request: RecallRequest, budget: int) -> Recall:
        """Return a recall with the text that `context` packs into a budget."""
        packing = ContextRequest(request.query, budget=budget)
        wider = replace(request, limit=max(request.limit, packing.limit))
        found, passages = self._opened.recall(self._config(), wider, self._scope)
        packed = self._packed(packing, found, passages)
        return replace(found, results=found.results[: request.limit], context=packed.text)

    def _context(self, request: ContextRequest) -> Context:
        return self._packed(request, *self._opened.recall(self._config(), request, self._scope))

    @staticmethod
    def _packed(request: ContextRequest, found: Recall, passages: Sequence[Evidence]) -> Context:
        from . import context  # noqa: PLC0415 - slow to import

        count = request.count_tokens or context.estimated_tokens
        return context.pack(
            found, passages, request.budget, request.per_file, count, diversify=request.diversify
        )

    def _why_not(self, request: WhyNotRequest) -> RecallWhyNot:
        from .why_not import why_not  # noqa: PLC0415 - slow to import

        return why_not(self._opened, self._session(sync=request.sync), request, self._scope)

    def _list(self, request: ListRequest) -> MemoryList:
        session = self._session(sync=request.sync)
        return listed(self._root, session, request, Moment.of(None))

    def _types(self, *, sync: bool) -> frozenset[str]:
        """Return the types of the memories of the scope, and those of every root."""
        return frozenset((*DIRECTORIES, *self._session(sync=sync).view.files.types))

    def _node_types(self, *, sync: bool = True) -> Sequence[str]:
        """Return the types that a pipeline may name."""
        return self._session(sync=sync).view.node_types

    def _grep(self, request: GrepRequest) -> GrepResult:
        return self._opened.grep(self._config(), request, self._scope)

    def _show(self, request: ShowRequest) -> Memory:
        session = self._session(sync=request.sync)
        file, request = at_section(session.resolve, request)
        return show(session.derived, file, request)

    def _history(self, request: HistoryRequest) -> History:
        from .history import history  # noqa: PLC0415 - slow to import

        session = self._session(sync=request.sync)
        [file] = session.resolve(request.key)
        return history(self._root, session, file, request.limit)

    def _diff(self, request: DiffRequest) -> Diff:
        from .diff import diff  # noqa: PLC0415 - slow to import

        session = self._session(sync=request.sync)
        [file] = session.resolve(request.key)
        return diff(self._root, session, file, request)

    def _links(self, request: LinksRequest) -> Links:
        from hedgerow._graph.figures import around  # noqa: PLC0415 - slow to import

        session = self._session(sync=request.sync)
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
        self._check_exists()
        return replace(read_status(self._root, self._choices), watch=self._check.state)

    def resolve(self, key: str, *, sync: bool = True) -> str:
        """Return the path of the memory that a path, a name or a title means, as in `[[name]]`.

        Of several memories the one that holds counts. Raises InvalidInputError: `unknown_node` if
        there is no such memory, `ambiguous_node` if several hold, or none.
        """
        return self._session(sync=sync).resolve(key)[0]

    aresolve = asynchronous(resolve)

    def _query(self, request: QueryRequest) -> QueryResult:
        session, legs = self._session(sync=request.sync), self._legs(sync=request.sync)

        def work() -> QueryResult:
            options: dict[str, Any] = {
                "now": request.now,
                "terms": request.terms or None,
                "legs": legs,
                "explain": request.explain,
            }
            store, pipeline = session.store(), request.pipeline
            if not self._scope:
                return store.query(pipeline, **options)
            view = session.view
            if isinstance(pipeline, str):
                terms = options.pop("terms")
                pipeline = parse_pipeline(pipeline, terms=terms, types=view.node_types)
                options["terms"] = None
            return store._query_within(pipeline, view.nodes, **options)  # noqa: SLF001 - of the package

        return session.mended(work)

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

    agraph = asynchronous(graph)

    def validity(
        self, key: str, *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> Validity:
        """Return whether a memory holds, now or at `as_of`, and why not.

        `key` is a path, a name or a title. Raises InvalidInputError as `resolve` does.
        """
        session = self._session(sync=sync)
        [path] = session.resolve(key)
        return Moment.of(as_of).validity(session.view.marks, path)

    avalidity = asynchronous(validity)

    def validities(
        self, keys: Iterable[str], *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> dict[str, Validity]:
        """Return the validity, now or at `as_of`, of each memory with marks that count, by path.

        `keys` are paths as in results; those that mean no memory are ignored.
        """
        wanted = checked_list(keys, "keys", "invalid_option")
        return self._validities(self._session(sync=sync), wanted, as_of)

    avalidities = asynchronous(validities)

    def _validities(
        self, session: Session, keys: Iterable[str], as_of: QuestionDate | None
    ) -> dict[str, Validity]:
        at, marks = Moment.of(as_of), session.view.marks
        found = {key: at.validity(marks, key) for key in keys}
        return {key: validity for key, validity in found.items() if validity != HOLDS}

    # Operations that write.

    def _remember(self, request: RememberRequest) -> RememberResult:
        from .remembering import remember  # noqa: PLC0415 - slow to import

        return remember(self._session(), request, self._check.files)

    def _wrapup(self, request: WrapupRequest) -> WrapupResult:
        from .remembering import wrapup  # noqa: PLC0415 - slow to import

        recall = lambda topic, most: self.recall(topic, limit=most)  # noqa: E731
        return wrapup(self._session(), request, self._check.files, recall)

    def _process(self, request: ProcessRequest) -> ProcessResult:
        from .process import Run  # noqa: PLC0415 - slow to import

        def recalled(topic: str, count: int) -> list[str]:
            return [one.file for one in self.recall(topic, limit=count, depth="deep")]

        return Run(self._derived(), request, self._scope).result(recalled)

    def _edit(self, request: EditRequest) -> Memory:
        session = self._session()
        file, request = at_section(session.resolve_own, request)
        done = edit(session.derived, file, request, self._scope.own)
        session.wrote([file])
        return done

    def _rename(self, request: RenameRequest) -> RenameResult:
        from . import rename as renaming  # noqa: PLC0415 - slow to import

        session = self._session()
        [path] = session.resolve_own(request.key)
        new = renaming.new_path(session.derived, path, request.to)
        changed, by_hand = renaming.rename(session, path, new)
        with after_writing(f"{new}, renamed from {path}"):
            title = self._session().titles([new]).get(new)
        return RenameResult(str(self._root), path, new, tuple(changed), tuple(by_hand), title)

    def _supersede(self, request: SupersedeRequest) -> MarkResult:
        from .remembering import (  # noqa: PLC0415 - slow to import
            check_no_secret,
            one_writer,
            remember_instead,
        )

        check_no_secret(request.text or "", allowed=request.allow_secret)
        session = self._session()
        if request.by is not None:
            old, new = session.resolve_own(request.old, request.by)
            check_no_circle(session.view.marks, old, new)
            return self._marked(session, old, supersede(session.derived, old, new))
        # The name is looked up under the lock: another process may have superseded the memory.
        with one_writer(session.derived):
            [old] = session.resolve_own(request.old)
            new, changed, similar = remember_instead(session, old, request, request.text or "")
            return replace(self._marked(session, old, changed, new), similar=similar)

    def _retract(self, request: RetractRequest) -> MarkResult:
        session = self._session()
        [path] = session.resolve_own(request.key)
        return self._marked(session, path, retract(session.derived, path, request.reason))

    def _restore(self, request: RestoreRequest) -> MarkResult:
        session = self._session()
        [path] = session.resolve_own(request.key, ended=True)
        view, own = session.view, session.own
        said = view.marks.said_to_supersede(path)
        # A shared memory is not written, and a name may lead to no file.
        news = [one for one in said if own.has(one) or not view.has(one)]
        changed, removed = restore(session.derived, view, path, news)
        return replace(self._marked(session, path, changed), removed=tuple(removed))

    def _marked(
        self, session: Session, path: str, changed: list[str], written: str | None = None
    ) -> MarkResult:
        """Sync, and return the result for a memory that was marked."""
        session.wrote([*changed, *([] if written is None else [written])])
        validity = Moment.of(None).validity(session.view.marks, path)
        return MarkResult(str(self._root), path, tuple(changed), validity, written)

    def _forget(self, request: ForgetRequest) -> ForgetResult:
        from .rename import forget  # noqa: PLC0415 - slow to import

        session = self._session()
        [path] = session.resolve_own(request.key)
        named_by = [one for one in session.view.nodes.linking_to(path) if one != path]
        return forget(session.derived, path, named_by, session.view)

    def _link(self, request: LinkRequest) -> LinkResult:
        session = self._session()
        a, b = *session.resolve_own(request.a), *session.resolve(request.b)
        link(session.derived, session.view, a, b, request)
        session.wrote([a])
        return LinkResult(str(self._root), a, b, request.rel, strength=request.strength)

    def _unlink(self, request: UnlinkRequest) -> LinkResult:
        session = self._session()
        a, b = *session.resolve_own(request.a), *session.resolve(request.b)
        removed = unlink(session.derived, session.view, a, b, relation=request.rel)
        session.wrote([a])
        return LinkResult(str(self._root), a, b, request.rel, removed=removed)

    def _visit(self, request: VisitRequest) -> VisitResult:
        session = self._session()
        keys: Sequence[str] = session.resolve(*request.keys)
        at = int(time.time()) if request.at is None else checked_time(request.at, "at")
        agent, outcome = request.agent, request.outcome
        visits = [(agent, key, at, outcome) for key in keys]
        session.mended(lambda: session.store().visit_many(visits))
        return VisitResult(str(self._root), agent, at, outcome, tuple(keys))

    def agents(
        self,
        model: ModelClient | None = None,
        folder: str | os.PathLike[str] | None = None,
        *,
        refuses: Callable[[AgentDefinition], str | None] | None = None,
    ) -> Agents:
        """Put agents to work on the memories (spec/memory.md, "Agents").

        `folder` has their definitions, by default `agents` in the root; `model` answers their
        prompts. `refuses` is that of `Agents`. Close the root when they are done.
        """
        self._check_whole("agents")
        from hedgerow.agents import Agents  # noqa: PLC0415 - slow to import

        from .agents import RootWorkspace  # noqa: PLC0415 - slow to import

        definitions = self._root / AGENTS if folder is None else checked_path(folder, "folder")
        return Agents(RootWorkspace(self), definitions, model, refuses=refuses)

    def refuses_model(self, definition: AgentDefinition) -> str | None:
        """Return why an agent may not use its model at OpenAI, as a sentence; None if it may.

        The agents of a root choose a model and what is sent to it, so the user has to allow each
        model (spec/memory.md, "Trust").
        """
        refused = self._choices.refused([agent_model(self._root, definition.model)])
        return refused[0].notice if refused else None

    # The index, imports and the state of the root.

    def sync(self, *, progress: Progress | None = None, allow_empty: bool = False) -> SyncReport:
        """Bring the index up to date with the files, and its vectors if there is an embedder.

        `progress(done, total)` is called as files are read, and then as chunks are embedded. Only
        what changed is read. A file that cannot be read is named in the report. If the embedder
        fails, its error is raised; keyword search is up to date nevertheless.

        Raises InvalidInputError (`nothing_found`) if the index knows several memories and the root
        has none, since its disk may not be mounted; `allow_empty` drops them from the index.
        """
        from .sync import sync  # noqa: PLC0415 - slow to import

        checked_flag(allow_empty, "allow_empty")
        self._check_whole("sync")
        found = self._config()
        report = sync(Derived.of(found), progress, files=self._check.files, allow_empty=allow_empty)
        self._opened.embed(found, progress)
        return report

    def index(self, *, progress: Progress | None = None, allow_empty: bool = False) -> SyncReport:
        """Sync, and write the manifest `.hedgerow/index.json` for other programs."""
        from .sync import write_manifest  # noqa: PLC0415 - slow to import

        report = self.sync(progress=progress, allow_empty=allow_empty)
        write_manifest(self._derived())
        return report

    aindex = asynchronous(index)

    def import_from(
        self,
        source: str | os.PathLike[str],
        format: str,  # noqa: A002 - what the command calls it
        *,
        apply: bool = False,
        progress: Progress | None = None,
    ) -> ImportResult:
        """Read the memories of another tool from `source`, a file or a folder.

        `format` is obsidian, basic-memory, mem0, chatgpt, claude,
        claude-code, codex or jsonl (spec/memory.md, "Moving
        in"). Without `apply` nothing is written, and the result is a plan. A later import rewrites
        what has changed in the export, and leaves what was edited here. `progress(done, total)`
        counts memories.

        Raises InvalidInputError (`invalid_export`) for a source that cannot be read in that format.
        """
        from .imports.moving import move  # noqa: PLC0415 - slow to import

        checked_flag(apply, "apply")
        self._check_whole("import_from")
        done = move(self._derived(), format, checked_path(source, "source"), progress, apply=apply)
        if apply:
            count = done.counts.get("new", 0) + done.counts.get("changed", 0)
            with after_writing(f"{count} imported files"):
                self.sync(allow_empty=True)
        return done

    aimport_from = asynchronous(import_from)

    def index_state(self) -> IndexState | None:
        """Return how many documents the index has and how many files differ; None without one."""
        self._check_whole("index_state")
        return index_state(self._derived())

    @property
    def retrieval(self) -> str:
        """How memories are found: `keywords`, or `hybrid` with the embedder that is configured."""
        name = self._config().embedder
        return "keywords" if name is None else f"hybrid, with {name}"

    def _session(self, *, sync: bool = True) -> Session:
        """Begin an operation."""
        checked_flag(sync, "sync")
        return Session(self._config(), self._opened, self._check, self._scope, sync=sync)

    def _check_whole(self, method: str) -> None:
        """Raise InvalidInputError for a method that concerns the whole root, if there is a scope."""
        if self._scope:
            raise InvalidInputError(
                f"{method} is about the whole root, not about the {self._scope}; open the root "
                "without a scope",
                code="incompatible_options",
            )

    def _legs(self, *, sync: bool = True) -> Legs:
        """Return the search behind the stages `search` and `rank` of a pipeline, which finds as a recall does."""
        found = self._config()
        return lambda query, leg: self._opened.leg(found, query, leg, self._scope, sync=sync)

    def _config(self) -> Config:
        """Return the configuration, read again if it may have changed; HedgerowError if we cannot use it.

        Returns the same object until the configuration changes. Raises InvalidInputError if the folder is gone, which
        a write would otherwise make again.
        """
        self._check_exists()
        stamp = _settled_signatures(self._config_files)
        if stamp is not None and stamp == self._stamp and self._configured is not None:
            return self._configured
        found = read_config(self._root, self._choices)
        found.check()
        self._choices.tell([*(one.notice for one in found.not_allowed), *found.notices])
        if self._configured is None or found != self._configured:
            self._configured = found
        # Consents and the target of an indexRoot may change without a change of the file.
        is_alone = not found.requests and found.source_root == found.root
        self._stamp = stamp if is_alone else None
        return self._configured

    def _check_exists(self) -> None:
        """Raise InvalidInputError (`root_not_found`) if the folder is gone."""
        if not os.path.isdir(self._root):  # noqa: PTH112 - of each call
            config.existing_root(self._root)

    def _derived(self) -> Derived:
        return Derived.of(self._config())


def _reopened(path: Path, options: dict[str, Any], scope: Scope) -> MemoryRoot:
    root = MemoryRoot(path, **options)
    root._scope = scope  # noqa: SLF001 - of this module
    return root
