"""Vectors for the index of a root, where its configuration names an embedder."""

from __future__ import annotations

from hedgerow._embedding import Progress, embedder_name, embedding_missing, reembedding
from hedgerow._engine import Index, _unembedded_page
from hedgerow._steps import run
from hedgerow.embedders import Embedder
from hedgerow.errors import InvalidInputError

from .derived import Derived, open_to_write
from .lock import locked

_OF_ANOTHER = frozenset({"embedder_mismatch", "dimension_mismatch"})


def are_current(index: Index, embedder: Embedder) -> bool:
    """Tell whether every chunk has been embedded, and by this embedder."""
    known, name = index.stats().embedder, embedder_name(embedder)
    if None not in (known, name) and known != name:
        return False
    missing, _ = _unembedded_page(index, 0, 1)
    return not missing


def embed(derived: Derived, embedder: Embedder, progress: Progress | None = None) -> None:
    """Embed what has no vector yet; everything, where the vectors are of another embedder.

    `progress(done, total)` counts chunks.

    Raises what the embedder raises; what was embedded before stays.
    """
    with locked(derived.lock), open_to_write(derived) as index:
        try:
            run(embedding_missing(index, embedder, progress))
        except InvalidInputError as error:
            if error.code not in _OF_ANOTHER:
                raise
            run(reembedding(index, embedder, progress))
