"""The stages of a search, in order: check, embed, search, rerank."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from threading import Lock
from time import perf_counter
from typing import Any, NoReturn

from hedgerow._checks import shown
from hedgerow._dual import Call, Steps
from hedgerow._engine import Found, Index, Searcher, SearchOptions, Stop, _check_query
from hedgerow._times import checked_half_life
from hedgerow.embedders.base import AnyEmbedder, checked_rows
from hedgerow.errors import BackendError, Fix, HedgerowError, InvalidInputError, RetrievalError
from hedgerow.query import QueryExplanation
from hedgerow.rerankers.base import AnyReranker
from hedgerow.results import STAGES, Response, Trace
from hedgerow.typing import OnLegFailure, QuestionDate, Searchable

from . import observing
from .embedding import EmbedderBinding, admission
from .operations import DEFAULT_LIMIT, SearchManyRequest, SearchRequest, WhyNotRequest
from .reranking import RerankOptions, log_failure, reranking

_log = logging.getLogger("hedgerow.search")
_embedding_log = logging.getLogger("hedgerow.embedding")

_EPOCH = date(1970, 1, 1).toordinal()

# A text with fewer characters cannot exceed a limit of spec/query.md: 64 KiB are at least 16,384
# characters, and a token takes at least two.
_SHORT = 8_192

_UNWATCHED = nullcontext()


@dataclass(slots=True)
class QueryEmbeddings:
    """The embeddings of the queries: their vectors, or "failed" with the embedder's `error`."""

    vectors: Any = None
    name: str | None = None
    error: Exception | None = None


_NOT_EMBEDDED = QueryEmbeddings()


@dataclass(slots=True)
class Stages:
    """The parts of a retriever that searches use."""

    index: Searchable
    searcher: Searcher
    embedder: AnyEmbedder | None
    reranker: AnyReranker | None
    rerank_options: RerankOptions
    on_leg_failure: OnLegFailure
    slow_ms: float | None
    # The default number of hits of each leg.
    candidates: int
    # Whether the profile is `best`, where a search by meaning alone needs an embedder.
    is_best: bool
    explain: Callable[..., QueryExplanation]
    # The current binding of the embedder, and the vectors of the last queries.
    _admitted: EmbedderBinding | None = None
    _cache: QueryVectors = field(default_factory=lambda: QueryVectors())  # noqa: PLW0108 - defined below

    def search(  # noqa: PLR0912, PLR0915, C901 - one function, for each costs a search time
        self,
        request: SearchRequest | WhyNotRequest | SearchManyRequest,
        embedded: QueryEmbeddings | None = None,
    ) -> Steps[Any]:
        """Run a request. Returns a response, or for many queries a response or an error each.

        A `WhyNotRequest` gets its response with the options and the vector of the search. With
        `embedded` the embedder is not called again.
        """
        started = perf_counter()
        queries: Sequence[str]
        dates: Sequence[QuestionDate | None]
        if isinstance(request, SearchManyRequest):
            queries, dates = request.texts, request.dates
            threads = min(request.threads or _usable_cpus(), sys.maxsize)
        else:
            queries, dates, threads = (request.query,), (request.question_date,), 1
        if self.embedder is None and request.mode in ("semantic", "hybrid"):
            self._check_may_degrade(request.mode)
        # A reranker may drop all its documents, and then the next hits move up.
        head = request.rerank_top_n if request.rerank and self.reranker is not None else 0
        limit = DEFAULT_LIMIT if request.limit is None else request.limit
        recency = request.recency
        half_life = None if recency is None else checked_half_life(recency).days
        options = SearchOptions(
            request.mode,
            # A number above the machine's range means all.
            min(self.candidates if request.candidates is None else request.candidates, sys.maxsize),
            min(request.offset + limit + head, sys.maxsize),
            None if request.rerank and self.reranker is None else request.rerank and head > 0,
            request.skip_retry_ladder,
            request.filters,
            request.group_by,
            request.asker,
            half_life,
        )
        answers: list[Any] = [None] * len(queries)
        sound, texts, dated = [], [], []
        for at, (query, asked) in enumerate(zip(queries, dates, strict=True)):
            has_dates = not (asked is None and recency is None)
            try:
                if len(query) >= _SHORT or not query.isascii():
                    _check_query(query)
                dated.append(self.dated(query, asked, recency) if has_dates else None)
            except HedgerowError as error:
                answers[at] = error
                continue
            sound.append(at)
            texts.append(query)
        current = observing.current
        with _UNWATCHED if current is None else current.search(self.index, queries) as watched:
            began = perf_counter()
            if embedded is None:
                embedded = _NOT_EMBEDDED
                if self.embedder is not None and request.mode != "bm25" and texts:
                    try:
                        embedded = yield from self.embedded(texts)
                    except HedgerowError as error:
                        if error.code != "bad_answer":
                            raise
                        embedded = None
                        for at in sound:
                            # Each error is raised, pickled and changed independently.
                            answers[at] = HedgerowError(error.message, code=error.code)
            if embedded is not None:
                if watched is not None:
                    watched.begin()
                stop, vectors = Stop(), embedded.vectors
                given = (texts, dated, vectors, embedded.name, perf_counter() - began, options)
                report = None
                if isinstance(self.index, Index):
                    call = Call(self.searcher.search, *given, threads, stop, None)
                    call.stop = stop
                    found = yield call
                else:
                    found, report = yield self.in_one_state(
                        options, self.searcher.search, (*given, threads, stop), stop
                    )
                self._check_found(texts, vectors, found)
                failures: Sequence[Exception | None] = [None] * len(found)
                if self.reranker is not None:
                    failures = yield from self._reranked(
                        self.reranker, head, texts, found, embedded.error, threads=threads
                    )
                for at, one, failed in zip(sound, found, failures, strict=True):
                    answer = self.answer(request.offset, limit, one, embedded.error or failed)
                    answers[at] = answer if report is None else _reported(answer, report)
            if watched is not None:
                watched.answered(answers)
        if self.slow_ms is not None:
            log_slow(self.slow_ms, answers, (perf_counter() - started) * 1000)
        if not isinstance(request, SearchManyRequest) or request.on_error == "raise":
            for answer in answers:
                if isinstance(answer, HedgerowError):
                    raise answer
        if isinstance(request, WhyNotRequest):
            return answers[0], options, embedded
        return answers if isinstance(request, SearchManyRequest) else answers[0]

    def embedded(self, queries: list[str]) -> Steps[QueryEmbeddings]:
        """Return the rows of the embedder, or its error. Equal queries are embedded once."""
        if self._admitted is None:
            # The search compares the name with that of the index in its own transaction. Until it
            # has matched once, it is also checked here, so that no query is embedded in vain.
            self._admitted = yield from admission(self.index, needed(self.embedder))
        form, name = self._admitted.forms.queries, self._admitted.name
        known = self._cache.known(queries)
        missing = [query for query in dict.fromkeys(queries) if query not in known]
        if not missing:
            return QueryEmbeddings([known[query] for query in queries], name)
        try:
            with observing.observer().embedding(form.embedder, len(missing)) as call:
                rows = yield from form.answer(missing)
                if call is not None:
                    call.embedded(rows)
        except Exception as error:  # noqa: BLE001 - whatever it is, keywords still answer
            if self.on_leg_failure == "degrade":
                _embedding_log.warning(
                    "the embedder failed, keywords answer alone: %s", error, exc_info=error
                )
            return QueryEmbeddings("failed", name, error)
        rows = checked_rows(rows, len(missing))
        if len(missing) == len(queries):
            return QueryEmbeddings(rows, name)
        known.update(zip(missing, rows, strict=True))
        return QueryEmbeddings([known[query] for query in queries], name)

    def forget_embedder(self) -> None:
        """Reset the binding of the embedder and the cached query vectors."""
        self._admitted = None
        self._cache = QueryVectors()

    def in_one_state(
        self,
        options: SearchOptions,
        function: Callable[..., Any],
        given: tuple[Any, ...],
        stop: Stop,
    ) -> Call:
        """Call the engine. Returns its results and the report of a collection."""
        call = Call(_in_one_state, self.index, options, function, given)
        call.stop = stop
        return call

    def dated(
        self, query: str, asked: QuestionDate | None, recency: str | None
    ) -> tuple[str | None, list[str], int | None] | None:
        """Return the query augmented with its dates, the dates, and the day of the question since 1970.

        The first is None without dates. The day is that of the asker's time zone. The result is None without a question
        date and `recency`. Raises InvalidInputError for a question date that cannot be read, under the
        profile `best`, and if `recency` counts ages from it.
        """
        if asked is None:
            return None if recency is None else (None, [], _day(datetime.now().astimezone()))
        # The import is slow, and most searches have no date.
        from hedgerow.temporal import augment_query, expand_temporal, question_day  # noqa: PLC0415

        hints = list(expand_temporal(query, asked).date_hints)
        augmented = augment_query(query, asked) if hints else None
        day = question_day(asked)
        if day is None and recency is None and not self.is_best:
            return None
        if day is None:
            why = "" if recency is None else "recency counts ages from the question date, and "
            raise InvalidInputError(
                f"{why}{shown(asked)} is no question date; write it as 2026-04-18, or leave it out for today",
                code="invalid_option",
            )
        return augmented, hints, _day(day)

    def _check_may_degrade(self, mode: str) -> None:
        """Raise InvalidInputError if keywords alone must not answer in a mode that needs an embedder."""
        if self.on_leg_failure == "raise":
            why = ', and on_leg_failure="raise" leaves no leg out'
        elif self.is_best and mode == "semantic":
            why = ""
        else:
            return
        raise InvalidInputError(
            f'mode="{mode}" needs an embedder{why}; pass embedder=... to Retriever, or search with the mode auto',
            code="incompatible_options",
        )

    def _check_found(
        self, queries: Sequence[str], vectors: Any, found: Sequence[Found | HedgerowError]
    ) -> None:
        """Raise the error of a changed embedder. Otherwise cache the vectors of the queries."""
        for one in found:
            if isinstance(one, HedgerowError) and one.code == "embedder_mismatch":
                # The index was re-embedded after this embedder was bound.
                self.forget_embedder()
                raise one
        if vectors is not None:
            self._cache.keep(
                queries, vectors, [not isinstance(one, HedgerowError) for one in found]
            )

    def _reranked(  # noqa: PLR0913 - what is reranked, and how
        self,
        reranker: AnyReranker,
        head: int,
        queries: Sequence[str],
        found: Sequence[Found | HedgerowError],
        embedder_error: Exception | None,
        *,
        threads: int,
    ) -> Steps[list[Exception | None]]:
        """Rerank the hits. Returns the error of the reranker for each query, or None."""
        failures: list[Exception | None] = [None] * len(found)
        waiting = {
            i: one
            for i, one in enumerate(found)
            if not isinstance(one, HedgerowError)
            and not one.failed
            and one.wants_reranker
            and (self.on_leg_failure == "degrade" or (one.error or embedder_error) is None)
        }
        if waiting:
            asked = [(queries[i], one) for i, one in waiting.items()]
            head = min(head, sys.maxsize)
            raised = yield from reranking(reranker, self.rerank_options, head, asked, threads)
            for i, error in zip(waiting, raised, strict=True):
                failures[i] = error
                if error is not None and self.on_leg_failure == "degrade":
                    log_failure(error)
        return failures

    def answer(
        self, offset: int, limit: int, found: Found | HedgerowError, part_error: Exception | None
    ) -> Response | HedgerowError:
        """Return the response of a search, or its error if no leg succeeded."""
        if isinstance(found, HedgerowError):
            return found
        trace = found.trace
        if found.failed:
            what = "no leg of the search could answer"
            return _failure(what, trace, found.error, code="retrieval_failed")
        error = found.error or part_error
        if self.on_leg_failure == "raise" and error is not None:
            return _failed(trace, error, Fix("answer without it", arguments=_DEGRADE))
        if found.error is not None:
            _log.warning("the %s leg failed, the other answers: %s", trace.error_stage, found.error)
        results = found.results(min(offset + limit, sys.maxsize))[offset:]
        if error is not None and not isinstance(error, HedgerowError):
            error = _failed(trace, error)  # foreign errors may not pickle
        return Response(results, trace, error, offset)


_DEGRADE = {"on_leg_failure": "degrade"}


def _failed(trace: Trace, error: Exception, *fixes: Fix) -> RetrievalError:
    stage = STAGES[trace.error_stage or "vector"]
    return _failure(f"{stage} failed", trace, error, *fixes, code="leg_failed")


def _failure(
    what: str, trace: Trace, error: Exception | None, *fixes: Fix, code: str
) -> RetrievalError:
    """Return the error of a search, with the message and the fixes of its cause."""
    cause, known = (error.message, error.fixes) if isinstance(error, HedgerowError) else (error, ())
    failure = RetrievalError(f"{what}: {cause}", code=code, trace=trace, fixes=(*known, *fixes))
    failure.__cause__ = error
    return failure


def _reported(answer: Response | HedgerowError, report: dict[str, Any]) -> Response | HedgerowError:
    """Return the answer with the report of a remote collection added to its trace."""
    if isinstance(answer, Response):
        return replace(answer, trace=replace(answer.trace, **report))
    if isinstance(answer, RetrievalError):
        answer.trace = replace(answer.trace, **report)
    return answer


def _day(day: date) -> int:
    return day.toordinal() - _EPOCH


def _usable_cpus() -> int:
    """Return the number of CPUs this process may use, fewer than the machine's in a container."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def needed(embedder: AnyEmbedder | None) -> AnyEmbedder:
    """Return the embedder. Raises InvalidInputError if it is None."""
    if embedder is None:
        raise InvalidInputError(
            "this retriever has no embedder; pass one: Retriever(index, embedder=...)",
            code="invalid_option",
        )
    return embedder


# The state of a collection.


def _in_one_state(
    searched: Searchable,
    options: SearchOptions,
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> tuple[Any, dict[str, Any] | None]:
    """Call the engine. Returns its results, and the report of a collection or None.

    If the collection is unreachable, every leg fails with that error.
    """
    if isinstance(searched, Index):
        return call(*arguments, None), None
    with ExitStack() as stack:
        moment: Any
        try:
            moment = stack.enter_context(searched._point_in_time(options.filters))  # noqa: SLF001
        except BackendError as error:
            moment = _Unreachable(error)
        found = call(*arguments, moment)
        return found, moment.report()


class _Unreachable:
    """The point in time of a collection that could not be reached."""

    def __init__(self, error: BackendError) -> None:
        self._error = error

    def _fail(self, *_: object) -> NoReturn:
        raise self._error

    check_embedder = dimensions = counts = keyword_hits = vector_hits = _fail
    chunks = in_paths = paths = _fail

    def report(self) -> None:
        """Return None, because the error has all information."""


# The vectors of the last queries.

_MOST = 256
"""The maximum of queries with cached vectors: under 1 MB with 768 dimensions."""


class QueryVectors:
    """The rows of an embedder for the last queries. Safe to use from several threads."""

    def __init__(self) -> None:
        self._rows: dict[str, Any] = {}
        self._turn = Lock()

    def known(self, queries: Sequence[str]) -> dict[str, Any]:
        """Return the cached rows of the queries."""
        with self._turn:
            return {query: self._rows[query] for query in queries if query in self._rows}

    def keep(self, queries: Sequence[str], rows: Any, sound: Sequence[bool]) -> None:
        """Cache the rows of the queries that succeeded, at most the last 256."""
        if isinstance(rows, str) or len(queries) > _MOST:
            return
        with self._turn:
            for query, row, is_sound in zip(queries, rows, sound, strict=True):
                if is_sound:
                    self._rows.pop(query, None)
                    # A view of a row would keep the whole array in memory.
                    self._rows[query] = row.copy() if hasattr(row, "copy") else row
            while len(self._rows) > _MOST:
                del self._rows[next(iter(self._rows))]


# The log of slow searches.

# Stages faster than this are not worth logging.
_WORTH_NAMING_MS = 0.05


def checked_slow_ms(value: float | None) -> float | None:
    """Return the threshold.

    Raises InvalidInputError unless it is a finite number from 0 up, or None.
    """
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compare before converting, because some integers have no float.
    if not number or not 0 <= value <= sys.float_info.max:
        raise InvalidInputError(
            f"slow_ms must be a number of milliseconds from 0 up, or None, not {shown(value)}",
            code="invalid_option",
        )
    return float(value)


def log_slow(slow_ms: float, answers: Sequence[Response | HedgerowError], total_ms: float) -> None:
    """Log the searches that took longer than `slow_ms`, one line each.

    The time of a single search is that of its call. Searches of a batch run in parallel, so the
    time of each is the sum of its stages, without embedding, which is one call for all.
    """
    alone = len(answers) == 1
    for answer in answers:
        if not isinstance(answer, (Response, RetrievalError)):
            continue
        trace = answer.trace
        took = total_ms if alone else _of_its_own(trace)
        if took > slow_ms:
            found = len(answer) if isinstance(answer, Response) else None
            _log_one(trace, found, took, alone=alone)


def _of_its_own(trace: Trace) -> float:
    return sum(ms for stage, ms in trace.timings.items() if stage != "embed")


def _log_one(trace: Trace, found: int | None, took: float, *, alone: bool) -> None:
    stages = ", ".join(
        f"{stage} {ms:.1f}"
        for stage, ms in trace.timings.items()
        if ms >= _WORTH_NAMING_MS and (alone or stage != "embed")
    )
    came = "no answer" if found is None else "1 result" if found == 1 else f"{found} results"
    length = len(trace.original_query)
    of = "1 character" if length == 1 else f"{length} characters"
    _log.warning(
        "slow search: %.1f ms (%s), mode %s, a query of %s, %s", took, stages, trace.mode, of, came
    )
    # Queries are private: only the most verbose level shows them.
    _log.debug("the query of that slow search: %r", trace.original_query)
