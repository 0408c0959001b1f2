"""The shared parts of adapters: one prompt for queries, another for documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from hedgerow._checks import checked_text

from ._prompts import Prompts, with_prompt


class PromptedModel:
    """An adapter over a model that may need prompts.

    `_source` is the name for loading the model, as in ADAPTER:MODEL; None if a loaded model was
    passed.
    """

    adapter: ClassVar[str]

    name: str
    _prompts: Prompts
    _source: str | None

    @property
    def query_prompt(self) -> str:
        """The text put before a query; "" for none."""
        return self._prompts.query

    @property
    def document_prompt(self) -> str:
        """The text put before a document; "" for none."""
        return self._prompts.document


class PromptedEmbedder(PromptedModel, ABC):
    """The methods of a synchronous embedder with prompts."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Any:
        """Return a row for each text, without a prompt."""

    def embed_queries(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the query prompt before each text."""
        return self.embed(with_prompt(texts, self.query_prompt))

    def embed_query(self, text: str) -> Any:
        """Return the row of one query, with the query prompt before it. Empty for blank text."""
        return self.embed_queries([checked_text(text, "text")])[0]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the document prompt before each text."""
        return self.embed(with_prompt(texts, self.document_prompt))


class AsyncPromptedEmbedder(PromptedModel, ABC):
    """The methods of an asynchronous embedder with prompts."""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> Any:
        """Return a row for each text, without a prompt."""

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the query prompt before each text."""
        return await self.embed(with_prompt(texts, self.query_prompt))

    async def embed_query(self, text: str) -> Any:
        """Return the row of one query, with the query prompt before it. Empty for blank text."""
        return (await self.embed_queries([checked_text(text, "text")]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the document prompt before each text."""
        return await self.embed(with_prompt(texts, self.document_prompt))
