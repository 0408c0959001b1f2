"""The shared parts of HTTP embedders: everything except request and response formats."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hedgerow._adapters.connection import Connected
from hedgerow._checks import checked_count, checked_text, checked_texts
from hedgerow._extras import imports_of
from hedgerow.errors import HedgerowError

from ._prompted import AsyncPromptedEmbedder, PromptedEmbedder, PromptedModel
from ._prompts import Prompts, prompts_of_model
from .base import bad_answer, non_blank

if TYPE_CHECKING:
    from typing_extensions import Self

    from hedgerow._adapters.http import Endpoint

    Row = array[float]


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
