"""Embeddings from a sentence-transformers model in this process (spec/adapters.md)."""

from __future__ import annotations

import os
from typing import Any, Protocol

from hedgerow._checks import checked_count, checked_model_name
from hedgerow._extras import imports_of

from ._local import LocalEmbedder


class SentenceEncoder(Protocol):
    """What is called of a SentenceTransformer."""

    def encode(
        self,
        texts: list[str],
        /,
        *,
        prompt_name: str | None,
        batch_size: int,
        show_progress_bar: bool,
        convert_to_numpy: bool,
    ) -> Any:
        """An array of one row for each text."""


class SentenceTransformerEmbedder(LocalEmbedder):
    """An `Embedder` over a sentence-transformers model.

    `model` is the name or the folder of a model, which is loaded here on `device` ("cpu", "cuda",
    ...; None lets the library choose), or a SentenceTransformer that is loaded already.
    `batch_size` texts go through the model together. `prompt_name` picks one of the model's
    prompts; queries and chunks get the same one. `name`, the model's unless given, is what an
    index remembers the vectors by; a loaded model needs one.

    Threads may share it; they take turns. Raises MissingExtraError without the extra
    "sentence-transformers", InvalidInputError for options that cannot be used, and what the
    library raises when it cannot load the model.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | SentenceEncoder,
        *,
        device: str | None = None,
        batch_size: int = 32,
        prompt_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(checked_model_name(model, name))
        self._batch_size = checked_count(batch_size, "batch_size")
        self._prompt_name = prompt_name
        self._model: SentenceEncoder
        if isinstance(model, (str, os.PathLike)):
            with imports_of("sentence-transformers", needed_by=type(self).__name__):
                from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - the extra
            self._model = SentenceTransformer(os.fspath(model), device=device)
        else:
            self._model = model

    def _encode(self, texts: list[str]) -> Any:
        return self._model.encode(
            texts,
            prompt_name=self._prompt_name,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
