"""The index of a root, open for reading, and its embedder: kept from one recall to the next."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hedgerow._dual import run
from hedgerow._engine import (
    Index,
    Searcher,
    SearchOptions,
    Stop,
    _check_query,
    _FileCheck,
    _FileColumns,
    _Ledger,
    _Listing,
    _Recall,
    _View,
    _Watch,
)
from hedgerow._retrieval import observing
from hedgerow._retrieval.operations import SearchRequest
from hedgerow._retrieval.operations import WhyNotRequest as SearchWhyNot
from hedgerow._retrieval.searching import Stages
from hedgerow._retrieval.why_not import looking
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import HedgerowError, IndexFileError, InvalidInputError
from hedgerow.ingest.source import Skip
from hedgerow.ranking import Ranking
from hedgerow.results import Trace
from hedgerow.retriever import Retriever
from hedgerow.typing import Progress

from . import recall as recalling
from . import vectors
from .config import Config
from .derived import (
    FOREIGN,
    REBUILD,
    TOKENIZER,
    Derived,
    damage_in,
    identity_of,
    is_mended_by_sync,
    is_of_no_use,
)
from .documents import CODES, conflict_copies, notices_of, unread_files
from .names import check_types
from .note import now
from .operations import ContextRequest, GrepRequest, RecallOptions, RecallRequest
from .recall import ANY, Evidence, RecallFilter
from .results import BOOSTS, About, DepthPolicy, GrepResult, LineMatch, Recall, depth_boost
from .root_files import FileCheck, FreshnessCheck
from .scope import Scope
from .times import TICK, micros_of

if TYPE_CHECKING:
    from datetime import datetime

    from hedgerow._engine import _RecallTuple
    from hedgerow.why_not import WhyNot


_logger = logging.getLogger("hedgerow.memory")

T = TypeVar("T")

_RETRY = 60.0
"""Seconds after which a model that could not be loaded is tried again: loading may take long."""


@dataclass(frozen=True, slots=True)
class _State:
    """The open index as of one state of its files, for the next recalls."""

    config: Config
    file: str
    identity: tuple[int, int] | None
    index: Index
    ledger: _Ledger
    skips: list[Skip]
    check: _FileCheck
    watch: tuple[_Watch, ...]
    columns: _FileColumns
    stages: Stages
    has_model: bool


@dataclass(frozen=True, slots=True)
class _Done:
    """The answer of the engine, with the filters of the search."""

    answer: Any
    is_plain: bool
    results: list[_RecallTuple]
    left_out: list[tuple[str, int]]
    about: list[tuple[str, str, str]]
    divided: list[str]
    evidence: list[tuple[str, int, float, int, str]]
    wanted: RecallFilter
    as_of: datetime | None
    problem: str | None


def _is_visible(state: _State, scope: Scope, path: str) -> bool:
    """Whether a memory of the scope has a path."""
    return path in state.columns.view(state.index, scope.ids, scope.shared).paths


_DEFAULTS = [
    (one.name, one.default) for one in fields(RecallOptions) if one.name not in {"query", "sync"}
]
"""The options of a recall that may need resolving."""


class OpenedIndex:
    """Searches the index of one root, which may be deleted and rebuilt at any time."""

    def __init__(
        self,
        root: Path,
        policy: DepthPolicy,
        embedder: AnyEmbedder | str | None,
        check: FileCheck,
    ) -> None:
        """`embedder`, where it is an object, is the caller's, who closes it."""
        self._root = root
        self._name = str(root)
        self._check = check
        self._given = None if isinstance(embedder, str) else embedder
        self._policy = policy
        self._opening = threading.RLock()
        self._state: _State | None = None
        self._files = check.files
        self._columns: tuple[Index | None, _FileColumns] = None, _FileColumns()
        self._stages: tuple[Index, AnyEmbedder | None, Stages] | None = None
        self._embedder: AnyEmbedder | None = None
        self._embedder_name: str | None = None
        self._model_failed_at: float | None = None
        self._model_problem: str | None = None

    def recall(  # noqa: C901 - in one function: each call costs a recall time
        self,
        config: Config,
        request: RecallRequest | ContextRequest,
        scope: Scope,
        *,
        is_repeat: bool = False,
    ) -> tuple[Recall, list[Evidence]]:
        """Search, after bringing the index up to date with `sync`; a damaged index is rebuilt, once.

        For a context also returns the passages of the recalled files, best first. Raises
        InvalidInputError for a blank query or a date that does not exist.
        """
        query, sync = request.query, request.sync
        if not query.strip():
            raise InvalidInputError(
                "there is nothing to search for: the query is blank", code="invalid_option"
            )
        # Each call costs a recall time: the options of most recalls are the defaults.
        options = recalling.PLAIN
        for name, default in _DEFAULTS:
            if getattr(request, name) != default:
                options = recalling.resolved_options(request)
                break
        # What was open at the last one is looked up without any.
        state, listing, skips = self._state, None, None
        if (
            state is not None
            and state.config is config
            and (not sync or state.index.tokenizer == TOKENIZER)
            and state.watch is self._check.active
            and (not state.watch or state.watch[0].changes is not None)
        ):
            try:
                status = os.stat(state.file)  # noqa: PTH116 - of each recall
                is_same = (status.st_dev, status.st_ino) == state.identity
                if is_same and state.check.is_same(state.index):
                    skips, listing = state.check.look(*state.watch) if sync else ([], None)
            except (OSError, HedgerowError):
                pass  # A closed index is opened again, and other errors are reported, by the longer way.
        if state is None or skips is None:
            state, unreadable = None, self._brought_up_to_date(config, listing, sync=sync)
        else:
            unreadable = [*starmap(Skip, skips), *state.skips]
        # Of this file, not of one that takes its place, errors may say that it is damaged.
        file = identity_of(Derived.of(config).index) if state is None else state.identity
        try:
            if state is None:
                state = self._state_of(config, file)
            done = self._search(state, request, options, scope)
        except HedgerowError as error:
            if is_repeat:
                raise
            self._rebuild(Derived.of(config), error, file, sync=sync)
            return self.recall(config, request, scope, is_repeat=True)
        found = self._found(state, request, scope, done, unreadable)
        return found, [Evidence(*one) for one in done.evidence]

    def _search(
        self,
        state: _State,
        request: RecallRequest | ContextRequest,
        options: recalling.Options,
        scope: Scope,
    ) -> _Done:
        """Search in one call of the engine."""
        query, sync = request.query, request.sync
        ids, problem = (scope.user, scope.agent, scope.session), None  # without a call
        wanted, as_of = options.wanted, options.as_of
        if wanted.types:
            view = state.columns.view(state.index, ids, scope.shared)
            check_types(wanted.types, view.types)
        stages = state.stages
        if state.has_model:
            embedder, problem = self._ready_model(state.config, sync=sync)
            stages = self._stages_of(state.index, embedder)
        depths = (
            BOOSTS[request.depth]
            if self._policy is depth_boost
            else recalling.depths(
                self._policy,
                request.depth,
                state.columns.view(state.index, ids, scope.shared).buckets,
            )
        )
        at = time.time_ns() // 1000 if as_of is None else micros_of(as_of)
        after, before = recalling.bounds(wanted) if wanted is not ANY else (None, None)
        call = _Recall(
            state.columns,
            stages.searcher,
            query,
            min(request.limit, sys.maxsize),
            types=list(wanted.types),
            tags=list(wanted.tags),
            writers=list(wanted.writers),
            after=after,
            before=before,
            scope=ids,
            shared=scope.shared,
            at=at,
            was_known=as_of is not None,
            include_superseded=request.include_superseded,
            depths=depths[0],
            other_depth=depths[1],
            half_life=None if options.half_life is None else options.half_life // TICK,
            with_evidence=request.budget is not None,
            asked=options.asked or (at, time.localtime().tm_gmtoff),
        )
        most = max(recalling.AT_LEAST, recalling.DEEPER * request.limit)
        most = min(most, sys.maxsize)
        answer: Any
        is_plain = stages.embedder is None and observing.current is None
        if is_plain:
            # The stages of a search by keywords are its check and the search.
            _check_query(query)
            asked = SearchOptions("auto", most, most, None, True, None, "path", request.asker, None)
            [answer] = call.search((query,), (None,), None, None, 0.0, asked, 1, Stop(), None)
            if isinstance(answer, HedgerowError) or answer.error is not None:
                answer, is_plain = stages.answer(0, most, answer, None), False
                if isinstance(answer, HedgerowError):
                    raise answer
        else:
            search = SearchRequest(
                query,
                limit=most,
                candidates=most,
                group_by="path",
                skip_retry_ladder=True,
                asker=request.asker,
            )
            # It searches as a Searcher does, and scores what it finds.
            answer = run(replace(stages, searcher=cast("Searcher", call)).search(search))
        if sync and answer.error is not None:
            recalling.raise_damage(answer.error)
        results, left_out, about, divided, evidence = call.results()
        return _Done(
            answer, is_plain, results, left_out, about, divided, evidence, wanted, as_of, problem
        )

    def _found(
        self,
        state: _State,
        request: RecallRequest | ContextRequest,
        scope: Scope,
        done: _Done,
        unreadable: list[Skip],
    ) -> Recall:
        """Return the result of a recall from the answer of the engine."""
        answer, config = done.answer, state.config
        is_explained = isinstance(request, RecallRequest) and request.explain
        trace: Trace | None = answer.trace if is_explained or not done.is_plain else None
        how = "keywords" if done.is_plain or trace is None else recalling.how_found(trace)
        results = tuple([recalling.recalled(one, request.depth, how) for one in done.results])
        notices = [*(one.notice for one in config.not_allowed), *config.notices]
        notices += answer.notices if trace is None else trace.notices
        if done.problem is not None:
            notices.append(done.problem)
        notices += done.divided
        files = [one.file for one in results]
        notices += map(str, conflict_copies(files, partial(_is_visible, state, scope)))
        if unreadable:
            filtered, whole = bool(done.wanted), not scope
            notices += notices_of(unreadable, files, filtered=filtered, whole=whole)
        # Nobody knows whose a file is that cannot be read.
        named = () if scope else tuple(one for one in unreadable if one.code not in CODES)
        return Recall(
            self._name,
            request.query,
            request.depth,
            results,
            unreadable=named,
            notices=tuple(notices),
            not_allowed=config.not_allowed,
            left_out=dict(done.left_out),
            as_of=done.as_of,
            about=tuple([About(*one) for one in done.about]),
            trace=trace if is_explained else None,
        )

    def _brought_up_to_date(
        self, config: Config, listing: _Listing | None, *, sync: bool
    ) -> list[Skip]:
        """Bring the index up to date with `sync`. Returns the files that it could not read.

        `listing` has the files of the root, if they were listed a moment ago.
        """
        derived = Derived.of(config)
        looked = FreshnessCheck(None, listing)
        if listing is None or not derived.is_writable:
            looked = self._look(derived, sync=sync)
        if looked.skips is not None:
            return looked.skips
        from .sync import sync as bring_up_to_date  # noqa: PLC0415 - slow to import

        return bring_up_to_date(derived, files=self._files, listing=looked.listing).skips

    def _state_of(self, config: Config, file: tuple[int, int] | None) -> _State:
        """Return the open index, kept for the next recalls as long as nothing changes."""
        derived = Derived.of(config)
        index = self._files.index(derived, file)
        ledger = self._files.ledger_of(derived, index)
        known = self._state
        if known is not None and known.config is config and known.ledger is ledger:
            return known
        has_model = self._given is not None or config.embedder is not None
        if not has_model:
            self._model(config)  # closes that of an earlier configuration
        watch = self._check.watch(derived)
        state = _State(
            config,
            str(derived.index),
            file,
            index,
            ledger,
            list(starmap(Skip, ledger.skips)),
            _FileCheck(ledger, derived.source_root, derived.rules.compiled),
            watch,
            self._columns_of(index),
            self._stages_of(index, None),
            has_model,
        )
        # Files of several roots have no listing of their own, the rules of a vault depend on its files,
        # and a watch that ended is begun again.
        is_watched = bool(watch) or not self._check.watches
        is_kept = not derived.members and config.vault is None and is_watched
        self._state = state if is_kept else None
        return state

    def grep(self, config: Config, request: GrepRequest, scope: Scope) -> GrepResult:
        """Search the files of a scope for a pattern, after bringing the index up to date with `sync`."""
        wanted = RecallFilter.of(request.types, request.tags, (), None, None, now())

        def search(index: Index, columns: _FileColumns) -> GrepResult:
            view = columns.view(index, scope.ids, scope.shared)
            if wanted.types:
                check_types(wanted.types, view.types)
            lines, count, files, skips = view.grep(
                config.source_root,
                request.pattern,
                regex=request.regex,
                ignore_case=request.ignore_case,
                types=list(wanted.types),
                tags=list(wanted.tags),
                limit=min(request.limit, sys.maxsize),
                context=request.context,
            )
            matches = tuple(
                LineMatch(file, line, text, tuple(before), tuple(after))
                for file, line, text, before, after in lines
            )
            unreadable = tuple(Skip(*skip) for skip in skips)
            return GrepResult(self._name, count, files, matches, unreadable)

        found, skips = self._current(config, search, sync=request.sync)
        # A file that the index could not read either is in both.
        named = {skip.path: skip for skip in (*found.unreadable, *([] if scope else skips))}
        unread = (skip for skip in named.values() if skip.code not in CODES)
        return replace(found, unreadable=tuple(unread))

    def why_not(self, config: Config, query: str, id_: str, scope: Scope) -> WhyNot:
        """Return the cause that kept a passage out of the search of a recall."""
        embedder, _ = self._ready_model(config, sync=False)
        stages = self._scoped_stages(self._index(Derived.of(config)), embedder, scope)
        request = SearchWhyNot(query, id=id_, group_by="path", skip_retry_ladder=True)
        return run(looking(stages, request))

    def unreadable(self, config: Config) -> list[Skip]:
        """Return the files that the index could not read at the last sync."""
        derived = Derived.of(config)
        return unread_files(self._files.ledger_of(derived, self._index(derived)))

    def read(
        self,
        config: Config,
        answer: Callable[[Index, _FileColumns], T],
        *,
        sync: bool,
        fresh: bool = False,
    ) -> T:
        """Return what an index and the columns of its files answer, up to date with `sync`.

        The index is not compared with the files if it is `fresh`: just brought up to date.
        """
        return self._current(config, answer, sync=sync, fresh=fresh)[0]

    def search_if_possible(
        self, config: Config, scope: Scope, answer: Callable[[_View, Stages], T]
    ) -> T | None:
        """Return what the view of a scope, and a search of its own memories by keywords, answer as of the last sync.

        None, which is logged, if that fails. A sync rebuilds a missing or damaged index, and upgrades an older one.
        """

        def search(index: Index, columns: _FileColumns) -> T:
            view = columns.view(index, scope.ids, scope.shared)
            return answer(view, self._scoped_stages(index, None, scope.own))

        derived = Derived.of(config)
        try:
            if derived.has_index:
                with suppress(IndexFileError):
                    index = self._index(derived)
                    return search(index, self._columns_of(index))
            return self.read(config, search, sync=True)
        except HedgerowError as error:
            _logger.info("%s was not searched for duplicates: %s", self._root, error.message)
            return None

    def leg(
        self, config: Config, query: str, leg: str, scope: Scope, *, sync: bool
    ) -> list[str] | None:
        """Rank the files by keywords (`bm25`) or by meaning (`semantic`), the best first.

        None where the root has no embedder, or where it fails, which is logged.
        """

        def search(index: Index, _: _FileColumns) -> list[str] | None:
            embedder = None if leg == "bm25" else self._ready_model(config, sync=sync)[0]
            if leg != "bm25" and embedder is None:
                return None
            stages = self._scoped_stages(index, embedder, scope)
            return recalling.ranked(stages, query, recalling.RANKED, whole=sync)

        return self._current(config, search, sync=sync)[0]

    def _current(
        self,
        config: Config,
        search: Callable[[Index, _FileColumns], T],
        *,
        sync: bool,
        fresh: bool = False,
    ) -> tuple[T, list[Skip]]:
        """Search, after a sync if `sync` is set. A damaged index is rebuilt.

        Also returns what the index could not read. `fresh` is as in `read`.
        """
        derived = Derived.of(config)

        def attempt(file: tuple[int, int] | None) -> T:
            index = self._files.index(derived, file)
            return search(index, self._columns_of(index))

        skips = [] if fresh else self._brought_up_to_date(config, None, sync=sync)
        file = identity_of(derived.index)
        try:
            return attempt(file), skips
        except HedgerowError as error:
            skips = self._rebuild(derived, error, file, sync=sync)
        return attempt(identity_of(derived.index)), skips

    def _rebuild(
        self,
        derived: Derived,
        error: HedgerowError,
        file: tuple[int, int] | None,
        *,
        sync: bool,
    ) -> list[Skip]:
        """Rebuild a damaged index with `sync`. Returns the files that it could not read.

        `file` is the file that was read, noted before it was opened: one that another process or thread
        has put in its place stays. Raises the error if it is no damage.
        """
        damage = damage_in(error)
        if damage is None or (damage.code == FOREIGN and not sync):
            raise error
        if not sync:
            raise IndexFileError(
                f"{derived.index} is damaged ({damage.message})",
                code="index_damaged",
                path=derived.index,
                fixes=(REBUILD,),
            ) from error
        from .sync import rebuild  # noqa: PLC0415 - slow to import

        return rebuild(derived, damage, file).skips

    def _look(self, derived: Derived, *, sync: bool) -> FreshnessCheck:
        """Return the unreadable files of the index, without a lock.

        The skips are None, with `sync`, if the index has to be brought up to date first.
        """
        try:
            index = self._index(derived) if identity_of(derived.index) else None
            ledger = None if index is None else self._files.ledger_of(derived, index)
        except IndexFileError as error:
            if not is_mended_by_sync(error):
                raise
            index = ledger = None
        # An earlier version may have made it with another tokenizer.
        if index is None or ledger is None or not ledger.is_current or index.tokenizer != TOKENIZER:
            return FreshnessCheck(None if sync else [])
        if not sync:
            return FreshnessCheck(list(starmap(Skip, ledger.skips)))
        return self._check.look(derived, ledger)

    def embed(self, config: Config, progress: Progress | None = None) -> None:
        """Embed the chunks without a vector; does nothing without an embedder. Raises its errors."""
        embedder = self._model(config)
        if embedder is None:
            return

        derived = Derived.of(config)
        file = identity_of(derived.index)
        try:
            vectors.embed(derived, embedder, progress)
        except IndexFileError as error:
            if not is_of_no_use(error):
                raise
            from .sync import rebuild  # noqa: PLC0415 - slow to import

            rebuild(derived, error, file)
            vectors.embed(derived, embedder, progress)

    def close(self) -> None:
        """Close the index and let go of the embedder; the next call opens them again."""
        self._files.close_index()
        with self._opening:
            self._state = None
            self._columns = None, _FileColumns()
            self._stages = None
            self._close_embedder()

    def _ready_model(self, config: Config, *, sync: bool) -> tuple[AnyEmbedder | None, str | None]:
        """Return the embedder, with `sync` after it has embedded what is new; None without one.

        If the root has one that cannot be used, such as a model that is not on this machine, it is
        searched by keywords: the notice says so. It is tried again after `_RETRY` seconds.
        """
        embedder: AnyEmbedder | None = None
        try:
            if self._model_failed_at is None or time.monotonic() > self._model_failed_at + _RETRY:
                self._model_failed_at = None
                embedder = self._model(config)
                if not sync or embedder is None or self._has_vectors(Derived.of(config), embedder):
                    return embedder, None
                # Another process makes the first vectors.
                return None, None
        except HedgerowError as error:
            # The name of no embedder is to be mended in the configuration. A folder may be on another disk.
            is_unknown = isinstance(error, InvalidInputError) and error.code != "path_not_found"
            if (embedder is None and is_unknown) or damage_in(error) is not None:
                raise
            if embedder is None:
                self._model_failed_at = time.monotonic()
            self._model_problem = f"Searched by keywords alone: {error.message}"
            _logger.warning("%s is searched by keywords alone: %s", self._root, error.message)
        return None, self._model_problem

    def _has_vectors(self, derived: Derived, embedder: AnyEmbedder) -> bool:
        """Embed the missing chunks. Returns False if there are no vectors to search.

        That is so while another process makes the first vectors. While it makes more, those that are
        there are searched. Raises what the embedder raises.
        """
        if vectors.are_current(self._index(derived), embedder):
            return True
        return bool(vectors.embed(derived, embedder)) or vectors.may_search(
            self._index(derived), embedder
        )

    def _index(self, derived: Derived) -> Index:
        """Return the open index, reopened if its file was rebuilt."""
        return self._files.index(derived, identity_of(derived.index))

    def _columns_of(self, index: Index) -> _FileColumns:
        """Return the columns of the files of an index, which a reopened index does not share."""
        with self._opening:
            if self._columns[0] is not index:
                self._columns = index, _FileColumns()
            return self._columns[1]

    def _stages_of(self, index: Index, embedder: AnyEmbedder | None) -> Stages:
        """Return the search stages of an index and an embedder, cached between recalls."""
        with self._opening:
            known = self._stages
            if known is None or known[0] is not index or known[1] is not embedder:
                retriever = Retriever(index, embedder=embedder, ranking=Ranking("best"))
                known = index, embedder, retriever._stages  # noqa: SLF001 - of the same package
                self._stages = known
            return known[2]

    def _scoped_stages(self, index: Index, embedder: AnyEmbedder | None, scope: Scope) -> Stages:
        """Return the search stages of an index that find the memories of a scope alone."""
        stages = self._stages_of(index, embedder)
        if not scope:
            return stages
        columns = self._columns_of(index)
        return replace(stages, searcher=columns.searcher(stages.searcher, scope.ids, scope.shared))

    def _model(self, config: Config) -> AnyEmbedder | None:
        """Return the embedder of the caller or that is configured, loaded when it is first needed."""
        if self._given is not None:
            return self._given
        with self._opening:
            if config.embedder != self._embedder_name:
                from hedgerow.embedders import embedder_named  # noqa: PLC0415 - for some roots

                self._close_embedder()
                name = config.embedder
                self._embedder = None if name is None else embedder_named(name)
                self._embedder_name = name
            return self._embedder

    def _close_embedder(self) -> None:
        """Let go of the embedder of a name, and of its connections."""
        close = getattr(self._embedder, "close", None)
        if close is not None:
            close()
        self._embedder = self._embedder_name = None
