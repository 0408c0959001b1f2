"""Embeddings from a sentence-transformers model in this process (spec/adapters.md)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hedgerow._adapters.models import SHIPPED, loaded
from hedgerow._checks import checked_count, checked_model_name
from hedgerow._extras import imports_of

from ._local import LocalEmbedder
from ._prompts import Prompts, prompts_of_model

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_ORGANIZATION = "sentence-transformers"
"""The organization that the library adds to a model name without one."""


class SentenceEncoder(Protocol):
    """The methods of a SentenceTransformer that are used.

    If a model has `encode_query` and `encode_document`, these are called, with a `prompt`.
    """

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
        """Return an array with one row for each text."""


class SentenceTransformerEmbedder(LocalEmbedder):
    """An `Embedder` over a sentence-transformers model.

    `model` is the name or the folder of a model, which is loaded here on `device` ("cpu", "cuda",
    ...; None lets the library choose), or a SentenceTransformer that is loaded already.
    `batch_size` texts go through the model together. `name`, the model's unless given, is the name
    of the vectors in an index; a loaded model needs one.

    `query_prompt` and `document_prompt` are put before queries and documents, "" for none. Without
    them the model's own `prompts` are, and where it has none those that a model of its name is
    known to want (spec/adapters.md, "Prompts"). `prompt_name` picks one of the model's prompts for
    both. With `download=False` a model is used only if it is on this machine.

    Threads may share it; they take turns. Raises MissingExtraError without the extra
    "sentence-transformers", InvalidInputError for options that cannot be used and a folder that
    does not exist, HedgerowError (`model_unavailable`) for a model that is not here and cannot be
    downloaded, and other errors of the library when it loads the model.
    """

    adapter = "sentence-transformers"

    def __init__(  # noqa: PLR0913 - options, by keyword
        self,
        model: str | os.PathLike[str] | SentenceEncoder,
        *,
        device: str | None = None,
        batch_size: int = 32,
        prompt_name: str | None = None,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(checked_model_name(model, name))
        self._batch_size = checked_count(batch_size, "batch_size")
        self._prompt_name = prompt_name
        self._source = os.fspath(model) if isinstance(model, (str, os.PathLike)) else None
        self._model: SentenceEncoder
        if isinstance(model, (str, os.PathLike)):
            self._model = self._loaded(model, device, download=download)
        else:
            self._model = model
        self._prompts = self._found_prompts().given(query_prompt, document_prompt)

    def _loaded(
        self, model: str | os.PathLike[str], device: str | None, *, download: bool
    ) -> SentenceEncoder:
        with imports_of("sentence-transformers", needed_by=type(self).__name__):
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - the extra

        def load(found: str, offline: bool) -> SentenceEncoder:
            options = {"local_files_only": True} if offline else {}
            encoder: SentenceEncoder = SentenceTransformer(found, device=device, **options)
            return encoder

        source = os.fspath(model)
        names = [source] if "/" in source else [f"{_ORGANIZATION}/{source}", source]
        return loaded(
            model,
            load,
            repositories=names,
            known_by="modules.json",
            another_way=SHIPPED,
            here_only=not download,
        )

    def _found_prompts(self) -> Prompts:
        """Return the prompts of the model itself, or else those of its family."""
        own: Mapping[str, str] = getattr(self._model, "prompts", None) or {}
        if self._prompt_name is not None:
            both = own.get(self._prompt_name) or ""
            return Prompts(both, both)
        query = own.get("query") or ""
        document = next(filter(None, map(own.get, ("document", "passage", "corpus"))), "")
        if query or document:
            return Prompts(query, document)
        if default := own.get(getattr(self._model, "default_prompt_name", None) or ""):
            return Prompts(default, default)
        family = prompts_of_model(self.name) or prompts_of_model(self._source or "")
        return family or Prompts()

    def embed_queries(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the query prompt before each text."""
        return self._rows(texts, lambda batch: self._encode_as("query", batch, self.query_prompt))

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the document prompt before each text."""
        return self._rows(
            texts, lambda batch: self._encode_as("document", batch, self.document_prompt)
        )

    def _encode_as(self, form: str, texts: list[str], prompt: str) -> Any:
        """Encode with the method for queries or documents, because some models route by it."""
        encode = getattr(self._model, f"encode_{form}", None)
        # The library raises the error for an unknown prompt name.
        unknown = self._prompt_name if not prompt else None
        if encode is None or unknown is not None:
            return self._encode([prompt + text for text in texts], unknown)
        return encode(
            texts,
            prompt=prompt,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )

    def embed(self, texts: Sequence[str]) -> NDArray[float32] | list[Any]:
        """Like `LocalEmbedder.embed`, with the prompt of `prompt_name` before each text."""
        return self._rows(texts, lambda batch: self._encode(batch, self._prompt_name))

    def _encode(self, texts: list[str], prompt_name: str | None = None) -> Any:
        return self._model.encode(
            texts,
            prompt_name=prompt_name,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
