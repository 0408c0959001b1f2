"""Vectors for the index of a root, where its configuration names an embedder."""

from __future__ import annotations

import logging

from hedgerow._embedding import Progress, embedder_name, embedding_missing, reembedding
from hedgerow._engine import Index, _unembedded_page
from hedgerow._steps import run
from hedgerow.embedders import Embedder
from hedgerow.errors import InvalidInputError

from .derived import Derived
from .lock import locked_at_once

_logger = logging.getLogger("hedgerow.memory")

_OF_ANOTHER = frozenset({"embedder_mismatch", "dimension_mismatch"})


def are_current(index: Index, embedder: Embedder) -> bool:
    """Tell whether every chunk has been embedded, and by this embedder."""
    known, name = index.stats().embedder, embedder_name(embedder)
    if None not in (known, name) and known != name:
        return False
    missing, _ = _unembedded_page(index, 0, 1)
    return not missing


def may_search(index: Index, embedder: Embedder) -> bool:
    """Tell whether there are vectors of this embedder, be they not all there yet."""
    stats, name = index.stats(), embedder_name(embedder)
    return stats.vectors > 0 and (None in (stats.embedder, name) or stats.embedder == name)


def embed(derived: Derived, embedder: Embedder, progress: Progress | None = None) -> bool:
    """Embed what has no vector yet; everything, where the vectors are of another embedder.

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
            try:
                run(embedding_missing(index, embedder, progress))
            except InvalidInputError as error:
                if error.code not in _OF_ANOTHER:
                    raise
                run(reembedding(index, embedder, progress))
        return True
