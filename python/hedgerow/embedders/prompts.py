"""Prompts of adapters: one for queries, another for documents (spec/adapters.md, "Prompts")."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hedgerow._checks import checked_text, checked_texts

_PASSAGES = "Represent this sentence for searching relevant passages: "
_WEB_SEARCH = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

# From the models' own cards and configurations. Models with uncertain prompts are omitted.
_FAMILIES: Sequence[tuple[str, str, str]] = (
    (r"(multilingual-)?e5-(small|base|large)(-v2)?", "query: ", "passage: "),
    (r"multilingual-e5-large-instruct|e5-mistral-7b-instruct", f"{_WEB_SEARCH} ", ""),
    (r"nomic-embed-text(-v1|-v1\.5|-v2-moe)?", "search_query: ", "search_document: "),
    (r"modernbert-embed-(base|large)", "search_query: ", "search_document: "),
    (r"bge-(small|base|large)-en(-v1\.5)?|bge-large", _PASSAGES, ""),
    (r"bge-(small|base|large)-zh(-v1\.5)?", "为这个句子生成表示以用于检索相关文章：", ""),  # noqa: RUF001 - the model's
    (r"mxbai-embed-large(-v1)?|uae-large-v1", _PASSAGES, ""),
    (r"snowflake-arctic-embed(-(xs|s|m|l|m-long|m-v1\.5))?", _PASSAGES, ""),
    (r"snowflake-arctic-embed-[ml]-v2\.0|snowflake-arctic-embed2", "query: ", ""),
    (r"qwen3-embedding(-(0\.6|4|8)b)?", _WEB_SEARCH, ""),
    (
        r"embeddinggemma(-300m|-2(-\d+m)?)?",
        "task: search result | query: ",
        "title: none | text: ",
    ),
)

# Suffixes of converted copies of a model, which compute the same up to rounding.
_COPY = re.compile(r"[-.](gguf|onnx|mlx|f16|fp16|bf16|f32|int8|[48]bit|q\d\w*)$")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts for queries and documents, and which of them the caller chose."""

    query: str = ""
    document: str = ""
    query_given: bool = False
    document_given: bool = False

    def given(self, query: str | None, document: str | None) -> Prompts:
        """Return the prompts with the caller's changes. "" removes a prompt, and None keeps it."""
        for what, prompt in (("query_prompt", query), ("document_prompt", document)):
            if prompt is not None:
                checked_text(prompt, what)
        return Prompts(
            self.query if query is None else query,
            self.document if document is None else document,
            query is not None,
            document is not None,
        )


def prompts_of_model(name: str) -> Prompts | None:
    """Return the prompts of the model family of a name. None for unknown models.

    The publisher of a copy and the tag of an Ollama model are ignored.
    """
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2].partition(":")[0].lower()
    while copy := _COPY.search(base):
        base = base[: copy.start()]
    for family, query, document in _FAMILIES:
        if re.fullmatch(family, base):
            return Prompts(query, document)
    return None


def with_prompt(texts: Sequence[str], prompt: str) -> list[str]:
    """Return the texts with the prompt before each. Blank texts stay blank, and get no vector."""
    return [prompt + text if text.strip() else text for text in checked_texts(texts)]


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
