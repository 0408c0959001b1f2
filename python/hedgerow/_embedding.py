"""Embedding chunks: as they are stored, all of them again, or those without a vector."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any

from ._checks import listed
from ._engine import (
    Chunk,
    Index,
    _begin_staging,
    _check_embedder,
    _replace_by_staged,
    _set_embeddings,
    _stage_embeddings,
    _unembedded,
    _unembedded_page,
    _unstaged_page,
    _upsert_from,
)
from ._observing import observer
from ._steps import Call, Steps
from .embedders.base import AsyncEmbedder, Embedder, Embeddings
from .errors import HedgerowError

Progress = Callable[[int, int], object]

_log = logging.getLogger("hedgerow.embedding")

# How many chunks are embedded and stored at once: what an interruption can lose.
_BLOCK = 256


def embedder_name(embedder: Embedder | AsyncEmbedder) -> str | None:
    """The name that identifies its vectors, or None."""
    name = getattr(embedder, "name", None)
    return name if isinstance(name, str) and name else None


def embedded(embedder: Embedder | AsyncEmbedder, texts: Sequence[str]) -> Steps[Embeddings]:
    """One row for each text."""
    with observer().embedding(embedder, len(texts)) as call:
        rows = checked_rows((yield Call(embedder.embed, (texts,))), len(texts))
        call.embedded(rows)
    return rows


def checked_rows(rows: Any, texts: int) -> Embeddings:
    """The rows of an embedder; raises HedgerowError unless there is one for each text."""
    # A text has a length too, and is no rows.
    count = None if isinstance(rows, str) or not hasattr(rows, "__len__") else len(rows)
    if count != texts:
        answered = "something without rows" if count is None else f"{count} rows"
        raise HedgerowError(
            f"the embedder answered with {answered} for {texts} texts; "
            "it must return one row for each text, in their order",
            code="bad_answer",
        )
    checked: Embeddings = rows
    return checked


def upserting(
    index: Index,
    embedder: Embedder | AsyncEmbedder | None,
    chunks: Iterable[Chunk],
    progress: Progress | None,
) -> Steps[int]:
    """Store chunks, block by block when they must be embedded first; how many distinct ids."""
    given = listed(chunks)
    with observer().writing("upsert", index, len(given)):
        return (yield from _upserting(index, embedder, given, progress))


def _upserting(
    index: Index,
    embedder: Embedder | AsyncEmbedder | None,
    given: list[Chunk],
    progress: Progress | None,
) -> Steps[int]:
    if embedder is None:
        stored: int = yield Call(index.upsert, (given,))
        if progress is not None and given:
            progress(len(given), len(given))
        return stored
    name = embedder_name(embedder)
    if name is not None:
        yield Call(_check_embedder, (index, name))
    without = frozenset((yield Call(_unembedded, (index, given))))
    for start in range(0, len(given), _BLOCK):
        block = given[start : start + _BLOCK]
        missing = [i for i in range(len(block)) if start + i in without]
        if missing:
            rows = yield from embedded(embedder, [chunk_text(block[i]) for i in missing])
            for i, row in zip(missing, rows, strict=True):
                block[i] = block[i]._with_embedding(row)  # noqa: SLF001 - the shell's half of this
        yield Call(_upsert_from, (index, block, name))
        if progress is not None:
            progress(start + len(block), len(given))
    return len({chunk.id for chunk in given})


def reembedding(
    index: Index, embedder: Embedder | AsyncEmbedder, progress: Progress | None
) -> Steps[int]:
    """Replace all vectors, at one stroke once all are there; how many chunks took theirs.

    They are staged in the file block by block, so an attempt with the same named embedder goes on
    where one that failed ended.
    """
    name, started = embedder_name(embedder), perf_counter()
    staged: int = yield Call(_begin_staging, (index, name))
    waiting: int = yield Call(len, (index,))
    after = 0
    while True:
        page, after = yield Call(_unstaged_page, (index, after, _BLOCK))
        if not page:
            break
        rows = yield from embedded(embedder, [chunk_text(chunk) for chunk in page])
        staged += yield Call(_stage_embeddings, (index, page, rows))
        if progress is not None:
            progress(staged, max(staged, waiting))
    stored: int = yield Call(_replace_by_staged, (index,))
    # What was written while the others were embedded.
    stored += yield from embedding_missing(index, embedder, None)
    seconds = perf_counter() - started
    _log.info(
        "embedded %d chunks anew in %.2f s with %s", stored, seconds, name or "an unnamed embedder"
    )
    return stored


def embedding_missing(
    index: Index, embedder: Embedder | AsyncEmbedder, progress: Progress | None
) -> Steps[int]:
    """Give vectors to the stored chunks that have none; how many took theirs."""
    name = embedder_name(embedder)
    if name is not None:
        yield Call(_check_embedder, (index, name))
    stored = after = 0
    stats = yield Call(index.stats, ())
    waiting: int = stats.chunks - stats.vectors
    while True:
        page, after = yield Call(_unembedded_page, (index, after, _BLOCK))
        if not page:
            return stored
        rows = yield from embedded(embedder, [chunk_text(chunk) for chunk in page])
        stored += yield Call(_set_embeddings, (index, page, rows, name))
        if progress is not None:
            progress(stored, max(stored, waiting))


def chunk_text(chunk: Chunk) -> str:
    """What is embedded of a chunk: title, summary and content, a line each, but no blank one."""
    return "\n".join(text for text in (chunk.title, chunk.summary, chunk.content) if text.strip())
