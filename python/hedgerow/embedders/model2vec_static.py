"""Embeddings from a model2vec model in this process (spec/adapters.md)."""

from __future__ import annotations

import os
from typing import Any, Protocol

from hedgerow._adapters.models import SHIPPED, loaded
from hedgerow._checks import checked_count, checked_model_name
from hedgerow._extras import imports_of

from ._local import LocalEmbedder
from ._prompts import Prompts


class StaticEncoder(Protocol):
    """The methods of a StaticModel that are used."""

    def encode(self, texts: list[str], /, *, batch_size: int, show_progress_bar: bool) -> Any:
        """Return an array with one row for each text."""


class Model2VecEmbedder(LocalEmbedder):
    """An `Embedder` over a model2vec model: a table of word vectors, fast on any CPU.

    `model` is the name or the folder of a model, or a StaticModel that is loaded already.
    `batch_size` texts are looked up together. `name`, the model's unless given, is the name of the
    vectors in an index; a loaded model needs one. A text without a word of the model has no vector.
    `query_prompt` and `document_prompt` are put before queries and documents; these models need
    none. With `download=False` a model is used only if it is on this machine.

    Threads may share it; they take turns. Raises MissingExtraError without the extra "model2vec",
    InvalidInputError for options that cannot be used and a folder that does not exist,
    HedgerowError (`model_unavailable`) for a model that is not here and cannot be downloaded, and
    other errors of the library when it loads the model.
    """

    adapter = "model2vec"

    def __init__(  # noqa: PLR0913 - options, by keyword
        self,
        model: str | os.PathLike[str] | StaticEncoder,
        *,
        batch_size: int = 1024,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(checked_model_name(model, name))
        self._batch_size = checked_count(batch_size, "batch_size")
        self._prompts = Prompts().given(query_prompt, document_prompt)
        self._source = None
        self._model: StaticEncoder
        if isinstance(model, (str, os.PathLike)):
            self._source = source = os.fspath(model)
            with imports_of("model2vec", needed_by=type(self).__name__):
                from model2vec import StaticModel  # noqa: PLC0415 - needs the extra
            self._model = loaded(
                model,
                # By default the library would download a cached model again.
                lambda found, _: StaticModel.from_pretrained(found, force_download=False),
                repositories=[source],
                known_by="model.safetensors",
                another_way=SHIPPED,
                here_only=not download,
            )
        else:
            self._model = model

    def _encode(self, texts: list[str]) -> Any:
        return self._model.encode(texts, batch_size=self._batch_size, show_progress_bar=False)
