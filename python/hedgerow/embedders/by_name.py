"""Embedders by one word, for configuration files and command lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hedgerow._checks import AdapterName, checked_adapter_name

from .base import Embedder


def _model2vec(named: AdapterName) -> Embedder:
    from .model2vec_static import Model2VecEmbedder  # noqa: PLC0415 - needs its extra

    return Model2VecEmbedder(named.without_url())


def _sentence_transformers(named: AdapterName) -> Embedder:
    from .sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415 - needs its extra

    return SentenceTransformerEmbedder(named.without_url())


def _openai(named: AdapterName) -> Embedder:
    from .openai_compatible import OpenAIEmbedder  # noqa: PLC0415 - needs its extra

    return _served(partial(OpenAIEmbedder, named.model), named.url)


def _ollama(named: AdapterName) -> Embedder:
    from .ollama_server import OllamaEmbedder  # noqa: PLC0415 - needs its extra

    return _served(partial(OllamaEmbedder, named.model), named.url)


def _served(adapter: Callable[..., Embedder], url: str | None) -> Embedder:
    return adapter() if url is None else adapter(base_url=url)


_ADAPTERS: dict[str, Callable[[AdapterName], Embedder]] = {
    "model2vec": _model2vec,
    "ollama": _ollama,
    "openai": _openai,
    "sentence-transformers": _sentence_transformers,
}


def embedder_named(name: str) -> Embedder:
    """The embedder of a name ADAPTER:MODEL, or ADAPTER:MODEL@URL for one on a server.

    ADAPTER is `model2vec`, `sentence-transformers`, `openai` or `ollama`, as in
    `ollama:nomic-embed-text` or `openai:bge-m3@http://localhost:8000/v1`.

    Raises InvalidInputError for another name, and what the adapter raises.
    """
    named = checked_adapter_name(
        name, "embedder", _ADAPTERS, example="model2vec:minishlab/potion-base-8M"
    )
    return _ADAPTERS[named.adapter](named)
