"""Filling a collection from an index."""

from __future__ import annotations

from typing import NamedTuple

from hedgerow._engine import Chunk, Index, _embedder_of, _unembedded
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Progress, Tokenizer

from ._documents import blocks
from .collection import Collection


class CopyCounts(NamedTuple):
    """The counts of a copy: written chunks, and unchanged chunks."""

    written: int
    unchanged: int


def copy_index(
    index: Index, collection: Collection, *, progress: Progress | None = None
) -> CopyCounts:
    """Write every chunk of an index into a collection, with its vector.

    Chunks that the collection has as they are in the index are not written, so that calling this
    again continues an interrupted copy. Other chunks of the collection stay.
    `progress(done, total)` is called after each block.

    A collection of an index with the tokenizer `words` has `porter unicode61`, which finds the same only
    in ASCII texts without words such as `C++`.

    Raises InvalidInputError where the collection has another tokenizer or other stop words, and
    what `Collection.upsert` raises.
    """
    _check_alike(index, collection)
    name, details, _ = _embedder_of(index)
    total, written, unchanged = len(index), 0, 0
    for block in blocks(index.chunks()):
        changed = _with_what_is_known(index, collection.differing(block))
        collection._upsert_from(changed, name, details, refresh=False)  # noqa: SLF001 - of its package
        written += len(changed)
        unchanged += len(block) - len(changed)
        if progress is not None:
            progress(written + unchanged, max(total, written + unchanged))
    collection._refresh()  # noqa: SLF001 - of its package
    return CopyCounts(written, unchanged)


def collection_tokenizer(index: Index) -> Tokenizer:
    """Return the tokenizer of a collection for the chunks of an index.

    A collection cannot have `words`, of which `porter unicode61` has the tokens of ASCII texts.
    """
    return "porter unicode61" if index.tokenizer == "words" else index.tokenizer


def _check_alike(index: Index, collection: Collection) -> None:
    for what, code in (("tokenizer", "tokenizer_mismatch"), ("stopwords", "incompatible_options")):
        ours, theirs = getattr(index, what), getattr(collection, what)
        if what == "tokenizer":
            ours = collection_tokenizer(index)
        if ours != theirs:
            raise InvalidInputError(
                f"the index has the {what} {ours!r} and the collection has {theirs!r}; copy into a new "
                "collection",
                code=code,
            )


def _with_what_is_known(index: Index, chunks: list[Chunk]) -> list[Chunk]:
    """Return the chunks, with an empty embedding if the index knows that they have no vector."""
    unknown = set(_unembedded(index, chunks))
    return [
        chunk._with_embedding([])  # noqa: SLF001 - of this package
        if chunk.embedding is None and place not in unknown
        else chunk
        for place, chunk in enumerate(chunks)
    ]
