"""The vectors of the index of a root: made by its embedder, or taken from another root's index."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hedgerow._dual import run
from hedgerow._engine import (
    Index,
    _has_vectors,
    _is_embedded,
    _set_embeddings,
    _unembedded_page,
)
from hedgerow._retrieval.embedding import (
    EmbedderBinding,
    admission,
    chunk_text,
    embedding_missing,
    reembedding,
)
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import IndexFileError, InvalidInputError

from .derived import Derived
from .files import locked_at_once
from .names import mark_of

if TYPE_CHECKING:
    from hedgerow.typing import Progress

_logger = logging.getLogger("hedgerow.memory")

_PAGE = 256
"""The chunks whose vectors are taken from another index in one transaction."""

_OF_ANOTHER = frozenset({"embedder_mismatch", "dimension_mismatch"})


def are_current(index: Index, embedder: AnyEmbedder) -> bool:
    """Return whether every chunk has been embedded, and by this embedder."""
    admitted = _admitted(index, embedder)
    if admitted is None or admitted.is_older:
        return False
    return _is_embedded(index)


def may_search(index: Index, embedder: AnyEmbedder) -> bool:
    """Return whether there are vectors of this embedder, even if not for all chunks yet."""
    return _has_vectors(index) and _admitted(index, embedder) is not None


def embed(derived: Derived, embedder: AnyEmbedder, progress: Progress | None = None) -> bool:
    """Embed the chunks without a vector.

    Embeds all if the vectors are of another embedder or prompt.

    The lock of the root is free meanwhile, for a remote embedder may take long. Where another
    process embeds already, this one leaves it to that, and returns False. `progress(done, total)`
    counts chunks.

    Raises what the embedder raises; what was embedded before stays.
    """
    with locked_at_once(derived.embedding_lock) as is_ours:
        if not is_ours:
            _logger.info("%s is being embedded by another process", derived.root)
            return False
        with Index.open(derived.index, durability=derived.durability) as index:
            _bring_up_to_date(derived, index, embedder, progress)
        return True


def _bring_up_to_date(
    derived: Derived, index: Index, embedder: AnyEmbedder, progress: Progress | None
) -> None:
    admitted = _admitted(index, embedder)
    if admitted is not None and not admitted.is_older:
        for number, member in enumerate(derived.members):
            _take_vectors(index, mark_of(number), member, embedder, admitted)
        try:
            run(embedding_missing(index, embedder, progress))
        except InvalidInputError as error:
            if error.code not in _OF_ANOTHER:
                raise
        else:
            return
    run(reembedding(index, embedder, progress))


def _take_vectors(
    index: Index, mark: str, member: Derived, embedder: AnyEmbedder, admitted: EmbedderBinding
) -> None:
    """Take the vectors of a root that is recalled together with others from its own index.

    Only those of equal texts and of the same embedder are taken. An index that cannot be read has none.
    """
    try:
        with Index.open(member.index, read_only=True) as own:
            of_member = _admitted(own, embedder)
            if of_member is None or of_member.name != admitted.name or not _has_vectors(own):
                return
            _copy_vectors(index, own, f"{mark}/", admitted)
    except (IndexFileError, OSError) as error:
        _logger.info("no vectors are taken from %s: %s", member.index, error)


def _copy_vectors(index: Index, own: Index, start: str, admitted: EmbedderBinding) -> None:
    after = 0
    while True:
        page, after = _unembedded_page(index, after, _PAGE)
        if not page:
            return
        wanted = [chunk for chunk in page if chunk.id.startswith(start)]
        known = own.get_many([chunk.id.removeprefix(start) for chunk in wanted])
        pairs = [
            (chunk, one.embedding)
            for chunk, one in zip(wanted, known, strict=True)
            if one is not None and one.embedding and chunk_text(one) == chunk_text(chunk)
        ]
        if pairs:
            chunks, vectors = zip(*pairs, strict=True)
            _set_embeddings(index, chunks, vectors, admitted.name, admitted.details)


def _admitted(index: Index, embedder: AnyEmbedder) -> EmbedderBinding | None:
    """How the index takes the embedder; None where its vectors are of another, or another prompt."""
    try:
        return run(admission(index, embedder, reports=False))
    except InvalidInputError as error:
        if error.code not in _OF_ANOTHER:
            raise
        return None
