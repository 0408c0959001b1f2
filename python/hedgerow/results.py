"""What searches and reports return: plain data that pickles, compares and prints."""

from __future__ import annotations

from dataclasses import dataclass

from ._engine import Hit

__all__ = ["Hit", "IndexStats"]


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What is in an index, all of one moment (spec/index.md).

    `chunks` and `paths` count chunks and their different paths, `size_bytes` is the size of
    the database without its write-ahead log, `tokenizer` what the index was made with,
    `schema_version` the version of its tables, `sqlite_version` the SQLite that reads it.
    `dimensions` and `embedder` say what the vectors are, None where that is not known; `vectors`
    counts the chunks that have one, and `vector_bytes` is the memory in which this handle keeps
    them: 0 before they are first searched. `ranking_bytes` is the memory with which it ranks by
    BM25: 0 as long as FTS5 does.
    """

    chunks: int
    paths: int
    size_bytes: int
    tokenizer: str
    schema_version: int
    sqlite_version: str
    dimensions: int | None
    embedder: str | None
    vectors: int
    vector_bytes: int
    ranking_bytes: int
