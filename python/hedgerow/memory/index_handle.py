"""The index of a root, open for reading, and its embedder: kept from one recall to the next."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hedgerow._engine import (
    Index,
    _FileColumns,
    _has_vectors,
    _is_embedded,
    _set_embeddings,
    _unembedded_page,
)
from hedgerow._retrieval.embedding import (
    Admitted,
    admission,
    chunk_text,
    embedding_missing,
    reembedding,
)
from hedgerow._retrieval.searching import Stages
from hedgerow._steps import run
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import HedgerowError, IndexFileError, InvalidInputError
from hedgerow.ingest.ledger import Ledger
from hedgerow.ingest.source import Skip
from hedgerow.ranking import Ranking
from hedgerow.retriever import Retriever
from hedgerow.typing import Progress

from . import recall as recalling
from .about import abouts
from .config import Config
from .derived import (
    FOREIGN,
    OLDER,
    TOKENIZER,
    Derived,
    damage_in,
    identity_of,
    is_of_no_use,
)
from .documents import CODES, notices_of
from .files import locked_at_once
from .freshness import FileCheck, Looked, Shared
from .marks import Marks
from .names import check_types, mark_of
from .note import now
from .operations import GrepRequest
from .recall import Asked, Evidence, Wanted
from .results import About, GrepResult, LineMatch, Recall
from .scope import Scope
from .score import DepthPolicy

if TYPE_CHECKING:
    from hedgerow.embedders import AnyEmbedder
    from hedgerow.typing import Progress
    from hedgerow.why_not import WhyNot

    from .duplicates import Duplicate


_logger = logging.getLogger("hedgerow.memory")

_PAGE = 256
"""The chunks whose vectors are taken from another index in one transaction."""

_OF_ANOTHER = frozenset({"embedder_mismatch", "dimension_mismatch"})


def are_current(index: Index, embedder: AnyEmbedder) -> bool:
    """Return whether every chunk has been embedded, and by this embedder."""
    admitted = _admitted(index, embedder)
    if admitted is None or admitted.is_older:
        return False
    return _is_embedded(index)


def may_search(index: Index, embedder: AnyEmbedder) -> bool:
    """Return whether there are vectors of this embedder, even if not for all chunks yet."""
    return _has_vectors(index) and _admitted(index, embedder) is not None


def embed(derived: Derived, embedder: AnyEmbedder, progress: Progress | None = None) -> bool:
    """Embed the chunks without a vector.

    Embeds all if the vectors are of another embedder or prompt.

    The lock of the root is free meanwhile, for a remote embedder may take long. Where another
    process embeds already, this one leaves it to that, and returns False. `progress(done, total)`
    counts chunks.

    Raises what the embedder raises; what was embedded before stays.
    """
    with locked_at_once(derived.embedding_lock) as is_ours:
        if not is_ours:
            _logger.info("%s is being embedded by another process", derived.root)
            return False
        with Index.open(derived.index, durability=derived.durability) as index:
            _bring_up_to_date(derived, index, embedder, progress)
        return True


def _bring_up_to_date(
    derived: Derived, index: Index, embedder: AnyEmbedder, progress: Progress | None
) -> None:
    admitted = _admitted(index, embedder)
    if admitted is not None and not admitted.is_older:
        for number, member in enumerate(derived.members):
            _take_vectors(index, mark_of(number), member, embedder, admitted)
        try:
            run(embedding_missing(index, embedder, progress))
        except InvalidInputError as error:
            if error.code not in _OF_ANOTHER:
                raise
        else:
            return
    run(reembedding(index, embedder, progress))


def _take_vectors(
    index: Index, mark: str, member: Derived, embedder: AnyEmbedder, admitted: Admitted
) -> None:
    """Take the vectors of a root that is recalled together with others from its own index.

    Only those of equal texts and of the same embedder are taken. An index that cannot be read has none.
    """
    try:
        with Index.open(member.index, read_only=True) as own:
            of_member = _admitted(own, embedder)
            if of_member is None or of_member.name != admitted.name or not _has_vectors(own):
                return
            _copy_vectors(index, own, f"{mark}/", admitted)
    except (IndexFileError, OSError) as error:
        _logger.info("no vectors are taken from %s: %s", member.index, error)


def _copy_vectors(index: Index, own: Index, start: str, admitted: Admitted) -> None:
    after = 0
    while True:
        page, after = _unembedded_page(index, after, _PAGE)
        if not page:
            return
        wanted = [chunk for chunk in page if chunk.id.startswith(start)]
        known = own.get_many([chunk.id.removeprefix(start) for chunk in wanted])
        pairs = [
            (chunk, one.embedding)
            for chunk, one in zip(wanted, known, strict=True)
            if one is not None and one.embedding and chunk_text(one) == chunk_text(chunk)
        ]
        if pairs:
            chunks, vectors = zip(*pairs, strict=True)
            _set_embeddings(index, chunks, vectors, admitted.name, admitted.details)


def _admitted(index: Index, embedder: AnyEmbedder) -> Admitted | None:
    """How the index takes the embedder; None where its vectors are of another, or another prompt."""
    try:
        return run(admission(index, embedder, reports=False))
    except InvalidInputError as error:
        if error.code not in _OF_ANOTHER:
            raise
        return None


T = TypeVar("T")

_RETRY = 60.0
"""Seconds after which a model that could not be loaded is tried again: loading may take long."""


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
        self._check = check
        self._given = None if isinstance(embedder, str) else embedder
        self._policy = policy
        self._opening = threading.RLock()
        self._looking: Shared[Looked] = Shared()
        self._files = check.files
        self._damaged: tuple[int, int] | None = None
        self._columns: tuple[Index | None, _FileColumns] = None, _FileColumns()
        self._stages: tuple[Index, AnyEmbedder | None, Stages] | None = None
        self._embedder: AnyEmbedder | None = None
        self._embedder_name: str | None = None
        self._model_failed_at: float | None = None
        self._model_problem: str | None = None

    def recall(
        self, config: Config, asked: Asked, *, sync: bool, with_evidence: bool = False
    ) -> tuple[Recall, list[Evidence]]:
        """Search, after bringing the index up to date with `sync`; a damaged index is rebuilt.

        With `with_evidence` also returns the passages of the recalled files, best first.
        """

        def search() -> tuple[Recall, list[Evidence]]:
            return self._search(config, asked, sync=sync, with_evidence=with_evidence)

        (found, evidence), skips = self._current(config, search, sync=sync)
        # Nobody knows whose a file is that cannot be read.
        named = [] if asked.scope else skips
        files = [one.file for one in found]
        notices = (
            *(one.notice for one in config.not_allowed),
            *found.notices,
            *notices_of(skips, files, filtered=bool(asked.wanted), whole=not asked.scope),
        )
        return replace(found.with_skips(named), notices=notices), evidence

    def grep(self, config: Config, request: GrepRequest, scope: Scope) -> GrepResult:
        """Search the files of a scope for a pattern, after bringing the index up to date with `sync`."""
        derived = Derived.of(config)
        wanted = Wanted.of(request.types, request.tags, (), None, None, now())

        def search() -> GrepResult:
            if wanted.types:
                check_types(wanted.types, self._types(derived, scope))
            index = self._index(derived)
            lines, count, files, skips = self._columns_of(index).grep(
                index,
                derived.source_root,
                request.pattern,
                regex=request.regex,
                ignore_case=request.ignore_case,
                types=list(wanted.types),
                tags=list(wanted.tags),
                scope=(scope.user, scope.agent, scope.session),
                shared=scope.shared,
                limit=min(request.limit, sys.maxsize),
                context=request.context,
            )
            matches = tuple(
                LineMatch(file, line, text, tuple(before), tuple(after))
                for file, line, text, before, after in lines
            )
            unreadable = tuple(Skip(*skip) for skip in skips)
            return GrepResult(str(self._root), count, files, matches, unreadable)

        found, skips = self._current(config, search, sync=request.sync)
        # A file that the index could not read either is in both.
        named = {skip.path: skip for skip in (*found.unreadable, *([] if scope else skips))}
        unread = (skip for skip in named.values() if skip.code not in CODES)
        return replace(found, unreadable=tuple(unread))

    def about(
        self, config: Config, asked: Asked, files: Iterable[str], *, sync: bool
    ) -> tuple[About, ...]:
        """Return the descriptions of the folders of some files, as of the last sync.

        With `sync` a damaged index is rebuilt.
        """
        derived = Derived.of(config)

        def search() -> tuple[About, ...]:
            def is_seen(path: str) -> bool:
                marks = self._marks(derived)
                return asked.scope.has(marks.scope(path)) and asked.validity(marks, path).holds

            return abouts(files, self._index(derived).get, is_seen)

        return self._current(config, search, sync=sync, fresh=True)[0]

    def why_not(self, config: Config, query: str, id_: str) -> WhyNot:
        """Return the cause that kept a passage out of the search of a recall."""
        embedder, _ = self._ready_model(config, sync=False)
        retriever = Retriever(
            self._index(Derived.of(config)), embedder=embedder, ranking=Ranking("best")
        )
        return retriever.why_not(query, id_, group_by="path", skip_retry_ladder=True)

    def unreadable(self, config: Config) -> list[Skip]:
        """Return the files that the index could not read at the last sync."""
        skips = self._known(Derived.of(config)).skips
        return [skip for skip in skips if skip.code not in CODES]

    def marks(self, config: Config, *, sync: bool, fresh: bool = False) -> Marks:
        """Return the marks of all memories, up to date with `sync`.

        The index is not compared with the files if it is `fresh`: just brought up to date.
        """
        derived = Derived.of(config)
        return self._current(config, lambda: self._marks(derived), sync=sync, fresh=fresh)[0]

    def visible(
        self, config: Config, scope: Scope, *, sync: bool, fresh: bool = False
    ) -> frozenset[str] | None:
        """Return the files of a scope, up to date with `sync`; None for all. `fresh` is as in `marks`."""
        if not scope:
            return None
        derived = Derived.of(config)

        def files() -> frozenset[str]:
            index = self._index(derived)
            ids = (scope.user, scope.agent, scope.session)
            return frozenset(self._columns_of(index).paths_in(index, ids, scope.shared))

        return self._current(config, files, sync=sync, fresh=fresh)[0]

    def passing(self, config: Config, wanted: Wanted, scope: Scope) -> frozenset[str]:
        """Return the files of a scope with the wanted tags and writers, in the state of the last sync."""

        def files() -> frozenset[str]:
            index = self._index(Derived.of(config))
            found = self._columns_of(index).paths_passing(
                index,
                tags=list(wanted.tags),
                writers=list(wanted.writers),
                scope=(scope.user, scope.agent, scope.session),
                shared=scope.shared,
            )
            return frozenset(found)

        return self._current(config, files, sync=False)[0]

    def duplicate(self, config: Config, text: str, scope: Scope) -> Duplicate | None:
        """Return the memory of a scope that says what a text says, as of the last sync, if there is one.

        An index that fails is no reason not to keep a text: None then. Who indexes it is told why.
        """
        derived = Derived.of(config)

        def search() -> Duplicate | None:
            from .duplicates import duplicate_of  # noqa: PLC0415 - to write only

            index, marks = self._index(derived), lambda: self._marks(derived)
            return duplicate_of(derived, index, marks, text, scope)

        try:
            if derived.index.exists():
                with suppress(IndexFileError):
                    return search()
            # A sync rebuilds a missing or damaged index, and upgrades an older one.
            return self._current(config, search, sync=True)[0]
        except HedgerowError as error:
            _logger.info("%s was not searched for duplicates: %s", self._root, error.message)
            return None

    def leg(
        self, config: Config, query: str, leg: str, scope: Scope, *, sync: bool
    ) -> list[str] | None:
        """Rank the files by keywords (`bm25`) or by meaning (`semantic`), the best first.

        None where the root has no embedder, or where it fails, which is logged.
        """

        def search() -> list[str] | None:
            embedder = None if leg == "bm25" else self._ready_model(config, sync=sync)[0]
            if leg != "bm25" and embedder is None:
                return None
            index = self._index(Derived.of(config))
            where = recalling.filter_of(scope)
            return recalling.ranked(index, embedder, query, whole=sync, where=where)

        return self._current(config, search, sync=sync)[0]

    def _current(
        self, config: Config, search: Callable[[], T], *, sync: bool, fresh: bool = False
    ) -> tuple[T, list[Skip]]:
        """Search, after a sync if `sync` is set. A damaged index is rebuilt.

        Also returns what the index could not read. `fresh` is as in `marks`.
        """
        derived = Derived.of(config)
        looked = Looked([]) if fresh else self._look(derived, sync=sync)
        skips = looked.skips
        if skips is None:
            from .sync import sync as bring_up_to_date  # noqa: PLC0415 - slow to import

            skips = bring_up_to_date(derived, files=self._files, listing=looked.listing).skips
        try:
            return search(), skips
        except HedgerowError as error:
            damage = damage_in(error)
            if damage is None or (damage.code == FOREIGN and not sync):
                raise
            if not sync:
                raise IndexFileError(
                    f"{derived.index} is damaged; leave out --no-sync (sync=False) once, and it is "
                    f"rebuilt from the files ({damage.message})",
                    code="index_damaged",
                ) from error
        return self._anew(derived, search, damage)

    def _anew(
        self, derived: Derived, search: Callable[[], T], damage: IndexFileError
    ) -> tuple[T, list[Skip]]:
        """Rebuild a damaged index, and search again. Raises the error of the second search."""
        from .sync import rebuild  # noqa: PLC0415 - slow to import

        skips = rebuild(derived, damage, self._damaged).skips
        return search(), skips

    def _look(self, derived: Derived, *, sync: bool) -> Looked:
        """Return the unreadable files of the index, without a lock.

        The skips are None, with `sync`, if the index has to be brought up to date first.
        """
        try:
            index = self._index(derived) if identity_of(derived.index) else None
            ledger = None if index is None else self._files.ledger_of(derived, index)
        except IndexFileError as error:
            # A sync rebuilds a damaged index, and upgrades an older one.
            if not (error.code == OLDER or is_of_no_use(error)):
                raise
            index = ledger = None
        # An earlier version may have made it with another tokenizer.
        if index is None or ledger is None or not ledger.is_current or index.tokenizer != TOKENIZER:
            return Looked(None if sync else [])
        if not sync:
            return Looked(ledger.skips)
        # Looking through many files takes most of a recall: those at the same time share it.
        known = (derived.source_root, derived.scope, id(ledger))
        return self._looking.result(known, lambda: self._check.look(derived, ledger))

    def _known(self, derived: Derived) -> Ledger:
        """Return the ledger of the index, with the changes since the last call."""
        return self._files.ledger_of(derived, self._index(derived))

    def _marks(self, derived: Derived) -> Marks:
        """Return the marks that the index knows."""
        index = self._index(derived)
        return Marks(self._columns_of(index).marks(index))

    def _types(self, derived: Derived, scope: Scope) -> list[str]:
        """Return the words of types in a scope."""
        ids = (scope.user, scope.agent, scope.session)
        index = self._index(derived)
        return self._columns_of(index).types(index, ids, scope.shared)

    def embed(self, config: Config, progress: Progress | None = None) -> None:
        """Embed what has no vector; nothing, without an embedder. Raises what that raises."""
        embedder = self._model(config)
        if embedder is None:
            return

        derived = Derived.of(config)
        file = identity_of(derived.index)
        try:
            embed(derived, embedder, progress)
        except IndexFileError as error:
            if not is_of_no_use(error):
                raise
            from .sync import rebuild  # noqa: PLC0415 - slow to import

            rebuild(derived, error, file)
            embed(derived, embedder, progress)

    def close(self) -> None:
        """Close the index and let go of the embedder; the next call opens them again."""
        self._files.close_index()
        with self._opening:
            self._columns = None, _FileColumns()
            self._stages = None
            self._close_embedder()

    def _search(
        self, config: Config, asked: Asked, *, sync: bool, with_evidence: bool
    ) -> tuple[Recall, list[Evidence]]:
        derived = Derived.of(config)
        if asked.wanted.types:
            check_types(asked.wanted.types, self._types(derived, asked.scope))
        embedder, problem = self._ready_model(config, sync=sync)
        index = self._index(derived)
        found, evidence = recalling.recall(
            self._stages_of(index, embedder),
            self._columns_of(index),
            asked,
            root=str(self._root),
            policy=self._policy,
            whole=sync,
            with_evidence=with_evidence,
        )
        if problem is not None:
            found = replace(found, notices=(*found.notices, problem))
        return found, evidence

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
            # The name of no embedder is to be mended in the configuration.
            is_unknown = embedder is None and isinstance(error, InvalidInputError)
            if is_unknown or damage_in(error) is not None:
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
        if are_current(self._index(derived), embedder):
            return True
        return bool(embed(derived, embedder)) or may_search(self._index(derived), embedder)

    def _index(self, derived: Derived) -> Index:
        """Return the open index, reopened if its file was rebuilt."""
        # Noted before it opens: the error handler rebuilds this file, unless another took its place.
        self._damaged = identity_of(derived.index)
        return self._files.index(derived, self._damaged)

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
