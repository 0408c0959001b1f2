"""The protocols of embedders (spec/adapters.md, "Embedders"), and errors of their results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from hedgerow.errors import HedgerowError


class Embeddings(Protocol):
    """A row of numbers for each text: an array of (n, dimensions), or nested sequences."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows: sequences of numbers, empty for a text without a vector."""


class Embedder(Protocol):
    """Turns texts into vectors (spec/adapters.md, "Embedders").

    It may have an attribute `name: str` for the model and everything else that changes the vectors.
    An index stores the name, and rejects vectors of another embedder.
    """

    def embed(self, texts: Sequence[str], /) -> Embeddings:
        """Return a row for each text, in order and of equal length, as float32 or floats.

        An empty row means that the text has no vector. If the method raises, the retriever searches
        only by keywords.
        """


class AsyncEmbedder(Protocol):
    """An `Embedder` whose `embed` is awaited."""

    async def embed(self, texts: Sequence[str], /) -> Embeddings:
        """Like `Embedder.embed`, but asynchronous."""


class QueryDocumentEmbedder(Protocol):
    """An embedder with separate methods for queries and documents.

    LangChain's `Embeddings` is one. Either method may return an awaitable. For a batch of queries,
    `embed_query` is called for each, unless there is also `embed_queries(texts)`, which returns one
    row for each text.
    """

    def embed_query(self, text: str, /) -> Any:
        """Return the row of one query as numbers. Empty if the query has no vector."""

    def embed_documents(self, texts: list[str], /) -> Embeddings | Awaitable[Embeddings]:
        """Return a row for each text, like `Embedder.embed`."""


class AsyncQueryDocumentEmbedder(Protocol):
    """Like `QueryDocumentEmbedder`, with LangChain's names for asynchronous methods.

    If an embedder has both kinds, asynchronous searches call these.
    """

    async def aembed_query(self, text: str, /) -> Any:
        """Like `QueryDocumentEmbedder.embed_query`, but asynchronous."""

    async def aembed_documents(self, texts: list[str], /) -> Embeddings:
        """Like `QueryDocumentEmbedder.embed_documents`, but asynchronous."""


AnyEmbedder: TypeAlias = (
    Embedder
    | AsyncEmbedder
    | QueryDocumentEmbedder
    | AsyncQueryDocumentEmbedder
    | Callable[[list[str]], Embeddings | Awaitable[Embeddings]]
)
"""An embedder for a retriever: an object with one of these methods, or a function of texts."""


def bad_answer(source: str, what: str) -> HedgerowError:
    """Return the error for a response that does not fit the request."""
    return HedgerowError(
        f"{source} answered {what}; check that it serves a model of this kind", code="bad_answer"
    )


def non_blank(texts: Sequence[str]) -> list[int]:
    """Return the indices of the texts that are not blank."""
    return [i for i, text in enumerate(texts) if text.strip()]
