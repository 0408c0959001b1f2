"""HTTP embedders with a local server that responds like the real services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.embedders import (
    OllamaEmbedder,
    OpenAIEmbedder,
)
from local_server import LocalServer, Reply, Request

KEY = "sk-hedge-0123456789"


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.5]


def openai_answer(request: Request) -> Reply:
    """Return OpenAI's documented response in reverse order, which `index` corrects."""
    data = [
        {"object": "embedding", "index": index, "embedding": vector_of(text)}
        for index, text in enumerate(request.body["input"])
    ]
    return Reply({"object": "list", "data": data[::-1], "model": request.body["model"]})


def ollama_answer(request: Request) -> Reply:
    return Reply({"embeddings": [vector_of(text) for text in request.body["input"]]})


def openai(server: LocalServer, **options: Any) -> OpenAIEmbedder:
    server.answer = openai_answer
    return server.closes(OpenAIEmbedder("small", base_url=f"{server.url}/v1", **options))


def ollama(server: LocalServer, **options: Any) -> OllamaEmbedder:
    server.answer = ollama_answer
    return server.closes(OllamaEmbedder("small", base_url=server.url, **options))


def refused(call: Callable[[], object]) -> hr.HedgerowError:
    with pytest.raises(hr.HedgerowError) as raised:
        call()
    return raised.value


def rows(embeddings: Any) -> list[list[float]]:
    return [list(row) for row in embeddings]
