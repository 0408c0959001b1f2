"""Embeddings from servers of OpenAI, compatible ones and Ollama (spec/adapters.md)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hedgerow._adapters.connection import ApiKey, Connected
from hedgerow._checks import checked_count, checked_text, checked_texts
from hedgerow._extras import imports_of
from hedgerow.errors import HedgerowError

from .base import bad_answer, non_blank
from .prompts import (
    AsyncPromptedEmbedder,
    PromptedEmbedder,
    PromptedModel,
    Prompts,
    prompts_of_model,
)

if TYPE_CHECKING:
    Row = array[float]
    from typing_extensions import Self

    from hedgerow._adapters.http import Endpoint


class Batches:
    """Texts in batches for a server, and its rows in the order of the texts.

    Blank texts are not sent, because some servers reject them. Their rows stay empty.
    """

    def __init__(self, texts: Sequence[str], size: int, source: str) -> None:
        self._texts = checked_texts(texts)
        self._size = size
        self._source = source
        self._dimensions: int | None = None
        self.rows: list[Row] = [array("f") for _ in self._texts]

    def __iter__(self) -> Iterator[list[str]]:
        indices = non_blank(self._texts)
        for start in range(0, len(indices), self._size):
            self._indices = indices[start : start + self._size]
            yield [self._texts[i] for i in self._indices]

    def take(self, answered: Any) -> None:
        """Check and store the rows for the batch that was yielded last."""
        indices = self._indices
        if not isinstance(answered, list):
            raise self._bad("without a list of embeddings")
        if len(answered) != len(indices):
            raise self._bad(f"with {len(answered)} embeddings for {len(indices)} texts")
        for i, numbers in zip(indices, answered, strict=True):
            self.rows[i] = self._row(numbers, f"texts[{i}]")

    def _row(self, numbers: Any, text: str) -> Row:
        row = None
        with suppress(TypeError, OverflowError):
            row = array("f", numbers) if isinstance(numbers, list) else None
        if row is None:
            raise self._bad(f"with something other than a list of numbers for {text}")
        if not row:
            raise self._bad(f"with an empty embedding for {text}")
        if not all(map(math.isfinite, row)):
            raise self._bad(f"with a number that is not finite for {text}")
        self._dimensions = self._dimensions or len(row)
        if len(row) != self._dimensions:
            raise self._bad(
                f"with {len(row)} dimensions for {text}, and {self._dimensions} for others"
            )
        return row if any(row) else array("f")

    def _bad(self, what: str) -> HedgerowError:
        return bad_answer(self._source, what)


class HttpEmbedder(PromptedModel, ABC):
    """A model behind a URL. It pickles without its key and connections."""

    _endpoint: Endpoint

    def __init__(
        self,
        model: str,
        *,
        name: str | None,
        batch_size: int,
        fields: Mapping[str, Any] | None,
        prompts: tuple[str | None, str | None],
    ) -> None:
        self.model = self._source = checked_text(model, "model")
        self.name = model if name is None else checked_text(name, "name") or model
        known = prompts_of_model(self.name) or prompts_of_model(model) or Prompts()
        self._prompts = known.given(*prompts)
        self._batch_size = checked_count(batch_size, "batch_size")
        self._fields = dict(fields or {})

    def _connect(self, extra: str, base_url: str, path: str, **options: Any) -> None:
        """Create the endpoint. `options` are those of `Endpoint`. Raises MissingExtraError."""
        with imports_of(extra, needed_by=type(self).__name__):
            from hedgerow._adapters.http import Endpoint  # noqa: PLC0415 - needs the extra
        self._endpoint = Endpoint(base_url, path, **options)

    @abstractmethod
    def _read(self, answer: Any) -> list[Any] | None:
        """Return the embeddings in a server's response, unchecked. None if it has none."""

    def _payload(self, batch: list[str]) -> dict[str, Any]:
        return {"model": self.model, "input": batch, **self._fields}

    def _batches(self, texts: Sequence[str]) -> Batches:
        return Batches(texts, self._batch_size, self._endpoint.shown)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, url={self._endpoint.shown!r})"


class ServedEmbedder(Connected, HttpEmbedder, PromptedEmbedder):
    """An `Embedder` that sends one request after the other. Threads may share it."""

    _endpoint: Endpoint

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """Return a row for each text. It is empty for blank text and for a vector of zeros.

        Raises HedgerowError if the server fails or its response is invalid, InvalidInputError for a
        text with a lone surrogate.
        """
        batches = self._batches(texts)
        for batch in batches:
            batches.take(self._read(self._endpoint.post(self._payload(batch))))
        return batches.rows


class AsyncServedEmbedder(HttpEmbedder, AsyncPromptedEmbedder):
    """An `AsyncEmbedder` for asyncio that sends one request after the other."""

    async def embed(self, texts: Sequence[str]) -> list[Row]:
        """Return a row for each text. It is empty for blank text and for a vector of zeros.

        Raises HedgerowError if the server fails or its response is invalid, InvalidInputError for a
        text with a lone surrogate.
        """
        batches = self._batches(texts)
        for batch in batches:
            batches.take(self._read(await self._endpoint.apost(self._payload(batch))))
        return batches.rows

    async def aclose(self) -> None:
        """Close the connections of the running event loop. `async with` does it too."""
        await self._endpoint.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


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
