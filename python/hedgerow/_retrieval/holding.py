"""What a retriever holds: its parts, whose index it closes, and deleting from it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import cast

from hedgerow._checks import shown
from hedgerow._engine import Index
from hedgerow._steps import Call, Steps, arun
from hedgerow.embedders.base import AnyEmbedder
from hedgerow.errors import IndexFileError
from hedgerow.rerankers.base import AsyncReranker, Reranker
from hedgerow.typing import Collection, Searchable

from .searching import Stages

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self


class Holding:
    """Has an index, which it opened itself or was given, and maybe an embedder and a reranker."""

    _stages: Stages
    _owned: bool
    """Whether it opened the index, and so closes it."""
    _asynchronous: list[str]
    """Which of its parts have `async` methods."""

    @property
    def index(self) -> Index:
        """What is searched: an index, or a collection elsewhere, which has other methods besides."""
        return cast("Index", self._stages.index)

    @property
    def embedder(self) -> AnyEmbedder | None:
        """What turns texts into vectors."""
        return self._stages.embedder

    @property
    def reranker(self) -> Reranker | AsyncReranker | None:
        """What reorders the best hits."""
        return self._stages.reranker

    def delete(self, ids: Iterable[str]) -> int:
        """Remove the chunks of these ids, as `Index.delete` does; returns how many there were."""
        return self.index.delete(ids)

    async def adelete(self, ids: Iterable[str]) -> int:
        """`delete` without blocking the event loop."""
        return await arun(_one(Call(self.index.delete, (ids,))))

    def delete_path(self, path: str) -> int:
        """Remove every chunk of a path, as `Index.delete_path` does; returns how many there were."""
        return self.index.delete_path(path)

    async def adelete_path(self, path: str) -> int:
        """`delete_path` without blocking the event loop."""
        return await arun(_one(Call(self.index.delete_path, (path,))))

    def close(self) -> None:
        """Close the index if this retriever opened it; an index that was given stays open.

        Embedder and reranker are their makers' to close. Closing again does nothing.
        """
        if self._owned:
            self.index.close()

    async def aclose(self) -> None:
        """`close` without blocking the event loop, which waits for running searches."""
        if self._owned:
            await arun(_one(Call(self.index.close, ())))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


@contextmanager
def held_index(index: Searchable | str | os.PathLike[str], *, create: bool) -> Iterator[Searchable]:
    """The index or the collection that was given, or that of a path: closed again if what follows fails.

    Raises IndexFileError (`index_not_found`) if there is no file, unless it may be created.
    """
    if isinstance(index, (Index, Collection)):
        yield index
        return
    if not isinstance(index, (str, os.PathLike)):
        raise TypeError(
            f"index must be an Index, the path of one, or a Collection, not {shown(index)}"
        )
    if create is not True and not os.path.lexists(index):
        raise IndexFileError(
            f"there is no index at {os.fspath(index)}; check the path, or pass create=True to make a "
            "new one",
            code="index_not_found",
        )
    opened = Index.open(index)
    try:
        yield opened
    except BaseException:
        opened.close()
        raise


def _one(call: Call) -> Steps[int]:
    result: int = yield call
    return result
