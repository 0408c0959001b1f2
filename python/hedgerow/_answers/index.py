"""The answers about an index: what is in it, and its chunks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hedgerow import Chunk, IndexStats

from .names import named

# Fields about a handle rather than its file: a command has just opened it, so they say nothing.
_OF_A_HANDLE = frozenset(
    {
        "vector_bytes",
        "vector_recall",
        "ranking_bytes",
        "ranking_reason",
        "text_bytes",
        "fuzzy_bytes",
        "filter_bytes",
    }
)


def stats_answer(db: str, found: IndexStats, stopwords: str | frozenset[str]) -> dict[str, Any]:
    """What is in a file."""
    values = {name: value for name, value in asdict(found).items() if name not in _OF_A_HANDLE}
    kept = stopwords if isinstance(stopwords, str) else sorted(stopwords)
    return {"db": db} | named(values) | {"stopwords": kept}


def chunk_answer(chunk: Chunk) -> dict[str, Any]:
    """All of a chunk but the numbers of its vector."""
    return {
        "id": chunk.id,
        "path": chunk.path,
        "ordinal": chunk.ordinal,
        "line": chunk.metadata.get("line_start"),
        "title": chunk.title,
        "summary": chunk.summary,
        "tags": list(chunk.tags),
        "metadata": chunk.metadata,
        "dimensions": None if chunk.embedding is None else len(chunk.embedding),
        "content": chunk.content,
    }
