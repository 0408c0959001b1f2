"""What the embedders over HTTP have in common: all but what a server is sent and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow._api_key import ApiKey
from hedgerow._checks import checked_count
from hedgerow._connected import Connected
from hedgerow._extras import imports_of

from ._rows import Batches

if TYPE_CHECKING:
    from typing_extensions import Self

    from hedgerow._endpoint import AsyncEndpoint, Endpoint

    from ._rows import Row


class Served(ABC):
    """A model behind a URL. Pickles without the key, and without its connections."""

    _endpoint: Endpoint | AsyncEndpoint

    def __init__(
        self, model: str, *, name: str | None, batch_size: int, fields: Mapping[str, Any] | None
    ) -> None:
        self.model = model
        self.name = name or model
        self._batch_size = checked_count(batch_size, "batch_size")
        self._fields = dict(fields or {})

    @abstractmethod
    def _connect(  # noqa: PLR0913 - options, by keyword
        self, extra: str, base_url: str, path: str, *, key: ApiKey, timeout: float, retries: int
    ) -> None:
        """Make the endpoint; raises MissingExtraError."""

    @abstractmethod
    def _read(self, answer: Any) -> list[Any] | None:
        """The embeddings of a server's answer, unchecked; None where there are none."""

    def _payload(self, batch: list[str]) -> dict[str, Any]:
        return {"model": self.model, "input": batch, **self._fields}

    def _batches(self, texts: Sequence[str]) -> Batches:
        return Batches(texts, self._batch_size, self._endpoint.shown)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, url={self._endpoint.shown!r})"


class ServedEmbedder(Connected, Served):
    """An `Embedder`: one request after the other. Threads may share it."""

    _endpoint: Endpoint

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """One row for each text, an empty one for blank text and for a vector of zeros.

        Raises HedgerowError when the server fails or its answer does not fit, InvalidInputError
        for a text with half of a surrogate pair.
        """
        batches = self._batches(texts)
        for batch in batches:
            batches.take(self._read(self._endpoint.post(self._payload(batch))))
        return batches.rows

    def _connect(self, extra: str, base_url: str, path: str, **options: Any) -> None:
        with imports_of(extra, needed_by=type(self).__name__):
            from hedgerow._endpoint import Endpoint  # noqa: PLC0415 - needs the extra
        self._endpoint = Endpoint(base_url, path, **options)


class AsyncServedEmbedder(Served):
    """An `AsyncEmbedder` for asyncio: one request after the other."""

    _endpoint: AsyncEndpoint

    async def embed(self, texts: Sequence[str]) -> list[Row]:
        """One row for each text, an empty one for blank text and for a vector of zeros.

        Raises HedgerowError when the server fails or its answer does not fit, InvalidInputError
        for a text with half of a surrogate pair.
        """
        batches = self._batches(texts)
        for batch in batches:
            batches.take(self._read(await self._endpoint.post(self._payload(batch))))
        return batches.rows

    async def aclose(self) -> None:
        """Close the connections of the running event loop; `async with` does it too."""
        await self._endpoint.aclose()

    def _connect(self, extra: str, base_url: str, path: str, **options: Any) -> None:
        with imports_of(extra, needed_by=type(self).__name__):
            from hedgerow._endpoint import AsyncEndpoint  # noqa: PLC0415 - needs the extra
        self._endpoint = AsyncEndpoint(base_url, path, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
