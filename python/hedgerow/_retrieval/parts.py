"""What a retriever is made of besides its index: an embedder and a reranker, checked."""

from __future__ import annotations

from typing import Any

from hedgerow.embedders._forms import forms_of
from hedgerow.embedders.base import AnyEmbedder
from hedgerow.errors import InvalidInputError
from hedgerow.rerankers.base import AnyReranker

from .reranking import is_asynchronous


def parts_of(
    embedder: AnyEmbedder | str | None, reranker: AnyReranker | str | None
) -> tuple[AnyEmbedder | None, AnyReranker | None, list[Any]]:
    """The embedder and the reranker, those given by name made; and which of them are to be closed."""
    made: list[Any] = []
    if isinstance(embedder, str):
        from hedgerow.embedders.by_name import embedder_named  # noqa: PLC0415 - for names alone

        embedder = embedder_named(embedder)
        made.append(embedder)
    if isinstance(reranker, str):
        from hedgerow.rerankers.by_name import reranker_named  # noqa: PLC0415 - for names alone

        reranker = reranker_named(reranker)
        made.append(reranker)
    return embedder, reranker, [part for part in made if hasattr(part, "close")]


def asynchronous_parts(embedder: AnyEmbedder | None, reranker: AnyReranker | None) -> list[str]:
    """Which of the two must be awaited; raises TypeError for anything but an embedder and a reranker."""
    found = []
    if embedder is not None and forms_of(embedder).asynchronous:
        found.append("embedder")
    if reranker is not None and is_asynchronous(reranker):
        found.append("reranker")
    return found


def check_plain(asynchronous: list[str], method: str, *, writes: bool = False) -> None:
    """Raise InvalidInputError for parts that must be awaited, in a method that cannot await.

    A method that writes does not use the reranker.
    """
    parts = [part for part in asynchronous if part == "embedder" or not writes]
    if parts:
        raise InvalidInputError(
            f"the {parts[0]} is asynchronous; await a{method}(...) instead of {method}(...)",
            code="incompatible_options",
        )


def needed(embedder: AnyEmbedder | None) -> AnyEmbedder:
    """The embedder; raises InvalidInputError for none."""
    if embedder is None:
        raise InvalidInputError(
            "this retriever has no embedder; pass one: Retriever(index, embedder=...)",
            code="invalid_option",
        )
    return embedder
