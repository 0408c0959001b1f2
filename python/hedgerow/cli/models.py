"""Embedders and rerankers for commands: by name, closed when the command is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from hedgerow import Embedder, Reranker

F = TypeVar("F", bound=Callable[..., Any])

EMBEDDER_HELP = (
    "ADAPTER:MODEL, with one of model2vec, sentence-transformers, openai, ollama; on another "
    "server ADAPTER:MODEL@URL."
)


def embedder_option(help_text: str, *, required: bool = False) -> Callable[[F], F]:
    """Add `--embedder`, which a command gets as a name."""
    return click.option(
        "--embedder",
        metavar="NAME",
        required=required,
        help=f"{help_text} {EMBEDDER_HELP}",
    )


@contextmanager
def embedder_of(name: str | None) -> Iterator[Embedder | None]:
    """Open the embedder of a name; None for None."""
    if name is None:
        yield None
        return
    from hedgerow.embedders import embedder_named  # noqa: PLC0415 - only when it is asked for

    embedder = embedder_named(name)
    try:
        yield embedder
    finally:
        _close(embedder)


@contextmanager
def reranker_of(name: str | None) -> Iterator[Reranker | None]:
    """Open the reranker of a name; None for None."""
    if name is None:
        yield None
        return
    from hedgerow.rerankers import reranker_named  # noqa: PLC0415 - only when it is asked for

    reranker = reranker_named(name)
    try:
        yield reranker
    finally:
        _close(reranker)


def _close(adapter: object) -> None:
    """Let go of its connections; a model in this process has none."""
    close = getattr(adapter, "close", None)
    if close is not None:
        close()
