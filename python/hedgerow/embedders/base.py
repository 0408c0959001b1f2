"""The protocols of embedders (spec/adapters.md, "Embedders"), and checks of their answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from hedgerow.errors import HedgerowError


class Embeddings(Protocol):
    """A row of numbers for each text: an array of (n, dimensions), or nested sequences."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __iter__(self) -> Iterator[Any]:
        """The rows: each a sequence of numbers, an empty one for a text without a vector."""


class Embedder(Protocol):
    """Turns texts into vectors (spec/adapters.md, "Embedders").

    It may have an attribute `name: str` for the model and whatever else changes the vectors: an
    index remembers it, and refuses the vectors of another.
    """

    def embed(self, texts: Sequence[str], /) -> Embeddings:
        """Return a row for each text, in their order and of one length, as float32 or floats.

        An empty row means that the text has no vector. If the method raises, the retriever searches
        by keywords alone.
        """


class AsyncEmbedder(Protocol):
    """An `Embedder` whose `embed` is awaited."""

    async def embed(self, texts: Sequence[str], /) -> Embeddings:
        """As `Embedder.embed`."""


class QueryDocumentEmbedder(Protocol):
    """An embedder that asks its model in one way for queries, and in another for documents.

    LangChain's `Embeddings` is one. Either method may return an awaitable. For a batch of queries
    `embed_query` is called for one after the other, unless there is also `embed_queries(texts)`,
    with one row for each text.
    """

    def embed_query(self, text: str, /) -> Any:
        """The row of one query, as numbers; empty for one without a vector."""

    def embed_documents(self, texts: list[str], /) -> Embeddings | Awaitable[Embeddings]:
        """Return a row for each text, as `Embedder.embed`."""


class AsyncQueryDocumentEmbedder(Protocol):
    """Like `QueryDocumentEmbedder`, with LangChain's names of asynchronous methods.

    If an embedder has both, these are called where a search can await.
    """

    async def aembed_query(self, text: str, /) -> Any:
        """As `QueryDocumentEmbedder.embed_query`."""

    async def aembed_documents(self, texts: list[str], /) -> Embeddings:
        """As `QueryDocumentEmbedder.embed_documents`."""


AnyEmbedder: TypeAlias = (
    Embedder
    | AsyncEmbedder
    | QueryDocumentEmbedder
    | AsyncQueryDocumentEmbedder
    | Callable[[list[str]], Embeddings | Awaitable[Embeddings]]
)
"""What a retriever can embed with: an object with one of these methods, or a function of texts."""


def bad_answer(source: str, what: str) -> HedgerowError:
    """Return the error for an answer that does not fit the request."""
    return HedgerowError(
        f"{source} answered {what}; check that it serves a model of this kind", code="bad_answer"
    )


def non_blank(texts: Sequence[str]) -> list[int]:
    """The indices of the texts that are more than white space."""
    return [i for i, text in enumerate(texts) if text.strip()]
