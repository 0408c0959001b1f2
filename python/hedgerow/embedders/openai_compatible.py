"""Embeddings from OpenAI, or any server with its `POST /embeddings` (spec/adapters.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow._adapters.connection import ApiKey
from hedgerow._checks import checked_count

from ._served import AsyncServedEmbedder, HttpEmbedder, ServedEmbedder

OPENAI_URL = "https://api.openai.com/v1"
_KEY_VARIABLE = "OPENAI_API_KEY"


def key_variable_of(base_url: str) -> str | None:
    """Return the variable with the key of a server. Only OpenAI may receive OpenAI's key."""
    return _KEY_VARIABLE if base_url == OPENAI_URL else None


def what_is_sent(base_url: str) -> str:
    """Return the address and the variable of the key, for a user who is asked for consent."""
    variable = key_variable_of(base_url)
    return f"{base_url}, {f'with the key in {variable}' if variable else 'without a key'}"


class _OpenAI(HttpEmbedder):
    adapter = "openai"

    def __init__(  # noqa: PLR0913 - options, by keyword
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        api_key_variable: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 64,
        timeout: float = 30.0,
        retries: int = 2,
        fields: Mapping[str, Any] | None = None,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
    ) -> None:
        prompts = (query_prompt, document_prompt)
        super().__init__(model, name=name, batch_size=batch_size, fields=fields, prompts=prompts)
        if dimensions is not None:
            self._fields["dimensions"] = checked_count(dimensions, "dimensions")
        if api_key is None and api_key_variable is None:
            api_key_variable = key_variable_of(base_url)
        key = ApiKey(api_key, api_key_variable)
        self._connect("openai", base_url, "/embeddings", key=key, timeout=timeout, retries=retries)

    def _read(self, answer: Any) -> list[Any] | None:
        entries = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return None
        indices = [entry.get("index") for entry in entries]
        if all(isinstance(index, int) for index in indices):
            if sorted(indices) != list(range(len(entries))):
                return None
            entries = sorted(entries, key=lambda entry: entry["index"])
        return [entry.get("embedding") for entry in entries]


class OpenAIEmbedder(_OpenAI, ServedEmbedder):
    """An `Embedder` over OpenAI's embeddings API, or a server that speaks it.

    `base_url` ends before `/embeddings`, as in `"http://localhost:8000/v1"`. The key is `api_key`,
    or the value of the environment variable `api_key_variable` at each request; for OpenAI itself
    the default is OPENAI_API_KEY, and other servers get no key that was not named for them.
    `dimensions` asks for shorter vectors, `fields` are added to each request. `batch_size` texts go
    into one request; `timeout` is in seconds, from one byte of the answer to the next; after 429,
    5xx and a broken connection there are `retries` more tries. `name`, the model's unless given, is
    the name of the vectors in an index. `query_prompt` and `document_prompt` are put before queries
    and documents, in place of those that the model is known to need; "" is none (spec/adapters.md,
    "Prompts").

    Raises MissingExtraError without the extra "openai", InvalidInputError for options that cannot
    be used, HedgerowError (`missing_api_key`) when the variable is not set.
    """


class AsyncOpenAIEmbedder(_OpenAI, AsyncServedEmbedder):
    """The `AsyncEmbedder` with the options of `OpenAIEmbedder`."""
