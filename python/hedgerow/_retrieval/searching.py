"""The stages of a search, in order: check, embed, search, rerank."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from hedgerow._checks import shown
from hedgerow._engine import Found, Searcher, SearchOptions, Stop, _check_query
from hedgerow._steps import Call, Steps
from hedgerow.embedders._forms import checked_rows
from hedgerow.embedders.base import AnyEmbedder
from hedgerow.errors import HedgerowError, InvalidInputError, RetrievalError
from hedgerow.rerankers.base import AnyReranker
from hedgerow.results import Response, Trace
from hedgerow.typing import OnLegFailure, Progress, QuestionDate, Searchable

from .admission import Admitted, admission
from .collection import in_one_state, index_of
from .embedding import reembedding
from .observing import Watched, observer
from .parts import needed
from .query_vectors import QueryVectors
from .reranking import RerankOptions, log_failure, reranking
from .slow import log_slow

_log = logging.getLogger("hedgerow.search")
_embedding_log = logging.getLogger("hedgerow.embedding")

# No text with fewer characters is over a limit of spec/query.md: 64 KiB are at least 16,384 of them,
# and a token takes at least two.
_SHORT = 8_192

_STAGES = {"bm25": "search by keywords", "vector": "search by meaning", "rerank": "the reranker"}


@dataclass(slots=True)
class Request:
    """Queries, each with its question date, and their common options."""

    queries: Sequence[str]
    dates: Sequence[QuestionDate | None]
    options: SearchOptions
    embeds: bool
    limit: int
    offset: int
    rerank_top_n: int
    threads: int
    # What the embedder made of the queries, where it was asked before.
    embedded: Embedded | None = None


@dataclass(slots=True)
class Embedded:
    """What an embedder made of the queries: their vectors, "failed" when it raised `error`."""

    vectors: Any = None
    name: str | None = None
    error: Exception | None = None


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
    # How many hits each leg has if a search says nothing else.
    candidates: int
    # How the index accepted the embedder last, and the vectors of the last queries.
    _admitted: Admitted | None = None
    _cache: QueryVectors = field(default_factory=QueryVectors)

    def search(self, request: Request) -> Steps[list[Response | HedgerowError]]:
        """Answer every query: with a response, or with its error."""
        started = perf_counter()
        with observer().search(self.index, request.queries) as watched:
            answers = yield from self._search(request, watched)
            watched.answered(answers)
        if self.slow_ms is not None:
            log_slow(self.slow_ms, answers, (perf_counter() - started) * 1000)
        return answers

    def _search(self, request: Request, watched: Watched) -> Steps[list[Response | HedgerowError]]:
        answers: list[Response | HedgerowError | None] = [_refusal(q) for q in request.queries]
        sound = [i for i, answer in enumerate(answers) if answer is None]
        queries = [request.queries[i] for i in sound]
        started = perf_counter()
        try:
            embedded = request.embedded or (yield from self.embedded(request, queries))
        except HedgerowError as error:
            if error.code != "bad_answer":
                raise
            return [_again(error) if answer is None else answer for answer in answers]
        seconds = perf_counter() - started
        dated = [_dated(request.queries[i], request.dates[i]) for i in sound]
        stop = Stop()
        options, threads = request.options, request.threads
        vectors, name = embedded.vectors, embedded.name
        arguments = (queries, dated, vectors, name, seconds, options, threads, stop)
        watched.begin()
        call = (self.index, options, self.searcher.search, arguments)
        found, report = yield Call(in_one_state, call, stop)
        for one in found:
            if isinstance(one, HedgerowError) and one.code == "embedder_mismatch":
                # The index was re-embedded since this embedder was admitted.
                self._forget_embedder()
                raise one
        self._cache.keep(queries, vectors, [not isinstance(one, HedgerowError) for one in found])
        failures = yield from self._reranked(request, queries, found, embedded.error)
        for i, one, failed in zip(sound, found, failures, strict=True):
            answers[i] = _reported(self._answer(request, one, embedded.error, failed), report)
        return [answer for answer in answers if answer is not None]

    def check_may_degrade(self, mode: str) -> None:
        """Refuse a mode that needs an embedder, which this retriever lacks, where no leg may be left out."""
        if self.on_leg_failure == "raise":
            raise InvalidInputError(
                f'mode="{mode}" needs an embedder, and on_leg_failure="raise" leaves no leg out; '
                "pass embedder=... to Retriever, or search with the mode auto",
                code="incompatible_options",
            )

    def why_not(self, request: Request, id: str) -> Steps[dict[str, Any]]:  # noqa: A002
        """What the engine knows of a chunk for the one query of a request that is embedded."""
        [query], [date] = request.queries, request.dates
        embedded, stop = request.embedded or Embedded(), Stop()
        arguments = (
            query,
            _dated(query, date),
            embedded.vectors,
            embedded.name,
            request.options,
            id,
            stop,
        )
        call = (self.index, request.options, self.searcher.why_not, arguments)
        found, _ = yield Call(in_one_state, call, stop)
        seen: dict[str, Any] = found
        return seen

    def embedded(self, request: Request, queries: list[str]) -> Steps[Embedded]:
        """What the embedder makes of the queries, if the request asks for that."""
        if not request.embeds or self.embedder is None or not queries:
            return Embedded()
        admitted = yield from self._admission(self.embedder)
        return (yield from self._embedded(admitted, queries))

    def _admission(self, embedder: AnyEmbedder) -> Steps[Admitted]:
        """How the index accepts the embedder.

        The search itself compares the name with that of the index, in its own transaction. It is
        checked in advance until it matched once, so that no query is embedded in vain.
        """
        admitted = self._admitted
        if admitted is None:
            admitted = yield from admission(self.index, embedder)
            self._admitted = admitted
        return admitted

    def reembedding(self, progress: Progress | None) -> Steps[int]:
        """Replace the vectors of all chunks; returns how many there are."""
        count = yield from reembedding(
            index_of(self.index, "reembed"), needed(self.embedder), progress
        )
        self._forget_embedder()
        return count

    def _forget_embedder(self) -> None:
        self._admitted = None
        self._cache = QueryVectors()

    def _embedded(self, admitted: Admitted, queries: list[str]) -> Steps[Embedded]:
        """The rows of the embedder, or the error that it raised; equal queries are embedded once."""
        form, name = admitted.forms.queries, admitted.name
        known = self._cache.known(queries)
        missing = [query for query in dict.fromkeys(queries) if query not in known]
        if not missing:
            return Embedded([known[query] for query in queries], name)
        try:
            with observer().embedding(form.embedder, len(missing)) as call:
                rows = yield from form.answer(missing)
                call.embedded(rows)
        except Exception as error:  # noqa: BLE001 - whatever it is, keywords still answer
            if self.on_leg_failure == "degrade":
                _embedding_log.warning(
                    "the embedder failed, keywords answer alone: %s", error, exc_info=error
                )
            return Embedded("failed", name, error)
        rows = checked_rows(rows, len(missing))
        if len(missing) == len(queries):
            return Embedded(rows, name)
        known.update(zip(missing, rows, strict=True))
        return Embedded([known[query] for query in queries], name)

    def _reranked(
        self,
        request: Request,
        queries: Sequence[str],
        found: Sequence[Found | HedgerowError],
        embedder_error: Exception | None,
    ) -> Steps[list[Exception | None]]:
        """Rerank what is found; returns what the reranker raised for each query, if anything."""
        failures: list[Exception | None] = [None] * len(found)
        if self.reranker is None:
            return failures
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
            head, threads = request.rerank_top_n, request.threads
            raised = yield from reranking(self.reranker, self.rerank_options, head, asked, threads)
            for i, error in zip(waiting, raised, strict=True):
                failures[i] = error
                if error is not None and self.on_leg_failure == "degrade":
                    log_failure(error)
        return failures

    def _answer(
        self,
        request: Request,
        found: Found | HedgerowError,
        embedder_error: Exception | None,
        reranker_error: Exception | None,
    ) -> Response | HedgerowError:
        if isinstance(found, HedgerowError):
            return found
        trace = found.trace
        if found.failed:
            message = f"no leg of the search could answer: {found.error}"
            failure = RetrievalError(message, code="retrieval_failed", trace=trace)
            failure.__cause__ = found.error
            return failure
        error = found.error or embedder_error or reranker_error
        if self.on_leg_failure == "raise" and error is not None:
            return _stage_failure(trace, error)
        if found.error is not None:
            _log.warning("the %s leg failed, the other answers: %s", trace.error_stage, found.error)
        results = found.results(request.offset + request.limit)[request.offset :]
        return Response(results, trace, _told(trace, error), request.offset)


def checked_on_leg_failure(on_leg_failure: str) -> None:
    """Raise InvalidInputError unless it is "degrade" or "raise"."""
    if on_leg_failure not in ("degrade", "raise"):
        raise InvalidInputError(
            f'on_leg_failure must be "degrade" or "raise", not {shown(on_leg_failure)}',
            code="invalid_option",
        )


def _stage_failure(trace: Trace, error: Exception) -> RetrievalError:
    return _failed(trace, error, '; on_leg_failure="degrade" would answer without it')


def _told(trace: Trace, error: Exception | None) -> HedgerowError | None:
    """What failed, for a response: an error of ours, since those of others may not pickle."""
    if error is None or isinstance(error, HedgerowError):
        return error
    return _failed(trace, error)


def _failed(trace: Trace, error: Exception, advice: str = "") -> RetrievalError:
    stage = _STAGES[trace.error_stage or "vector"]
    failure = RetrievalError(f"{stage} failed: {error}{advice}", code="leg_failed", trace=trace)
    failure.__cause__ = error
    return failure


def _reported(
    answer: Response | HedgerowError, report: dict[str, Any] | None
) -> Response | HedgerowError:
    """The answer, with what a collection elsewhere reported added to its trace."""
    if report is None:
        return answer
    if isinstance(answer, Response):
        return replace(answer, trace=replace(answer.trace, **report))
    if isinstance(answer, RetrievalError):
        answer.trace = replace(answer.trace, **report)
    return answer


def _again(error: HedgerowError) -> HedgerowError:
    """The same error for one more query: each is raised, pickled and changed on its own."""
    return HedgerowError(error.message, code=error.code)


def _refusal(query: str) -> HedgerowError | None:
    """The error of a query that cannot be searched for, found before it is embedded."""
    try:
        if len(query) >= _SHORT or not _is_unicode(query):
            _check_query(query)
    except HedgerowError as error:
        return error
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _dated(query: str, date: QuestionDate | None) -> tuple[str, list[str]] | None:
    """The query augmented with its dates, and the dates; None without any."""
    if date is None:
        return None
    # Slow to import, and most searches have no date.
    from hedgerow.temporal import augment_query, expand_temporal  # noqa: PLC0415

    hints = list(expand_temporal(query, date).date_hints)
    return (augment_query(query, date), hints) if hints else None
