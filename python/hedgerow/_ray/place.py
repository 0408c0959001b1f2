"""Where actors search: a file that each opens for itself, or what opens itself when it is unpickled."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hedgerow._engine import Index


@dataclass(frozen=True)
class Place:
    """The recipe for an actor's handle. Picklable."""

    opener: Callable[..., Any]
    arguments: tuple[Any, ...]

    def open(self) -> Any:
        """A handle that only reads."""
        return self.opener(*self.arguments)


def place_of(index: Any) -> Place:
    """Return the way to open the caller's index in an actor: an open index, a path, or a collection.

    A collection pickles as its address. Raises InvalidInputError for an index in memory.
    """
    if isinstance(index, Index):
        restore, (path, dimensions, tokenizer, _, *ways) = index.__reduce__()
        return Place(restore, (_absolute(path), dimensions, tokenizer, True, *ways))
    if isinstance(index, (str, os.PathLike)):
        return Place(_open_file, (_absolute(index),))
    return Place(_itself, (index,))


def content_digest(index: Any) -> str:
    """A digest of everything in an index that answers depend on; for a collection, of its address.

    It takes about 5 microseconds a chunk.
    """
    if not isinstance(index, Index):
        return sha256(repr(index).encode("utf-8", "backslashreplace")).hexdigest()
    stats = index.stats()
    digest = sha256(
        repr((stats.tokenizer, stats.dimensions, stats.embedder, _words(index))).encode()
    )
    # In the order of rows, which decides between equal scores.
    for chunk in index.chunks():
        *texts, embedding = chunk.__reduce__()[1]
        vector = b"" if embedding is None else bytes(embedding)
        for part in (repr(texts).encode("utf-8", "backslashreplace"), vector):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _words(index: Index) -> Any:
    """The stop words of an index, in an order that is the same in each process."""
    words = index.stopwords
    return sorted(words) if isinstance(words, frozenset) else words


def _absolute(path: str | os.PathLike[str]) -> str:
    # The working directory of an actor may be another one.
    return os.path.abspath(path)  # noqa: PTH100 - it keeps links, and what comes after them


def _open_file(path: str) -> Index:
    return Index.open(path, read_only=True)


def _itself(index: Any) -> Any:
    return index
