"""Embedding chunks: as they are stored, all of them again, or those without a vector."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from time import perf_counter

from hedgerow._checks import listed
from hedgerow._engine import (
    Chunk,
    Index,
    _begin_staging,
    _chunks,
    _replace_by_staged,
    _set_embeddings,
    _stage_embeddings,
    _unembedded_page,
    _unstaged_page,
)
from hedgerow._steps import Call, Steps
from hedgerow.embedders.base import AnyEmbedder, Embeddings
from hedgerow.typing import ChunkLike, Progress, Searchable

from .admission import Admitted, admission, own_admission
from .collection import unembedded, upsert_from
from .observing import observer

_log = logging.getLogger("hedgerow.embedding")

# How many chunks are embedded and stored at once: what an interruption can lose.
_BLOCK = 256


def embedded(admitted: Admitted, texts: Sequence[str]) -> Steps[Embeddings]:
    """One row for each text of a document."""
    form = admitted.forms.documents
    with observer().embedding(form.embedder, len(texts)) as call:
        rows = yield from form.rows(texts)
        call.embedded(rows)
    return rows


def upserting(
    index: Searchable,
    embedder: AnyEmbedder | None,
    chunks: Iterable[ChunkLike],
    progress: Progress | None,
) -> Steps[int]:
    """Store chunks, block by block when they must be embedded first; returns how many distinct ids."""
    given = listed(chunks)
    with observer().writing("upsert", index, len(given)):
        return (yield from _upserting(index, embedder, given, progress))


def _upserting(
    index: Searchable,
    embedder: AnyEmbedder | None,
    items: list[ChunkLike],
    progress: Progress | None,
) -> Steps[int]:
    given = _chunks(items)
    if embedder is None:
        stored: int = yield Call(index.upsert, (given,))
        if progress is not None and given:
            progress(len(given), len(given))
        return stored
    admitted = yield from admission(index, embedder)
    without = frozenset((yield Call(unembedded, (index, given))))
    for start in range(0, len(given), _BLOCK):
        block = given[start : start + _BLOCK]
        missing = [i for i in range(len(block)) if start + i in without]
        if missing:
            rows = yield from embedded(admitted, [chunk_text(block[i]) for i in missing])
            for i, row in zip(missing, rows, strict=True):
                block[i] = block[i]._with_embedding(row)  # noqa: SLF001 - of this package
        yield Call(upsert_from, (index, block, admitted.name, admitted.details))
        if progress is not None:
            progress(start + len(block), len(given))
    return len({chunk.id for chunk in given})


def reembedding(index: Index, embedder: AnyEmbedder, progress: Progress | None) -> Steps[int]:
    """Replace all vectors in one transaction, once all are there; returns how many chunks got one.

    They are staged in the file block by block, so that the next attempt with an embedder of the same
    name continues where a failed one ended.
    """
    own, started = own_admission(embedder), perf_counter()
    staged: int = yield Call(_begin_staging, (index, own.name, own.details))
    waiting: int = yield Call(len, (index,))
    after = 0
    while True:
        page, after = yield Call(_unstaged_page, (index, after, _BLOCK))
        if not page:
            break
        rows = yield from embedded(own, [chunk_text(chunk) for chunk in page])
        staged += yield Call(_stage_embeddings, (index, page, rows))
        if progress is not None:
            progress(staged, max(staged, waiting))
    stored: int = yield Call(_replace_by_staged, (index,))
    # What was written while the others were embedded.
    stored += yield from embedding_missing(index, embedder, None)
    seconds = perf_counter() - started
    _log.info(
        "embedded %d chunks anew in %.2f s with %s",
        stored,
        seconds,
        own.name or "an unnamed embedder",
    )
    return stored


def embedding_missing(index: Index, embedder: AnyEmbedder, progress: Progress | None) -> Steps[int]:
    """Embed the stored chunks that have no vector; returns how many got one."""
    admitted = yield from admission(index, embedder)
    stored = after = 0
    stats = yield Call(index.stats, ())
    waiting: int = stats.chunks - stats.vectors
    while True:
        page, after = yield Call(_unembedded_page, (index, after, _BLOCK))
        if not page:
            return stored
        rows = yield from embedded(admitted, [chunk_text(chunk) for chunk in page])
        stored += yield Call(_set_embeddings, (index, page, rows, admitted.name, admitted.details))
        if progress is not None:
            progress(stored, max(stored, waiting))


def chunk_text(chunk: Chunk) -> str:
    """What is embedded of a chunk: title, summary and content on lines of their own, less blank ones."""
    return "\n".join(text for text in (chunk.title, chunk.summary, chunk.content) if text.strip())
