"""Reranking by a sentence-transformers CrossEncoder in this process (spec/adapters.md)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock
from typing import Any, Protocol

from hedgerow._adapters.models import loaded
from hedgerow._checks import (
    checked_count,
    checked_flag,
    checked_model_name,
    checked_text,
    checked_texts,
)
from hedgerow._extras import imports_of

from .base import RerankDocument, RerankScore, bad_answer, best_first, checked_scores


class PairScorer(Protocol):
    """The methods of a CrossEncoder that are used."""

    def predict(
        self,
        pairs: list[tuple[str, str]],
        /,
        *,
        batch_size: int,
        show_progress_bar: bool,
        convert_to_numpy: bool,
    ) -> Any:
        """Return an array with one score for each pair."""


class CrossEncoderReranker:
    """A `Reranker` over a sentence-transformers CrossEncoder with one label.

    `model` is the name or the folder of a model, which is loaded here on `device` ("cpu", "cuda",
    ...; None lets the library choose), or a CrossEncoder that is loaded already. `batch_size`
    documents go through the model together. Scores are on the model's own scale. With
    `download=False` a model is used only if it is on this machine (spec/adapters.md, "Models in
    this process").

    Threads may share it; they take turns. Raises MissingExtraError without the extra
    "sentence-transformers", InvalidInputError for options that cannot be used and a folder that
    does not exist, HedgerowError (`model_unavailable`) for a model that is not here and cannot be
    downloaded, and other errors of the library when it loads the model.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | PairScorer,
        *,
        device: str | None = None,
        batch_size: int = 32,
        name: str | None = None,
        download: bool = True,
    ) -> None:
        self.name = checked_model_name(model, name, "cross-encoder")
        self._batch_size = checked_count(batch_size, "batch_size")
        checked_flag(download, "download")
        self._model: PairScorer
        if isinstance(model, (str, os.PathLike)):
            self._model = self._loaded(model, device, download=download)
        else:
            self._model = model
        self._turn = Lock()

    def _loaded(
        self, model: str | os.PathLike[str], device: str | None, *, download: bool
    ) -> PairScorer:
        with imports_of("sentence-transformers", needed_by=type(self).__name__):
            from sentence_transformers import CrossEncoder  # noqa: PLC0415 - the extra

        def load(found: str, offline: bool) -> PairScorer:
            options = {"local_files_only": True} if offline else {}
            scorer: PairScorer = CrossEncoder(found, device=device, **options)
            return scorer

        return loaded(
            model,
            load,
            repositories=[os.fspath(model)],
            known_by="config.json",
            another_way="use a server that has one: TEIReranker, or tei:URL by name",
            here_only=not download,
        )

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return a score for each document, best first. Ties keep the order of documents.

        Raises HedgerowError if the model returns something other than one finite score for each
        document, InvalidInputError for a text with a lone surrogate.
        """
        checked_text(query, "the query")
        texts = checked_texts([document.text for document in documents], "documents")
        if not texts:
            return []
        with self._turn:  # tokenizers are not thread-safe
            answered = self._model.predict(
                [(query, text) for text in texts],
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        # The library returns an array; a custom model may return a list.
        scores = answered.tolist() if hasattr(answered, "tolist") else answered
        source = f"the model {self.name}"
        if not isinstance(scores, list):
            raise bad_answer(source, f"with something other than scores for {len(texts)} documents")
        return best_first(checked_scores(scores, len(texts), source))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
