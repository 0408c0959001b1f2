"""What the adapters have in common: a prompt for queries, and another for documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from hedgerow._checks import checked_text

from ._prompts import Prompts, with_prompt


class Prompted:
    """An adapter over a model that may want prompts.

    `_source` is what the adapter loads the model by, as in ADAPTER:MODEL; None where it was given
    the model itself.
    """

    adapter: ClassVar[str]

    name: str
    _prompts: Prompts
    _source: str | None

    @property
    def query_prompt(self) -> str:
        """What is put before a query; "" for nothing."""
        return self._prompts.query

    @property
    def document_prompt(self) -> str:
        """What is put before a document; "" for nothing."""
        return self._prompts.document


class PromptedEmbedder(Prompted, ABC):
    """The methods of a synchronous one."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Any:
        """One row for each text, without a prompt."""

    def embed_queries(self, texts: Sequence[str]) -> Any:
        """As `embed`, with the query prompt before each text."""
        return self.embed(with_prompt(texts, self.query_prompt))

    def embed_query(self, text: str) -> Any:
        """The row of one query, with the query prompt before it; empty for blank text."""
        return self.embed_queries([checked_text(text, "text")])[0]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """As `embed`, with the document prompt before each text."""
        return self.embed(with_prompt(texts, self.document_prompt))


class AsyncPromptedEmbedder(Prompted, ABC):
    """The methods of an asynchronous one."""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> Any:
        """One row for each text, without a prompt."""

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        """As `embed`, with the query prompt before each text."""
        return await self.embed(with_prompt(texts, self.query_prompt))

    async def embed_query(self, text: str) -> Any:
        """The row of one query, with the query prompt before it; empty for blank text."""
        return (await self.embed_queries([checked_text(text, "text")]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        """As `embed`, with the document prompt before each text."""
        return await self.embed(with_prompt(texts, self.document_prompt))
