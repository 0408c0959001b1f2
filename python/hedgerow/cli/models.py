"""Embedders and rerankers for commands: by name, closed when the command is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar

from hedgerow import Embedder, Reranker

from .options import option

F = TypeVar("F", bound=Callable[..., Any])

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


def embedder_option(help_text: str, *, required: bool = False) -> Callable[[F], F]:
    """Add `--embedder` and its prompts, which a command gets as one `embedder`, a `EmbedderOptions`."""
    of_embedder = partial(option, section="Embedder")
    options = [
        of_embedder(
            "--embedder",
            metavar="NAME",
            required=required,
            help=f"{help_text} {EMBEDDER_HELP}",
        ),
        of_embedder(
            "--query-prompt",
            metavar="TEXT",
            help='The text before each query, "" for none.  [default: that of its model]',
        ),
        of_embedder(
            "--document-prompt",
            metavar="TEXT",
            help='The text before each chunk, "" for none.  [default: that of its model]',
        ),
    ]

    def decorate(command: F) -> F:
        @wraps(command)
        def with_wanted(
            *args: Any,
            embedder: str | None,
            query_prompt: str | None,
            document_prompt: str | None,
            **rest: Any,
        ) -> Any:
            wanted = EmbedderOptions(embedder, query_prompt, document_prompt)
            return command(*args, embedder=wanted, **rest)

        decorated: Any = with_wanted
        for add in reversed(options):
            decorated = add(decorated)
        result: F = decorated
        return result

    return decorate


@contextmanager
def embedder_of(wanted: EmbedderOptions) -> Iterator[Embedder | None]:
    """Open the embedder that was named; None without a name."""
    if wanted.name is None:
        yield None
        return
    from hedgerow.embedders import embedder_named  # noqa: PLC0415 - only when it is asked for

    embedder = embedder_named(wanted.name, **wanted.prompts)
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
