"""What searches and reports return: plain data that pickles, compares and prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ._engine import Hit
from ._profiles import profile_of

__all__ = [
    "Attempt",
    "Hit",
    "IndexStats",
    "Intent",
    "QueryResult",
    "QueryStage",
    "Response",
    "Trace",
    "TrigramHit",
    "Unanimity",
]


class Attempt(NamedTuple):
    """One search by keywords: its strategy, its text and the number of its hits (spec/trace.md)."""

    strategy: str
    query: str
    hits: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What a search did, step by step (spec/trace.md).

    Each attribute is a key of `to_dict()` in snake_case, None where that key is absent. Traces
    are equal when the searches did the same, however long they took.
    """

    mode: Literal["bm25", "semantic", "hybrid"]
    matching: Literal["spec", "extended"]
    fusion: Literal["rrf", "score"]
    neighbors: bool
    reweight: bool
    group_by: Literal["path"] | None
    original_query: str
    augmented_query: str | None
    date_hints: list[str]
    compiled_query: str = field(repr=False)
    match_query: str
    not_searched_for: list[str]
    candidate_k: int
    rrf_k: float
    attempts: list[Attempt]
    bm25_count: int
    vector_count: int
    fused_count: int
    fell_back_to_bm25: bool
    embedder_used: bool
    reranked: bool
    rerank_provider: str | None
    unanimity: int | None
    rerank_skipped_reason: (
        Literal["empty_candidates", "mode_off", "no_reranker", "unanimity"] | None
    )
    error_stage: Literal["bm25", "vector", "rerank"] | None
    timings: dict[str, float] = field(compare=False, repr=False)

    @property
    def candidates(self) -> int:
        """`candidate_k` under the name of the option of `Retriever.search`."""
        return self.candidate_k

    @property
    def profile(self) -> Literal["spec", "best"] | None:
        """The profile of these options; None where they are no profile's."""
        return profile_of(
            matching=self.matching,
            fusion=self.fusion,
            neighbors=self.neighbors,
            reweight=self.reweight,
        )

    def to_dict(self) -> dict[str, Any]:
        """The trace as documented: JSON with keys in camelCase, without what is absent."""
        keys = {
            "mode": self.mode,
            "profile": None if self.profile == "spec" else self.profile,
            "matching": None if self.matching == "spec" else self.matching,
            "fusion": None if self.fusion == "rrf" else self.fusion,
            "neighbors": self.neighbors or None,
            "reweight": None if self.reweight else False,
            "groupBy": self.group_by,
            "originalQuery": self.original_query,
            "augmentedQuery": self.augmented_query,
            "dateHints": None if self.augmented_query is None else list(self.date_hints),
            "compiledQuery": self.compiled_query,
            "matchQuery": self.match_query,
            "notSearchedFor": list(self.not_searched_for) or None,
            "candidateK": self.candidate_k,
            "rrfK": self.rrf_k,
            "attempts": [attempt._asdict() for attempt in self.attempts],
            "bm25Count": self.bm25_count,
            "vectorCount": self.vector_count,
            "fusedCount": self.fused_count,
            "fellBackToBM25": self.fell_back_to_bm25,
            "embedderUsed": self.embedder_used,
            "reranked": self.reranked,
            "rerankProvider": self.rerank_provider,
            "unanimity": None if self.unanimity is None else {"agreements": self.unanimity},
            "rerankSkippedReason": self.rerank_skipped_reason,
            "errorStage": self.error_stage,
            "timings": dict(self.timings),
        }
        return {key: value for key, value in keys.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Response:
    """The result of a search: `results`, best first, and the `trace` (spec/retrieval.md).

    It iterates over its results, and is false when there are none. `error` is what the leg reported
    that failed while the other answered. `offset` is how many better ones were skipped: the first of
    the results is number `offset + 1`. There were `trace.fused_count` before that, and before a
    reranker dropped any.
    """

    results: list[Hit]
    trace: Trace
    error: Exception | None = field(default=None, compare=False)
    offset: int = 0

    @property
    def not_searched_for(self) -> list[str]:
        """The words of the query that were not searched for: stop words, and short ones."""
        return list(self.trace.not_searched_for)

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
        if trace.not_searched_for:
            lines.append(f"Not searched for: {', '.join(trace.not_searched_for)}.")
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
        if self.offset:
            past = "" if self.results else ", which is past the last"
            lines.append(f"Skipped the first {self.offset}{past}.")
        for rank, hit in enumerate(self.results, start=self.offset + 1):
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
    that of the slugs for fuzzy matching: 0 before the first such search. `metadata_index` has the
    keys that are declared, and `filter_bytes` is the approximate memory of their values and of
    what filters left.
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
    metadata_index: tuple[str, ...] = ()
    filter_bytes: int = 0


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


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a pipeline (spec/pipeline.md, "Results").

    `keys` and `scores` are the nodes in order. After `count` there are none, and `count` is how
    many there are; after `select` there are `columns` and `rows` besides, which are None otherwise.
    `pairs` holds (key, key, similarity) after interference-pairs, most similar first. `warnings`
    names what was missing, a sentence each; `stale` is true when communities or coordinates are of
    earlier edges. `stages` is empty without explain=True.
    """

    keys: list[str]
    scores: list[float]
    count: int | None
    columns: list[str] | None
    rows: list[list[str | int | float]] | None
    pairs: list[tuple[str, str, float]]
    warnings: list[str]
    stale: bool
    stages: list[QueryStage]

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        if self.count is not None:
            return f"QueryResult(count={self.count})"
        shown = 5
        more = f" and {len(self.keys) - shown} more" if len(self.keys) > shown else ""
        return f"QueryResult(keys={self.keys[:shown]!r}{more})"


@dataclass(frozen=True, slots=True)
class Intent:
    """What a query asks for; neither, either or both (spec/retrieval.md, "Intents").

    `preference`: advice or a recommendation. `concrete_fact`: a number, a list, or what the
    asker did.
    """

    preference: bool = False
    concrete_fact: bool = False


@dataclass(frozen=True, slots=True)
class Unanimity:
    """Two legs that found the same head on their own (spec/retrieval.md, "Unanimity").

    `ids` are the first three ids of the BM25 leg. `agreements` counts the positions among them at
    which both legs have the same id.
    """

    ids: tuple[str, ...]
    agreements: int


@dataclass(frozen=True, slots=True)
class TrigramHit:
    """A chunk whose slug is like a word (spec/retrieval.md, "Fuzzy matching").

    `similarity` is the Jaccard similarity with the most similar token, 0.3 to 1.
    """

    id: str
    path: str
    similarity: float
