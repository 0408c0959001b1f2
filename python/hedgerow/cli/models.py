"""Embedders and rerankers for commands: by name, closed when the command is done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from hedgerow import Embedder, HedgerowError, Index, Reranker
from hedgerow._retrieval.embedding import RecordedEmbedder
from hedgerow._retrieval.embedding import embedder_of as embedder_recorded_in

from .options import F, text_option, with_options
from .output import visible

if TYPE_CHECKING:
    from hedgerow.opensearch import Collection

T = TypeVar("T")

EMBEDDER_HELP = (
    "local for an installed model, or ADAPTER:MODEL, with one of model2vec, "
    "sentence-transformers, onnx, static, openai, ollama; on another server ADAPTER:MODEL@URL."
)


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """The embedder that the user named, and its prompts; each is None if it was not given."""

    name: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None

    def __bool__(self) -> bool:
        return self != EmbedderOptions()

    @property
    def prompts(self) -> dict[str, str | None]:
        """The prompts as an adapter takes them."""
        return {"query_prompt": self.query_prompt, "document_prompt": self.document_prompt}


def embedder_option(help_text: str) -> Callable[[F], F]:
    """Add `--embedder` and its prompts, which a command gets as one `embedder`, a `EmbedderOptions`."""
    prompt = 'The text before each {}, "" for none.  [default: that of its model]'
    options = [
        text_option(name, metavar, text, section="Embedder")
        for name, metavar, text in (
            ("--embedder", "NAME", f"{help_text} {EMBEDDER_HELP}"),
            ("--query-prompt", "TEXT", prompt.format("query")),
            ("--document-prompt", "TEXT", prompt.format("chunk")),
        )
    ]

    def decorate(command: F) -> F:
        @wraps(command)
        def with_wanted(*args: Any, embedder: str | None, **rest: Any) -> Any:
            prompts = (rest.pop(name) for name in ("query_prompt", "document_prompt"))
            return command(*args, embedder=EmbedderOptions(embedder, *prompts), **rest)

        return with_options(cast("F", with_wanted), *options)

    return decorate


@contextmanager
def embedder_of(wanted: EmbedderOptions) -> Iterator[Embedder | None]:
    """Open the embedder that was named; None without a name."""
    if wanted.name is None:
        yield None
        return
    from hedgerow.embedders import embedder_named  # noqa: PLC0415 - only when it is asked for

    with _closed(embedder_named(wanted.name, **wanted.prompts)) as embedder:
        yield embedder


@contextmanager
def reranker_of(name: str | None) -> Iterator[Reranker | None]:
    """Open the reranker of a name; None for None."""
    if name is None:
        yield None
        return
    from hedgerow.rerankers import reranker_named  # noqa: PLC0415 - only when it is asked for

    with _closed(reranker_named(name)) as reranker:
        yield reranker


@contextmanager
def _closed(adapter: T) -> Iterator[T]:
    try:
        yield adapter
    finally:
        # A model in this process has no connections to close.
        close = getattr(adapter, "close", None)
        if close is not None:
            close()


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedder to use, if any, and why an index with vectors has to do without."""

    embedder: Embedder | None = None
    notice: str | None = None


def recorded_embedder(index: Index | Collection, wanted: EmbedderOptions) -> EmbedderChoice:
    """The embedder of an index, if it has vectors; `wanted` may have other prompts."""
    name, details, dimensions = embedder_recorded_in(index)
    # Without a name the dimensions may be all there is of vectors; counting takes a while.
    if dimensions is None or (name is None and index.stats().vectors == 0):
        return EmbedderChoice()
    recorded = RecordedEmbedder.read(name, details)
    try:
        embedder = _loaded(recorded, wanted)
    except HedgerowError as error:
        why = error.message
        if error.code == "model_unavailable":
            why += f". To download it, name it: --embedder {_given(recorded)}"
        return EmbedderChoice(notice=_notice(index, recorded, why))
    except Exception as error:  # noqa: BLE001 - whatever a library raises, keywords answer
        return EmbedderChoice(notice=_notice(index, recorded, f"it cannot be loaded ({error})"))
    return (
        EmbedderChoice(embedder)
        if embedder
        else EmbedderChoice(notice=_notice(index, recorded, _how(recorded)))
    )


def check_prompts(wanted: EmbedderOptions, embedder: Embedder | None) -> None:
    """Refuse prompts where there is no embedder to use them."""
    if wanted and embedder is None:
        raise click.UsageError("--query-prompt and --document-prompt go with --embedder NAME.")


def _loaded(recorded: RecordedEmbedder, wanted: EmbedderOptions) -> Embedder | None:
    from hedgerow.embedders.by_name import local_embedder, may_be_local  # noqa: PLC0415 - for some

    adapter, model, name = recorded.adapter, recorded.model, recorded.name
    if adapter is None or model is None or name is None or not may_be_local(adapter, model):
        return None
    query, document = wanted.query_prompt, wanted.document_prompt
    return local_embedder(
        adapter,
        model,
        name=name,
        query_prompt=(recorded.query_prompt or "") if query is None else query,
        document_prompt=(recorded.document_prompt or "") if document is None else document,
    )


def _notice(index: Index | Collection, recorded: RecordedEmbedder, why: str) -> str:
    of = "without a name" if recorded.name is None else f'"{recorded.name}"'
    place = index.path if isinstance(index, Index) else f"{index.url}/{index.name}"
    return visible(f"{place} has vectors of the embedder {of}, which is not used: {why}")


def _how(recorded: RecordedEmbedder) -> str:
    """Say how to name an embedder that a file alone may not bring into use."""
    from hedgerow.embedders.by_name import sends_texts  # noqa: PLC0415 - for some indexes only

    if recorded.adapter is None or recorded.model is None:
        return "the file does not say how to load it; name it with --embedder ADAPTER:MODEL"
    how = (
        "sends texts to an address" if sends_texts(recorded.adapter) else "is loaded from a folder"
    )
    return f"it {how}, so name it yourself: --embedder {_given(recorded)}"


def _given(recorded: RecordedEmbedder) -> str:
    return shlex.quote(f"{recorded.adapter}:{recorded.model}")
