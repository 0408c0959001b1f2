"""What a retriever searches: an index, or a collection elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Literal, NoReturn, Protocol, TypeAlias, runtime_checkable

from hedgerow._engine import (
    Chunk,
    Filters,
    Index,
    SearchOptions,
    _check_embedder,
    _embedder_of,
    _unembedded,
    _upsert_from,
)
from hedgerow.errors import BackendError, InvalidInputError
from hedgerow.typing import ChunkLike, Tokenizer


@runtime_checkable
class Collection(Protocol):
    """A collection of chunks that is elsewhere, as `hedgerow.opensearch.Collection` is one."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What its texts are split by."""

    @property
    def stopwords(self) -> Literal["en+nl", "en", "nl", "none"] | frozenset[str]:
        """What bare queries lose."""

    def upsert(self, chunks: Iterable[ChunkLike]) -> int:
        """Store chunks; how many distinct ids."""

    def delete(self, ids: Iterable[str]) -> int:
        """Remove chunks; how many there were."""

    def delete_path(self, path: str) -> int:
        """Remove the chunks of a path; how many there were."""

    def get(self, id: str) -> Chunk | None:  # noqa: A002 - as `Index.get` has it
        """The chunk of an id."""

    def close(self) -> None:
        """Close the connections."""

    def _point_in_time(self, filters: Filters | None) -> AbstractContextManager[Any]: ...

    def _upsert_from(
        self, chunks: Sequence[Chunk], embedder: str | None, details: str | None
    ) -> int: ...

    def _unembedded(self, chunks: Sequence[Chunk]) -> Sequence[int]: ...

    def _embedder_of(self) -> tuple[str | None, str | None, int | None]: ...


Searched: TypeAlias = Index | Collection


def embedder_of(searched: Searched) -> tuple[str | None, str | None, int | None]:
    """The name of what made the vectors, its details, and their dimension, as far as known."""
    return _embedder_of(searched) if isinstance(searched, Index) else searched._embedder_of()  # noqa: SLF001


def check_embedder(searched: Searched, name: str) -> None:
    """Raise InvalidInputError (`embedder_mismatch`) for another embedder than that of the vectors."""
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


def unembedded(searched: Searched, chunks: Sequence[Chunk]) -> Sequence[int]:
    """The positions of the chunks that have to be embedded."""
    if isinstance(searched, Index):
        return _unembedded(searched, chunks)
    return searched._unembedded(chunks)  # noqa: SLF001


def upsert_from(
    searched: Searched, chunks: Sequence[Chunk], embedder: str | None, details: str | None
) -> int:
    """Store chunks with vectors that an embedder of this name made."""
    if isinstance(searched, Index):
        return _upsert_from(searched, chunks, embedder, details)
    return searched._upsert_from(chunks, embedder, details)  # noqa: SLF001


def index_of(searched: Searched, what: str) -> Index:
    """The index, for what collections elsewhere cannot do."""
    if isinstance(searched, Index):
        return searched
    raise InvalidInputError(
        f"{what} is for an index; upsert the chunks into a new collection instead",
        code="unsupported_by_backend",
    )


def in_one_state(
    searched: Searched,
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
    """A point in time of a collection that did not give one."""

    def __init__(self, error: BackendError) -> None:
        self._error = error

    def _fail(self, *_: object) -> NoReturn:
        raise self._error

    check_embedder = dimensions = counts = keyword_hits = vector_hits = _fail
    chunks = in_paths = paths = _fail

    def report(self) -> None:
        """There is nothing to say of it but the error."""
