"""Embedders by name, for configuration files and command lines."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from hedgerow._adapters.local import is_folder
from hedgerow._checks import AdapterName, checked_adapter_name
from hedgerow.errors import HedgerowError, InvalidInputError

from .base import Embedder

_ADAPTERS = {
    "local": "InstalledEmbedder",
    "model2vec": "Model2VecEmbedder",
    "ollama": "OllamaEmbedder",
    "onnx": "OnnxEmbedder",
    "openai": "OpenAIEmbedder",
    "sentence-transformers": "SentenceTransformerEmbedder",
    "static": "StaticEmbedder",
}
"""The classes of this package, by the names of adapters."""

_SERVERS = frozenset({"ollama", "openai"})
"""The adapters that send texts."""

_OF_FOLDERS = ("onnx", "static")
"""The adapters that load a folder and cannot use a hub."""


def embedder_named(
    name: str, *, query_prompt: str | None = None, document_prompt: str | None = None
) -> Embedder:
    """Return the embedder of a name ADAPTER:MODEL, or ADAPTER:MODEL@URL for a server.

    ADAPTER is `model2vec`, `sentence-transformers`, `openai` or `ollama`, as in
    `ollama:nomic-embed-text` or `openai:bge-m3@http://localhost:8000/v1`; `onnx` or `static` with a
    folder; or `local`, alone or with the name of an installed model (docs/how-to/local-meaning.md).
    The prompts are put before queries and documents instead of the model's known prompts; "" means
    none.

    Raises InvalidInputError for another name, and the errors of the adapter.
    """
    named = _checked(name)
    return _adapter(named, query_prompt=query_prompt, document_prompt=document_prompt)


def _adapter(named: AdapterName, **options: Any) -> Embedder:
    package = import_module(__package__)
    adapter: Callable[..., Embedder] = getattr(package, _ADAPTERS[named.adapter])
    if named.adapter not in _SERVERS:
        return adapter(named.without_url(), **options)
    url = {} if named.url is None else {"base_url": named.url}
    return adapter(named.model, **url, **options)


def check_name(name: str) -> None:
    """Raise InvalidInputError for an invalid name, HedgerowError for `local` without a model."""
    named = _checked(name)
    if named.adapter == "local":
        from .local import installed_folder  # noqa: PLC0415 - for this name alone

        installed_folder(named.model)


def local_embedder(
    adapter: str, model: str, *, name: str, query_prompt: str, document_prompt: str
) -> Embedder:
    """Return an embedder that a file names. The model must exist on this machine.

    The author of the file is untrusted. Raises InvalidInputError unless `may_be_local`,
    HedgerowError (`model_unavailable`) for a missing model, and the errors of the adapter.
    """
    if not may_be_local(adapter, model):
        raise InvalidInputError(
            f"{adapter}:{model} is used only where its user names it", code="invalid_option"
        )
    prompts = {"query_prompt": query_prompt, "document_prompt": document_prompt}
    return _adapter(AdapterName(adapter, model, None), name=name, download=False, **prompts)


def sends_texts(adapter: str) -> bool:
    """Whether an adapter sends texts to a server."""
    return adapter in _SERVERS


def may_be_local(adapter: str, model: str) -> bool:
    """Whether a file may name this embedder: a hub model, for an adapter that sends no texts.

    A folder may contain code, and an attacker may send a folder along with a file.
    """
    if adapter == "local":
        return True  # the name of a package that the user installed
    if adapter in _OF_FOLDERS:
        return False
    return adapter in _ADAPTERS and not sends_texts(adapter) and not is_folder(model)


def why_unusable(name: str) -> str | None:
    """Return the reason why the embedder of a name cannot embed now; None if it can.

    Loads the model, and sends one word to a server. Downloads nothing. Raises InvalidInputError for
    an invalid name, with which a recall fails.
    """
    named = _checked(name)
    options = {} if sends_texts(named.adapter) else {"download": False}
    try:
        embedder = _adapter(named, **options)
        try:
            embedder.embed(["hedgerow"])
        finally:
            getattr(embedder, "close", lambda: None)()
    except HedgerowError as error:
        # A folder may be on another disk.
        if isinstance(error, InvalidInputError) and error.code != "path_not_found":
            raise
        return error.message
    return None


def what_it_does(name: str) -> tuple[str, str] | None:
    """Return a name with an absolute folder, and a description of what its embedder would do.

    The description is for a user who is asked for consent. Nothing is loaded or contacted. None for
    an invalid name.
    """
    try:
        named = _checked(name)
    except InvalidInputError:
        return None
    if named.adapter in _SERVERS:
        return name, f"send the text of your memories and questions to {_address(named)}"
    if named.adapter == "local":
        model = f"the installed model {named.model}".rstrip()
        return name, f"run {model}, on this machine and without a network"
    if named.adapter not in _OF_FOLDERS and not os.path.lexists(named.model):
        return name, f"download the model {named.model}, if it is not there, and run it"
    folder = os.path.realpath(named.model)
    return (
        f"{named.adapter}:{folder}",
        f"load the model in the folder {folder}, which may run code that is or comes to be in it",
    )


def _checked(name: str) -> AdapterName:
    if name == "local":
        return AdapterName("local", "", None)
    return checked_adapter_name(
        name, "embedder", _ADAPTERS, example="model2vec:minishlab/potion-base-8M"
    )


def _address(named: AdapterName) -> str:
    """Return the address to which an adapter sends texts, and its key, for a user."""
    from .served import OLLAMA_URL, OPENAI_URL, what_is_sent  # noqa: PLC0415 - for some names only

    if named.adapter == "openai":
        return what_is_sent(_ascii(named.url or OPENAI_URL))
    return f"{_ascii(named.url or OLLAMA_URL)}, without a key"


def _ascii(url: str) -> str:
    """Escape letters of other scripts, because some look like those of another host."""
    return url.encode("ascii", "backslashreplace").decode()
