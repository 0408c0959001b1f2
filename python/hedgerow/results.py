"""What searches and reports return: plain data that pickles, compares and prints."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._engine import Hit

__all__ = ["Hit", "IndexStats", "QueryStage"]


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What is in an index, all of one moment (spec/index.md).

    `chunks` and `paths` count chunks and their different paths, `size_bytes` is the size of
    the database without its write-ahead log, `tokenizer` what the index was made with,
    `schema_version` the version of its tables, `sqlite_version` the SQLite that reads it.
    `dimensions` and `embedder` say what the vectors are, None where that is not known; `vectors`
    counts the chunks that have one, and `vector_bytes` is the memory in which this handle keeps
    them: 0 before they are first searched.
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


@dataclass(frozen=True, slots=True)
class QueryStage:
    """What one stage of a pipeline did (spec/pipeline.md, "Results").

    `name` is the stage in its canonical form, `rows_in` and `rows_out` count the nodes before and
    after it, `candidates` those it looked at. `ms` is how long it took, in milliseconds, and takes
    no part in comparisons.
    """

    name: str
    rows_in: int
    rows_out: int
    candidates: int
    ms: float = field(compare=False)
