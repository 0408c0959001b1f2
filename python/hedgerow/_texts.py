"""`Index.from_texts`: plain texts as an index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from ._checks import checked_texts, listed
from ._engine import Chunk, Index
from .errors import InvalidInputError

_DIGITS = 16
"""How many hexadecimal digits an id has that is made from a text: 64 bits."""


def from_texts(  # noqa: PLR0913 - each has its default
    texts: Iterable[str],
    *,
    ids: Iterable[str] | None = None,
    paths: Iterable[str] | None = None,
    metadatas: Iterable[Mapping[str, Any] | None] | None = None,
    embeddings: Iterable[Any] | None = None,
    path: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Index:
    """Make the chunks of `Index.from_texts`, then the index."""
    contents = _list("texts", texts)
    count = len(contents)
    own_paths = _values("paths", paths, count)
    given = {
        "metadata": _values("metadatas", metadatas, count),
        "embedding": _values("embeddings", embeddings, count),
    }
    names = list(_ids(contents, own_paths)) if ids is None else _values("ids", ids, count)
    _check_distinct(names)
    ordinals: Counter[str] = Counter()
    chunks = []
    for i, content in enumerate(contents):
        of_path = names[i] if own_paths[i] is None else own_paths[i]
        rest = {key: values[i] for key, values in given.items()}
        chunks.append(Chunk(names[i], of_path, content, ordinal=ordinals[of_path], **rest))
        ordinals[of_path] += 1
    index = Index.in_memory(**options) if path is None else Index.open(path, **options)
    try:
        index.upsert(chunks)
    except BaseException:
        index.close()
        raise
    return index


def _list(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise InvalidInputError(
            f"{name} must be an iterable of str, not {type(values).__name__}", code="invalid_option"
        )
    return checked_texts(values, name)  # type: ignore[arg-type]  # any iterable will do


def _values(name: str, values: Iterable[Any] | None, count: int) -> list[Any]:
    """A value for each text; None for each where none are given."""
    if values is None:
        return [None] * count
    if name in ("ids", "paths"):
        found = _list(name, values)
    elif isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidInputError(
            f"{name} must be a list with one for each text, not {type(values).__name__}",
            code="invalid_option",
        )
    else:
        found = listed(values)
    if len(found) != count:
        raise InvalidInputError(
            f"{name} has {len(found):,} values for {count:,} texts; give one for each",
            code="invalid_chunk",
        )
    return found


def _ids(texts: Sequence[str], paths: Sequence[str | None]) -> Iterator[str]:
    """An id for each text that is the same each time, and no other text's."""
    seen: Counter[str] = Counter()
    for text, path in zip(texts, paths, strict=True):
        name = sha256(f"{path or ''}\0{text}".encode()).hexdigest()[:_DIGITS]
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def _check_distinct(ids: Sequence[str]) -> None:
    for name, count in Counter(ids).items():
        if count > 1:
            raise InvalidInputError(
                f"ids has {name!r} {count} times; every text needs its own id",
                code="invalid_chunk",
            )
