"""Embeddings from a model2vec model in this process (spec/adapters.md)."""

from __future__ import annotations

import os
from typing import Any, Protocol

from hedgerow._checks import checked_count, checked_model_name
from hedgerow._extras import imports_of

from ._local import LocalEmbedder


class StaticEncoder(Protocol):
    """What is called of a StaticModel."""

    def encode(self, texts: list[str], /, *, batch_size: int, show_progress_bar: bool) -> Any:
        """An array of one row for each text."""


class Model2VecEmbedder(LocalEmbedder):
    """An `Embedder` over a model2vec model: a table of word vectors, fast on any CPU.

    `model` is the name or the folder of a model, or a StaticModel that is loaded already.
    `batch_size` texts are looked up together. `name`, the model's unless given, is what an index
    remembers the vectors by; a loaded model needs one. A text of which the model knows no word
    has no vector.

    Threads may share it; they take turns. Raises MissingExtraError without the extra
    "model2vec", InvalidInputError for options that cannot be used, and what the library raises
    when it cannot load the model.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | StaticEncoder,
        *,
        batch_size: int = 1024,
        name: str | None = None,
    ) -> None:
        super().__init__(checked_model_name(model, name))
        self._batch_size = checked_count(batch_size, "batch_size")
        self._model: StaticEncoder
        if isinstance(model, (str, os.PathLike)):
            with imports_of("model2vec", needed_by=type(self).__name__):
                from model2vec import StaticModel  # noqa: PLC0415 - needs the extra
            # Without `force_download` a model that was fetched once is read from the cache.
            self._model = StaticModel.from_pretrained(os.fspath(model), force_download=False)
        else:
            self._model = model

    def _encode(self, texts: list[str]) -> Any:
        return self._model.encode(texts, batch_size=self._batch_size, show_progress_bar=False)
