"""Reranking by a language model that grades documents (spec/adapters.md, "A language model")."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from hedgerow._checks import checked_count, checked_text, checked_texts
from hedgerow.errors import InvalidInputError

from ._llm_answer import read_grades
from ._llm_prompt import HIGHEST_GRADE, grading_prompt, sterner
from .base import RerankDocument, RerankScore, best_first

_LOG = logging.getLogger("hedgerow.rerank")


class LLMReranker:
    """A `Reranker` over any callable that answers a prompt with text.

    `complete(prompt)` is called with `batch_size` documents at a time, in up to `concurrency`
    threads, so it must allow that; timeouts and retries are its own business. Its exceptions
    are passed on, because an order made of failures would look like an order. An answer that
    leaves out documents or cannot be parsed is requested once more; documents that still have no
    grade score 0, with a warning on the logger "hedgerow.rerank". Scores are from 0 to 1; documents
    of equal score keep their order.

    The prompt keeps documents apart from instructions, but a model may fall for text that argues
    for itself: a grade is not a safeguard.
    """

    def __init__(
        self,
        complete: Callable[[str], str],
        *,
        name: str = "llm",
        batch_size: int = 5,
        concurrency: int = 4,
    ) -> None:
        if not callable(complete):
            raise InvalidInputError(
                f"complete must be a callable from str to str, not {type(complete).__name__}",
                code="invalid_option",
            )
        self.name = name
        self._complete = complete
        self._batch_size = checked_count(batch_size, "batch_size")
        self._concurrency = checked_count(concurrency, "concurrency")

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return a score for each document, best first; ties keep the earlier one first.

        Raises the errors of the callable, TypeError when it returns something other than a str,
        InvalidInputError for a text with half of a surrogate pair.
        """
        checked_text(query, "the query")
        texts = checked_texts([document.text for document in documents], "documents")
        batches = [
            texts[start : start + self._batch_size]
            for start in range(0, len(texts), self._batch_size)
        ]
        graded = self._grade_all(query, batches)
        return best_first(grade / HIGHEST_GRADE for grades in graded for grade in grades)

    def _grade_all(self, query: str, batches: list[list[str]]) -> list[list[float]]:
        if len(batches) <= 1 or self._concurrency == 1:
            return [self._grade(query, batch) for batch in batches]
        with ThreadPoolExecutor(min(self._concurrency, len(batches)), "hedgerow-llm") as pool:
            # Each thread sees the caller's context variables, which tracing needs.
            tasks = [
                pool.submit(copy_context().run, self._grade, query, batch) for batch in batches
            ]
            try:
                return [task.result() for task in tasks]
            finally:
                for task in tasks:
                    task.cancel()  # after an error, cancels the batches that have not started

    def _grade(self, query: str, batch: list[str]) -> list[float]:
        """Return a grade for each text: from the first reply, from the second attempt, or 0."""
        prompt = grading_prompt(query, batch)
        grades = self._ask(prompt, len(batch))
        if len(grades) < len(batch):
            grades |= self._ask(sterner(prompt, len(batch)), len(batch))
        missing = len(batch) - len(grades)
        if missing:
            _LOG.warning(
                "the reranker %s gave no grade that could be read for %d of %d documents, twice; "
                "they score 0",
                self.name,
                missing,
                len(batch),
            )
        return [grades.get(number, 0.0) for number in range(1, len(batch) + 1)]

    def _ask(self, prompt: str, count: int) -> dict[int, float]:
        answer = self._complete(prompt)
        if not isinstance(answer, str):
            raise TypeError(f"complete must return a str, not {type(answer).__name__}")
        return read_grades(answer, count)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"
