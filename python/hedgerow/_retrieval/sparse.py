"""Sparse embedders: which fit a retriever, and the sparse vectors of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow._dual import Steps
from hedgerow.embedders._forms import Form, SparseForms, checked_sparse_rows, sparse_forms_of
from hedgerow.embedders.sparse import SparseEmbedder
from hedgerow.errors import InvalidInputError

from . import observing


def checked_sparse(
    sparse: SparseEmbedder | None, *, fusion: str, in_collection: bool
) -> SparseForms | None:
    """Return how the sparse embedder is asked, or None without one.

    Raises InvalidInputError for anything else, for a collection, and for a fusion without such a leg.
    """
    if sparse is None:
        return None
    forms = sparse_forms_of(sparse)
    if in_collection:
        raise InvalidInputError(
            "sparse is for an index: a collection has no sparse vectors; leave it out",
            code="unsupported_by_backend",
        )
    if fusion != "score":
        raise InvalidInputError(
            'sparse vectors take part in score fusion alone; pass ranking=Ranking("best"), or '
            'Ranking(fusion="score"), to Retriever',
            code="incompatible_options",
        )
    return forms


def encoded(documents: Form, texts: Sequence[str]) -> Steps[Sequence[Any]]:
    """Return the sparse vector of each text of a document."""
    with observing.observer().embedding(documents.embedder, len(texts)):
        return checked_sparse_rows((yield from documents.answer(texts)), len(texts))
