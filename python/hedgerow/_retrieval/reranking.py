"""The rerank step of a search (spec/retrieval.md, "Reranking")."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from hedgerow._checks import shown
from hedgerow._dual import Call, Steps, Together, is_async
from hedgerow._engine import Found
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ranking import Ranking
from hedgerow.rerankers.base import AnyReranker, RerankDocument, RerankScore, read_scores

from . import observing

_log = logging.getLogger("hedgerow.rerank")

_WHOLE = 4_000
"""The characters of a document for a reranker: about 1,000 tokens, twice most models' limit."""
_WEIGHT = 0.3
"""The weight of a reranker's score, measured on judged collections (spec/retrieval.md)."""


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """The weight of a reranker's scores, and the length of the text it reads.

    `chars` is None for the short text of the specification. With `keeps_unscored`, a document
    without a score stays, in the last place.
    """

    weight: float
    chars: int | None
    keeps_unscored: bool


def rerank_options(ranking: Ranking) -> RerankOptions:
    """Return the rerank options of a ranking."""
    best = ranking.profile == "best"
    weight, chars = ranking.rerank_weight, ranking.rerank_chars
    if weight is None:
        weight = _WEIGHT if best else 1.0
    if chars is None and best:
        chars = _WHOLE
    return RerankOptions(float(weight), chars, best)


def rerank_method(reranker: AnyReranker) -> Any:
    """Return the function that reranks one query.

    Raises InvalidInputError for anything but a reranker.
    """
    method = getattr(reranker, "rerank", None)
    if isinstance(reranker, type):
        hint = f"; that is a class: pass an object of it, {reranker.__name__}(...)"
    elif hasattr(reranker, "compress_documents"):
        hint = "; wrap it: hr.rerankers.LangChainReranker(...)"
    elif hasattr(reranker, "postprocess_nodes"):
        hint = "; wrap it: hr.rerankers.LlamaIndexReranker(...)"
    elif callable(method) and isinstance(getattr(reranker, "name", None), str):
        return method
    elif callable(reranker) and method is None:
        return reranker
    else:
        hint = ""
    raise InvalidInputError(
        "reranker must have a name and a method rerank(query, documents), or be a function of both, "
        f"not {shown(reranker)}{hint}",
        code="invalid_option",
    )


def reranker_name(reranker: AnyReranker) -> str:
    """Return the name of a reranker for traces. For a function it is the function's name."""
    named: Any = reranker
    while isinstance(named, partial):
        named = named.func
    name = getattr(named, "name", None) or getattr(named, "__name__", None)
    return name if isinstance(name, str) else type(named).__name__


def reranking(
    reranker: AnyReranker,
    options: RerankOptions,
    head: int,
    waiting: Sequence[tuple[str, Found]],
    threads: int,
) -> Steps[list[Exception | None]]:
    """Rerank the first `head` hits of each search. Return the reranker's error for each, or None.

    Several searches use one call of `rerank_many` if it exists, and run on threads otherwise.
    """
    step = _Step(reranker, reranker_name(reranker), options, head)
    if len(waiting) == 1:
        [(query, found)] = waiting
        return [(yield from step.one(query, found))]
    if callable(getattr(reranker, "rerank_many", None)):
        return (yield from step.many(waiting))
    steps = [step.one(query, found) for query, found in waiting]
    failures: list[Exception | None] = yield Together(steps, threads)
    return failures


@dataclass(frozen=True, slots=True)
class _Step:
    reranker: AnyReranker
    name: str
    options: RerankOptions
    head: int

    def one(self, query: str, found: Found) -> Steps[Exception | None]:
        documents = self._documents(found)
        started = perf_counter()
        try:
            with observing.observer().reranking(self.reranker, len(documents)):
                answer = yield Call(rerank_method(self.reranker), query, documents)
                scores = read_scores(answer, len(documents))
        except Exception as error:  # noqa: BLE001 - whatever it is, the fused order stands
            found.rerank_failed(perf_counter() - started)
            return error
        self._apply(found, scores, perf_counter() - started)
        return None

    def many(self, waiting: Sequence[tuple[str, Found]]) -> Steps[list[Exception | None]]:
        queries = [query for query, _ in waiting]
        documents = [self._documents(found) for _, found in waiting]
        started = perf_counter()
        try:
            with observing.observer().reranking(self.reranker, sum(map(len, documents))):
                answer = yield Call(getattr(self.reranker, "rerank_many"), queries, documents)  # noqa: B009
                answers = _answers(answer, len(queries))
        except Exception as error:  # noqa: BLE001 - see `one`
            seconds = (perf_counter() - started) / len(waiting)
            for _, found in waiting:
                found.rerank_failed(seconds)
            return [error] * len(waiting)
        seconds = (perf_counter() - started) / len(waiting)
        failures: list[Exception | None] = []
        for (_, found), given, answered in zip(waiting, documents, answers, strict=True):
            try:
                self._apply(found, read_scores(answered, len(given)), seconds)
                failures.append(None)
            except HedgerowError as error:  # noqa: PERF203 - one bad answer costs its query alone
                found.rerank_failed(seconds)
                failures.append(error)
        return failures

    def _documents(self, found: Found) -> list[RerankDocument]:
        return [RerankDocument(*parts) for parts in found.documents(self.head, self.options.chars)]

    def _apply(self, found: Found, scores: list[RerankScore], seconds: float) -> None:
        # Ignore positions of documents that the reranker was not given, however large.
        pairs = [(one.index, one.score) for one in scores if 0 <= one.index < self.head]
        options = self.options
        found.rerank(self.head, pairs, options.weight, options.keeps_unscored, self.name, seconds)


def _answers(answer: Any, queries: int) -> list[Any]:
    answers = list(answer) if hasattr(answer, "__iter__") else []
    if len(answers) != queries:
        raise HedgerowError(
            f"rerank_many answered with {len(answers)} lists of scores for {queries} queries; it must "
            "return one for each query, in their order",
            code="bad_answer",
        )
    return answers


def is_asynchronous(reranker: AnyReranker) -> bool:
    """Return whether only the asynchronous methods of a retriever can use a reranker.

    Raises InvalidInputError like `rerank_method`.
    """
    many = getattr(reranker, "rerank_many", None)
    return is_async(rerank_method(reranker)) or (many is not None and is_async(many))


def log_failure(error: Exception) -> None:
    """Log that a reranker failed and the order is unchanged."""
    _log.warning("the reranker failed, the order stays: %s", error, exc_info=error)
