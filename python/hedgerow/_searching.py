"""The stages of a search, in order: check, embed, search, rerank."""

from __future__ import annotations

import logging
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ._admission import Admitted, admission
from ._embedding import Progress, reembedding
from ._engine import Found, Index, Searcher, SearchOptions, Stop, _check_query
from ._parts import needed
from ._steps import Call, Steps
from .embedders._forms import checked_rows
from .embedders.base import AnyEmbedder
from .errors import HedgerowError, RetrievalError
from .rerankers.base import AsyncReranker, RerankDocument, Reranker, RerankScore
from .results import Response

_log = logging.getLogger("hedgerow")

# No text with fewer characters is over a limit of spec/query.md: 64 KiB are at least 16,384 of them,
# and a token takes at least two.
_SHORT = 8_192


@dataclass(slots=True)
class Request:
    """Queries, each with its question date, and their common options."""

    queries: Sequence[str]
    dates: Sequence[str | None]
    options: SearchOptions
    embeds: bool
    top_k: int
    rerank_top_n: int
    threads: int


@dataclass(slots=True)
class Stages:
    """The parts of a retriever that searches use."""

    index: Index
    searcher: Searcher
    embedder: AnyEmbedder | None
    reranker: Reranker | AsyncReranker | None
    # How the index accepted the embedder last.
    _admitted: Admitted | None = None

    def search(self, request: Request) -> Steps[list[Response | HedgerowError]]:
        """Answer every query: with a response, or with its error."""
        answers: list[Response | HedgerowError | None] = [_refusal(q) for q in request.queries]
        sound = [i for i, answer in enumerate(answers) if answer is None]
        queries = [request.queries[i] for i in sound]
        started = perf_counter()
        vectors = name = None
        if request.embeds and self.embedder is not None and queries:
            admitted = yield from self._admission(self.embedder)
            name = admitted.name
            vectors = yield from self._vectors(admitted, queries)
        seconds = perf_counter() - started
        dated = [_dated(request.queries[i], request.dates[i]) for i in sound]
        stop = Stop()
        options, threads = request.options, request.threads
        arguments = (queries, dated, vectors, name, seconds, options, threads, stop)
        found = yield Call(self.searcher.search, arguments, stop)
        for i, one in zip(sound, found, strict=True):
            if isinstance(one, HedgerowError) and one.code == "embedder_mismatch":
                # The index was re-embedded since this embedder was admitted.
                self._admitted = None
                raise one
            answers[i] = yield from self._answer(request, request.queries[i], one)
        return [answer for answer in answers if answer is not None]

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
        """Replace the vectors of all chunks; how many there are."""
        count = yield from reembedding(self.index, needed(self.embedder), progress)
        self._admitted = None
        return count

    def _vectors(self, admitted: Admitted, queries: list[str]) -> Steps[Any]:
        """The rows of the embedder, "failed" when it raised."""
        form = admitted.forms.queries
        try:
            rows = yield from form.answer(queries)
        except Exception as error:  # noqa: BLE001 - whatever it is, keywords still answer
            _log.warning("the embedder failed, keywords answer alone: %s", error, exc_info=error)
            return "failed"
        return checked_rows(rows, len(queries))

    def _answer(
        self, request: Request, query: str, found: Found | HedgerowError
    ) -> Steps[Response | HedgerowError]:
        if isinstance(found, HedgerowError):
            return found
        trace = found.trace
        if found.failed:
            message = f"no leg of the search could answer: {found.error}"
            failure = RetrievalError(message, code="retrieval_failed", trace=trace)
            failure.__cause__ = found.error
            return failure
        if found.error is not None:
            _log.warning("the %s leg failed, the other answers: %s", trace.error_stage, found.error)
        if self.reranker is not None and found.wants_reranker:
            yield from self._rerank(self.reranker, request.rerank_top_n, query, found)
        return Response(found.results(request.top_k), found.trace, found.error)

    def _rerank(
        self, reranker: Reranker | AsyncReranker, head: int, query: str, found: Found
    ) -> Steps[None]:
        documents = [RerankDocument(name, text) for name, text in found.documents(head)]
        started = perf_counter()
        try:
            scores = _scores((yield Call(reranker.rerank, (query, documents))))
        except Exception as error:  # noqa: BLE001 - whatever it is, the fused order stands
            _log.warning("the reranker failed, the order stays: %s", error, exc_info=error)
            found.rerank_failed(perf_counter() - started)
        else:
            found.rerank(head, scores, reranker.name, perf_counter() - started)


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


def _dated(query: str, date: str | None) -> tuple[str, list[str]] | None:
    """The query augmented with its dates, and the dates; None without any."""
    if date is None:
        return None
    # Slow to import, and most searches have no date.
    from .temporal import augment_query, expand_temporal  # noqa: PLC0415

    hints = list(expand_temporal(query, date).date_hints)
    return (augment_query(query, date), hints) if hints else None


def _scores(answer: Sequence[RerankScore]) -> list[tuple[int, float]]:
    scores = [(operator.index(scored.index), float(scored.score)) for scored in answer]
    for index, score in scores:
        if not math.isfinite(score):
            raise HedgerowError(
                f"the reranker answered with the score {score} for document {index}; "
                "scores must be finite",
                code="bad_answer",
            )
    return scores
