"""Embeddings from an Ollama server's `POST /api/embed` (spec/adapters.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow._adapters.connection import ApiKey

from ._served import AsyncServedEmbedder, HttpEmbedder, ServedEmbedder

OLLAMA_URL = "http://localhost:11434"


class _Ollama(HttpEmbedder):
    adapter = "ollama"

    def __init__(  # noqa: PLR0913 - options, by keyword
        self,
        model: str,
        *,
        base_url: str = OLLAMA_URL,
        api_key: str | None = None,
        api_key_variable: str | None = None,
        batch_size: int = 64,
        timeout: float = 120.0,
        retries: int = 2,
        fields: Mapping[str, Any] | None = None,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
    ) -> None:
        prompts = (query_prompt, document_prompt)
        super().__init__(model, name=name, batch_size=batch_size, fields=fields, prompts=prompts)
        key = ApiKey(api_key, api_key_variable)
        self._connect("ollama", base_url, "/api/embed", key=key, timeout=timeout, retries=retries)

    def _read(self, answer: Any) -> list[Any] | None:
        rows = answer.get("embeddings") if isinstance(answer, dict) else None
        return rows if isinstance(rows, list) else None


class OllamaEmbedder(_Ollama, ServedEmbedder):
    """An `Embedder` over a model that an Ollama server has pulled.

    The first request waits until the model is loaded, hence the long `timeout` in seconds, from
    one byte of the answer to the next. Ollama silently cuts texts that are too long for the model;
    `fields={"truncate": False}` makes it refuse them instead. `fields` are added to each request
    (`keep_alive`, `options`, `dimensions`). A key is needed only where a proxy in front of the
    server checks one; `api_key`, `api_key_variable`, `batch_size`, `retries`, `name` and the
    prompts are those of `OpenAIEmbedder`.

    Raises MissingExtraError without the extra "ollama", InvalidInputError for options that cannot
    be used, HedgerowError (`missing_api_key`) when the variable is not set.
    """


class AsyncOllamaEmbedder(_Ollama, AsyncServedEmbedder):
    """The `AsyncEmbedder` with the options of `OllamaEmbedder`."""
