"""The embedder that an index file records, for commands without an embedder option.

Anybody may have made the file. So what it names is used only where that sends nothing, loads no
folder and downloads nothing (SECURITY.md); otherwise the user is told how to name it.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from hedgerow import Embedder, HedgerowError, Index
from hedgerow._retrieval.embedding import RecordedEmbedder, embedder_of

from .models import EmbedderOptions
from .output import visible

if TYPE_CHECKING:
    from hedgerow.opensearch import Collection


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedder to use, if any, and why an index with vectors has to do without."""

    embedder: Embedder | None = None
    notice: str | None = None


def recorded_embedder(index: Index | Collection, wanted: EmbedderOptions) -> EmbedderChoice:
    """The embedder of an index, if it has vectors; `wanted` may have other prompts."""
    name, details, dimensions = embedder_of(index)
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
    return f"it {how}, which is for you to name: --embedder {_given(recorded)}"


def _given(recorded: RecordedEmbedder) -> str:
    return shlex.quote(f"{recorded.adapter}:{recorded.model}")
