"""What searches and reports return: plain data that pickles, compares and prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ._engine import Hit, Trace

__all__ = ["Attempt", "Hit", "IndexStats", "QueryStage", "Response", "Trace"]


class Attempt(NamedTuple):
    """One search by keywords: its strategy, its text and the number of its hits (spec/trace.md)."""

    strategy: str
    query: str
    hits: int


@dataclass(frozen=True, slots=True)
class Response:
    """The result of a search: `results`, best first, and the `trace` (spec/retrieval.md).

    It iterates over its results, and is false when there are none.
    """

    results: list[Hit]
    trace: Trace

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> Hit:
        return self.results[index]

    def explain(self) -> str:
        """A paragraph on the search and one on each result, for a person to read."""
        trace = self.trace
        legs = [f"{trace.bm25_count} by keywords"]
        if trace.embedder_used:
            legs.append(f"{trace.vector_count} by meaning")
        searched = trace.match_query or "nothing, for no word was searchable"
        lines = [
            f"Searched in mode {trace.mode} for {searched}.",
            f"Found {' and '.join(legs)}, {trace.fused_count} together.",
        ]
        rungs = [attempt for attempt in trace.attempts if attempt.strategy != "initial"]
        lines.extend(
            f"Keywords found nothing; then {rung.strategy} tried {rung.query!r}: {rung.hits} found."
            for rung in rungs
        )
        if trace.error_stage is not None:
            lines.append(f"Degraded: the stage {trace.error_stage} failed.")
        if trace.fell_back_to_bm25:
            lines.append("Meaning was asked for, and keywords answered alone.")
        if trace.reranked:
            lines.append(f"Reranked by {trace.rerank_provider}.")
        for rank, hit in enumerate(self.results, start=1):
            lines.append(f"{rank}. {hit.path} ({hit.id}): {hit.explain()}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What is in an index, all of one moment (spec/index.md).

    `chunks` and `paths` count chunks and their different paths, `size_bytes` is the size of
    the database without its write-ahead log, `tokenizer` what the index was made with,
    `schema_version` the version of its tables, `sqlite_version` the SQLite that reads it.
    `dimensions` and `embedder` say what the vectors are, None where that is not known; `vectors`
    counts the chunks that have one, and `vector_bytes` is the memory in which this handle keeps
    them: 0 before they are first searched. `vector_recall` is the recall of
    approximate search, measured on a sample (1.0 is all), None while searches are exact.
    `ranking_bytes` is the memory of BM25 ranking, 0 while FTS5 ranks.
    `ranking_reason` is a sentence on which of the two ranks, and why: "memory: ..." or "fts5: ...".
    `text_bytes` is the approximate memory of the texts that searches found last, `fuzzy_bytes`
    that of the slugs for fuzzy matching: 0 before the first such search.
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
    vector_recall: float | None
    ranking_bytes: int
    ranking_reason: str
    text_bytes: int
    fuzzy_bytes: int


@dataclass(frozen=True, slots=True)
class QueryStage:
    """What one stage of a pipeline did (spec/pipeline.md, "Results").

    `name` is the stage in its canonical form, `rows_in` and `rows_out` count the nodes before and
    after it, `candidates` those it examined. `ms` is its time in milliseconds, which comparisons
    ignore.
    """

    name: str
    rows_in: int
    rows_out: int
    candidates: int
    ms: float = field(compare=False)
