"""What a retriever searches: an index, or a collection elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NoReturn

from hedgerow._engine import (
    Chunk,
    Index,
    SearchOptions,
    _check_embedder,
    _embedder_of,
    _unembedded,
    _upsert_from,
)
from hedgerow.errors import BackendError, InvalidInputError
from hedgerow.typing import Searchable


def embedder_of(searched: Searchable) -> tuple[str | None, str | None, int | None]:
    """The name of what made the vectors, its details, and their dimension, as far as known."""
    return _embedder_of(searched) if isinstance(searched, Index) else searched._embedder_of()  # noqa: SLF001


def check_embedder(searched: Searchable, name: str) -> None:
    """Raise InvalidInputError (`embedder_mismatch`) unless this embedder made the vectors."""
    if isinstance(searched, Index):
        _check_embedder(searched, name)
    else:
        refuse_other_embedder(searched._embedder_of()[0], name)  # noqa: SLF001


def refuse_other_embedder(known: str | None, name: str) -> None:
    """Raise InvalidInputError (`embedder_mismatch`) where another embedder is known."""
    if known is not None and known != name:
        raise InvalidInputError(
            f'the collection has vectors of the embedder "{known}", not of "{name}"; use that one, or '
            "upsert all chunks into a new collection",
            code="embedder_mismatch",
        )


def unembedded(searched: Searchable, chunks: Sequence[Chunk]) -> Sequence[int]:
    """The positions of the chunks that have to be embedded."""
    if isinstance(searched, Index):
        return _unembedded(searched, chunks)
    return searched._unembedded(chunks)  # noqa: SLF001


def upsert_from(
    searched: Searchable, chunks: Sequence[Chunk], embedder: str | None, details: str | None
) -> int:
    """Store chunks with vectors that an embedder of this name made."""
    if isinstance(searched, Index):
        return _upsert_from(searched, chunks, embedder, details)
    return searched._upsert_from(chunks, embedder, details)  # noqa: SLF001


def index_of(searched: Searchable, what: str) -> Index:
    """The index, for what collections elsewhere cannot do."""
    if isinstance(searched, Index):
        return searched
    raise InvalidInputError(
        f"{what} is for an index; upsert the chunks into a new collection instead",
        code="unsupported_by_backend",
    )


def in_one_state(
    searched: Searchable,
    options: SearchOptions,
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> tuple[Any, dict[str, Any] | None]:
    """Call the engine; what it found, and how a collection elsewhere came to its answers.

    Where the collection cannot be reached at all, every leg fails as it would have then.
    """
    if isinstance(searched, Index):
        return call(*arguments, None), None
    with ExitStack() as stack:
        moment: Any
        try:
            moment = stack.enter_context(searched._point_in_time(options.filters))  # noqa: SLF001
        except BackendError as error:
            moment = _Unreachable(error)
        found = call(*arguments, moment)
        return found, moment.report()


class _Unreachable:
    """Stands in for the point in time of a collection that could not be reached."""

    def __init__(self, error: BackendError) -> None:
        self._error = error

    def _fail(self, *_: object) -> NoReturn:
        raise self._error

    check_embedder = dimensions = counts = keyword_hits = vector_hits = _fail
    chunks = in_paths = paths = _fail

    def report(self) -> None:
        """Return None: the error says everything."""
