"""The stages of a search, in order: check, embed, search, rerank."""

from __future__ import annotations

import logging
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ._embedding import checked_rows, embedder_name
from ._engine import Found, Index, Searcher, SearchOptions, Stop, _check_embedder, _check_query
from ._steps import Call, Steps
from .embedders import AsyncEmbedder, Embedder
from .errors import HedgerowError, RetrievalError
from .rerankers import AsyncReranker, RerankDocument, Reranker, RerankScore
from .results import Response

_log = logging.getLogger("hedgerow")


@dataclass(slots=True)
class Request:
    """What is asked for: queries, each with the date it was asked on, and what they share."""

    queries: Sequence[str]
    dates: Sequence[str | None]
    options: SearchOptions
    embeds: bool
    top_k: int
    rerank_top_n: int
    threads: int


@dataclass(frozen=True, slots=True)
class Stages:
    """What takes part in the searches of a retriever."""

    index: Index
    searcher: Searcher
    embedder: Embedder | AsyncEmbedder | None
    reranker: Reranker | AsyncReranker | None

    def search(self, request: Request) -> Steps[list[Response | HedgerowError]]:
        """Answer every query: with a response, or with its error."""
        answers: list[Response | HedgerowError | None] = [_refusal(q) for q in request.queries]
        sound = [place for place, answer in enumerate(answers) if answer is None]
        queries = [request.queries[place] for place in sound]
        started = perf_counter()
        vectors = (yield from self._vectors(queries)) if request.embeds else None
        seconds = perf_counter() - started
        dated = [_dated(request.queries[place], request.dates[place]) for place in sound]
        stop = Stop()
        arguments = (queries, dated, vectors, seconds, request.options, request.threads, stop)
        found = yield Call(self.searcher.search, arguments, stop)
        for place, one in zip(sound, found, strict=True):
            answers[place] = yield from self._answer(request, request.queries[place], one)
        return [answer for answer in answers if answer is not None]

    def _vectors(self, queries: list[str]) -> Steps[Any]:
        """The rows of an embedder, None without one, "failed" when it raised."""
        if self.embedder is None or not queries:
            return None
        name = embedder_name(self.embedder)
        if name is not None:
            yield Call(_check_embedder, (self.index, name))
        try:
            rows = yield Call(self.embedder.embed, (queries,))
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
            return RetrievalError(message, code="retrieval_failed", trace=trace)
        if found.error is not None:
            _log.warning("the %s leg failed, the other answers: %s", trace.error_stage, found.error)
        if self.reranker is not None and found.wants_reranker:
            yield from self._rerank(self.reranker, request.rerank_top_n, query, found)
        return Response(found.results(request.top_k), found.trace)

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
    """Why a query cannot be searched for: asked before it goes to an embedder."""
    try:
        _check_query(query)
    except HedgerowError as error:
        return error
    return None


def _dated(query: str, date: str | None) -> tuple[str, list[str]] | None:
    """The query with its dates, and these; None where it has none."""
    if date is None:
        return None
    # What most searches have no date for is slow to import.
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
