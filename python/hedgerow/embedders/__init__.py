"""Embedders: texts to vectors (spec/adapters.md, docs/embedders.md).

`Embedder` and `AsyncEmbedder` say what a retriever asks for; any object that answers to one of
them will do. The adapters of this package need an extra each, and are imported when named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hedgerow._lazy import imported_when_asked_for

if TYPE_CHECKING:
    from ._named import embedder_named
    from .model2vec_static import Model2VecEmbedder
    from .ollama_server import AsyncOllamaEmbedder, OllamaEmbedder
    from .openai_compatible import AsyncOpenAIEmbedder, OpenAIEmbedder
    from .sentence_transformer import SentenceTransformerEmbedder

__all__ = [
    "AsyncEmbedder",
    "AsyncOllamaEmbedder",
    "AsyncOpenAIEmbedder",
    "Embedder",
    "Embeddings",
    "Model2VecEmbedder",
    "OllamaEmbedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "embedder_named",
]

_ADAPTERS = {
    "AsyncOllamaEmbedder": "ollama_server",
    "AsyncOpenAIEmbedder": "openai_compatible",
    "Model2VecEmbedder": "model2vec_static",
    "OllamaEmbedder": "ollama_server",
    "OpenAIEmbedder": "openai_compatible",
    "SentenceTransformerEmbedder": "sentence_transformer",
}
if not TYPE_CHECKING:
    __getattr__ = imported_when_asked_for(__name__, {**_ADAPTERS, "embedder_named": "_named"})


class Embeddings(Protocol):
    """One row of numbers for each text: an array of (n, dimensions), or nested sequences."""

    def __len__(self) -> int:
        """How many rows there are."""

    def __iter__(self) -> Iterator[Any]:
        """The rows: each a sequence of numbers, an empty one for a text without a vector."""


class Embedder(Protocol):
    """Turns texts into vectors (spec/adapters.md, "Embedders").

    It may have an attribute `name: str` for the model and whatever else changes the vectors: an
    index remembers it, and refuses the vectors of another.
    """

    def embed(self, texts: Sequence[str], /) -> Embeddings:
        """One row for each text, in their order and of one length, as float32 or floats.

        A row of no numbers says that the text has no vector. What it raises, the retriever
        takes as a failed search by meaning; the search by words still answers.
        """


class AsyncEmbedder(Protocol):
    """An `Embedder` whose `embed` is awaited."""

    async def embed(self, texts: Sequence[str], /) -> Embeddings:
        """As `Embedder.embed`."""


def __dir__() -> list[str]:
    return sorted(__all__)
