"""Embedders by one word, for configuration files and command lines."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from hedgerow._checks import AdapterName, checked_adapter_name
from hedgerow.errors import InvalidInputError

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
    named = _checked(name)
    return _ADAPTERS[named.adapter](named)


def what_it_does(name: str) -> tuple[str, str] | None:
    """Return a name, with the folder it means made absolute, and what its embedder would do.

    For a person who is to allow it; nothing is loaded or contacted. None for a name of no embedder.
    """
    try:
        named = _checked(name)
    except InvalidInputError:
        return None
    if named.adapter in _SERVERS:
        return (
            name,
            f"send the text of your memories and questions to {_SERVERS[named.adapter](named)}",
        )
    if not os.path.lexists(named.model):
        return name, f"download the model {named.model}, if it is not there, and run it"
    folder = os.path.realpath(named.model)
    return (
        f"{named.adapter}:{folder}",
        f"load the model in the folder {folder}, which may run code that is or comes to be in it",
    )


def _checked(name: str) -> AdapterName:
    return checked_adapter_name(
        name, "embedder", _ADAPTERS, example="model2vec:minishlab/potion-base-8M"
    )


def _to_openai(named: AdapterName) -> str:
    from .openai_compatible import OPENAI_URL, what_is_sent  # noqa: PLC0415 - for some names only

    return what_is_sent(_ascii(named.url or OPENAI_URL))


def _to_ollama(named: AdapterName) -> str:
    from .ollama_server import OLLAMA_URL  # noqa: PLC0415 - for some names only

    return f"{_ascii(named.url or OLLAMA_URL)}, without a key"


def _ascii(url: str) -> str:
    """Show the letters of other scripts as escapes: some look like those of another host."""
    return url.encode("ascii", "backslashreplace").decode()


_SERVERS: dict[str, Callable[[AdapterName], str]] = {"ollama": _to_ollama, "openai": _to_openai}
"""The adapters that send texts away, each with a function that says where to and with which key."""
