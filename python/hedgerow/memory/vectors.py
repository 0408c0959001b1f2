"""Vectors for the index of a root, where its configuration names an embedder."""

from __future__ import annotations

import logging

from hedgerow._engine import Index, _has_vectors, _is_embedded
from hedgerow._retrieval.admission import Admitted, admission
from hedgerow._retrieval.embedding import embedding_missing, reembedding
from hedgerow._steps import run
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Progress

from .derived import Derived
from .lock import locked_at_once

_logger = logging.getLogger("hedgerow.memory")

_OF_ANOTHER = frozenset({"embedder_mismatch", "dimension_mismatch"})


def are_current(index: Index, embedder: AnyEmbedder) -> bool:
    """Tell whether every chunk has been embedded, and by this embedder."""
    admitted = _admitted(index, embedder)
    if admitted is None or admitted.is_older:
        return False
    return _is_embedded(index)


def may_search(index: Index, embedder: AnyEmbedder) -> bool:
    """Tell whether there are vectors of this embedder, even if not for all chunks yet."""
    return _has_vectors(index) and _admitted(index, embedder) is not None


def embed(derived: Derived, embedder: AnyEmbedder, progress: Progress | None = None) -> bool:
    """Embed what has no vector yet; everything, where the vectors are of another embedder or prompt.

    The lock of the root is free meanwhile, for a remote embedder may take long. Where another
    process embeds already, this one leaves it to that, and returns False. `progress(done, total)`
    counts chunks.

    Raises what the embedder raises; what was embedded before stays.
    """
    with locked_at_once(derived.embedding_lock) as is_ours:
        if not is_ours:
            _logger.info("%s is being embedded by another process", derived.root)
            return False
        with Index.open(derived.index) as index:
            _bring_up_to_date(index, embedder, progress)
        return True


def _bring_up_to_date(index: Index, embedder: AnyEmbedder, progress: Progress | None) -> None:
    admitted = _admitted(index, embedder)
    if admitted is not None and not admitted.is_older:
        try:
            run(embedding_missing(index, embedder, progress))
        except InvalidInputError as error:
            if error.code not in _OF_ANOTHER:
                raise
        else:
            return
    run(reembedding(index, embedder, progress))


def _admitted(index: Index, embedder: AnyEmbedder) -> Admitted | None:
    """How the index takes the embedder; None where its vectors are of another, or another prompt."""
    try:
        return run(admission(index, embedder, reports=False))
    except InvalidInputError as error:
        if error.code not in _OF_ANOTHER:
            raise
        return None
