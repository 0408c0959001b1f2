"""An adapter with prompts and predictable vectors."""

from __future__ import annotations

from typing import Any

from hedgerow.embedders.prompts import PromptedEmbedder, Prompts
from retrieval_doubles import fnv64


class Adapter(PromptedEmbedder):
    """An adapter over fnv64, by default with the prompts of E5."""

    adapter = "ollama"

    def __init__(self, query: str | None = None, document: str | None = None) -> None:
        self.name = "e5"
        self._source = "e5"
        self._prompts = Prompts("query: ", "passage: ").given(query, document)
        self.calls: list[list[str]] = []

    def embed(self, texts: Any) -> Any:
        self.calls.append(list(texts))
        return [fnv64(text) for text in texts]
