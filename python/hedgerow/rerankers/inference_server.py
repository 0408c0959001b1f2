"""Reranking by a text-embeddings-inference server's `POST /rerank` (spec/adapters.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow._adapters.connection import ApiKey, Connected
from hedgerow._checks import checked_count, checked_flag, checked_text, checked_texts
from hedgerow._extras import imports_of

from .base import RerankDocument, RerankScore, bad_answer, best_first, checked_scores


class TEIReranker(Connected):
    """A `Reranker` over a text-embeddings-inference server.

    `base_url` ends before `/rerank`, as in `"http://localhost:8080"`. `batch_size` documents go
    into one request, by default as many as such a server takes. A document too long for the model
    is cut by the server, or refused with `truncate=False`. The key is `api_key`, or the value of
    the environment variable `api_key_variable` at each request. `timeout` is in seconds, from one
    byte of the answer to the next; after 429, 5xx and a broken connection there are `retries` more
    tries. Scores are from 0 to 1.

    Threads may share it; it pickles without the key. Raises MissingExtraError without the extra
    "tei", InvalidInputError for options that cannot be used, HedgerowError (`missing_api_key`) when
    the variable is not set.
    """

    def __init__(  # noqa: PLR0913 - options, by keyword
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        api_key_variable: str | None = None,
        batch_size: int = 32,
        truncate: bool = True,
        timeout: float = 30.0,
        retries: int = 2,
        name: str = "text-embeddings-inference",
    ) -> None:
        self.name = name
        self._batch_size = checked_count(batch_size, "batch_size")
        self._truncate = checked_flag(truncate, "truncate")
        with imports_of("tei", needed_by=type(self).__name__):
            from hedgerow._adapters.http import Endpoint  # noqa: PLC0415 - needs the extra
        key = ApiKey(api_key, api_key_variable)
        self._endpoint = Endpoint(base_url, "/rerank", key=key, timeout=timeout, retries=retries)

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return a score for each document, best first. Ties keep the order of documents.

        Raises HedgerowError if the server fails or its response is invalid, InvalidInputError for a
        text with a lone surrogate.
        """
        checked_text(query, "the query")
        texts = checked_texts([document.text for document in documents], "documents")
        scores: list[float] = []
        for start in range(0, len(texts), self._batch_size):
            scores += self._scores(query, texts[start : start + self._batch_size])
        return best_first(scores)

    def _scores(self, query: str, texts: list[str]) -> list[float]:
        answer = self._endpoint.post(
            {"query": query, "texts": texts, "raw_scores": False, "truncate": self._truncate}
        )
        return checked_scores(self._in_order(answer, len(texts)), len(texts), self._endpoint.shown)

    def _in_order(self, answer: Any, expected: int) -> list[Any]:
        """Return the scores in the order of the texts. The server sorts them, best first."""
        if not isinstance(answer, list) or not all(isinstance(entry, dict) for entry in answer):
            raise bad_answer(self._endpoint.shown, "without a list of scores")
        scores = {str(entry.get("index")): entry.get("score") for entry in answer}
        missing = [index for index in range(expected) if str(index) not in scores]
        if missing or len(answer) != expected:
            which = f", none for document {missing[0]}" if missing else ""
            found = f"{len(answer)} score{'' if len(answer) == 1 else 's'}"
            raise bad_answer(self._endpoint.shown, f"with {found} for {expected} documents{which}")
        return [scores[str(index)] for index in range(expected)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(url={self._endpoint.shown!r})"
