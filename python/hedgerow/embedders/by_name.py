"""Embedders by name, for configuration files and command lines."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from hedgerow._adapters.models import is_folder
from hedgerow._checks import AdapterName, checked_adapter_name
from hedgerow.errors import InvalidInputError

from .base import Embedder


def _model2vec(named: AdapterName) -> Callable[..., Embedder]:
    from .model2vec_static import Model2VecEmbedder  # noqa: PLC0415 - needs its extra

    return partial(Model2VecEmbedder, named.without_url())


def _onnx(named: AdapterName) -> Callable[..., Embedder]:
    from .onnx_model import OnnxEmbedder  # noqa: PLC0415 - needs its extra

    return partial(OnnxEmbedder, named.without_url())


def _local(named: AdapterName) -> Callable[..., Embedder]:
    from .installed import InstalledEmbedder  # noqa: PLC0415 - needs its extra

    return partial(InstalledEmbedder, named.without_url())


def _static(named: AdapterName) -> Callable[..., Embedder]:
    from .static_table import StaticEmbedder  # noqa: PLC0415 - for this name alone

    return partial(StaticEmbedder, named.without_url())


def _sentence_transformers(named: AdapterName) -> Callable[..., Embedder]:
    from .sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415 - needs its extra

    return partial(SentenceTransformerEmbedder, named.without_url())


def _openai(named: AdapterName) -> Callable[..., Embedder]:
    from .openai_compatible import OpenAIEmbedder  # noqa: PLC0415 - needs its extra

    return _served(partial(OpenAIEmbedder, named.model), named.url)


def _ollama(named: AdapterName) -> Callable[..., Embedder]:
    from .ollama_server import OllamaEmbedder  # noqa: PLC0415 - needs its extra

    return _served(partial(OllamaEmbedder, named.model), named.url)


def _served(adapter: Callable[..., Embedder], url: str | None) -> Callable[..., Embedder]:
    return adapter if url is None else partial(adapter, base_url=url)


_ADAPTERS: dict[str, Callable[[AdapterName], Callable[..., Embedder]]] = {
    "local": _local,
    "model2vec": _model2vec,
    "ollama": _ollama,
    "onnx": _onnx,
    "openai": _openai,
    "sentence-transformers": _sentence_transformers,
    "static": _static,
}
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
    adapter = _ADAPTERS[named.adapter](named)
    return adapter(query_prompt=query_prompt, document_prompt=document_prompt)


def check_name(name: str) -> None:
    """Raise InvalidInputError for an invalid name, HedgerowError for `local` without a model."""
    named = _checked(name)
    if named.adapter == "local":
        from .installed import installed_folder  # noqa: PLC0415 - for this name alone

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
    make = _ADAPTERS[adapter](AdapterName(adapter, model, None))
    prompts = {"query_prompt": query_prompt, "document_prompt": document_prompt}
    return make(name=name, download=False, **prompts)


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


def missing_folder(name: str) -> str | None:
    """Return the folder or file of the model that an embedder loads from the disk, if there is none.

    None for other embedders, and for an invalid name. Nothing is loaded.
    """
    try:
        named = _checked(name)
    except InvalidInputError:
        return None
    is_local = named.adapter != "local" and not sends_texts(named.adapter)
    is_place = is_local and (named.adapter in _OF_FOLDERS or is_folder(named.model))
    return named.model if is_place and not os.path.exists(named.model) else None  # noqa: PTH110 - may not be UTF-8


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
        return (
            name,
            f"send the text of your memories and questions to {_SERVERS[named.adapter](named)}",
        )
    if named.adapter == "local":
        return name, f"run {_installed(named.model)}, on this machine and without a network"
    if named.adapter not in _OF_FOLDERS and not os.path.lexists(named.model):
        return name, f"download the model {named.model}, if it is not there, and run it"
    folder = os.path.realpath(named.model)
    return (
        f"{named.adapter}:{folder}",
        f"load the model in the folder {folder}, which may run code that is or comes to be in it",
    )


def _installed(model: str) -> str:
    return f"the installed model {model}" if model else "the installed model"


def _checked(name: str) -> AdapterName:
    if name == "local":
        return AdapterName("local", "", None)
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
    """Escape letters of other scripts, because some look like those of another host."""
    return url.encode("ascii", "backslashreplace").decode()


_SERVERS: dict[str, Callable[[AdapterName], str]] = {"ollama": _to_ollama, "openai": _to_openai}
"""The adapters that send texts, each with a function that describes address and key."""
