"""The results of searches and reports: plain data that pickles, compares and prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Annotated, Any, overload

from hedgerow.errors import InvalidInputError

from ._checks import checked_flag
from ._engine import Hit, Node, Store
from ._operations.fields import Field
from ._pydantic import PydanticType, hit_of
from .trace import Attempt, Trace

__all__ = [
    "Attempt",
    "Deletion",
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
__dir__ = partial(sorted, __all__)

STAGES = {
    "bm25": "search by keywords",
    "vector": "search by meaning",
    "rerank": "the reranker",
}
"""The stages that can fail, as sentences name them."""


@dataclass(frozen=True, slots=True)
class Response(PydanticType):
    """The result of a search: `results`, best first, and the `trace` (spec/retrieval.md).

    It iterates over its results, has their number as its length, is false when there are none, and
    gives one by its position and a list of them for a slice. pydantic and FastAPI read and write it
    as `to_dict` has it. `error` is what failed first while the rest answered, the embedder, a leg or
    the reranker: a HedgerowError of theirs, or else a RetrievalError with theirs as its `__cause__`.
    `offset` is how many better ones were skipped: the first of the results is number `offset + 1`.
    There were `trace.fused_count` before that, and before a reranker dropped any.
    """

    results: list[Hit]
    trace: Trace
    error: Exception | None = field(default=None, compare=False)
    offset: int = 0

    @property
    def not_searched_for(self) -> list[str]:
        """The words of the query that were not searched for: stop words, and short ones."""
        return list(self.trace.not_searched_for)

    @property
    def notices(self) -> list[str]:
        """Sentences on what was not searched for, not understood, excluded or spelled in another way.

        They also say if a part of the search failed, or keywords alone answered a search by meaning.
        """
        dropped = ", ".join(self.trace.not_searched_for)
        noise = [f"Not searched for: {dropped}."] if dropped else []
        return [*self._failed(), *noise, *self._without_meaning(), *self.trace.notices]

    def _failed(self) -> list[str]:
        """The stage that failed, without its error, which may name hosts and files."""
        stage = self.trace.error_stage
        if stage is None:
            return []
        return [f"{STAGES[stage].capitalize()} failed; these are the results without it."]

    def _without_meaning(self) -> list[str]:
        """Why no vector took part in a search by meaning that has no error."""
        trace = self.trace
        if trace.error_stage is not None:
            return []
        if trace.fell_back_to_bm25:
            return ["Searched by keywords alone: no embedder was given."]
        if trace.embedder_used and trace.vector_count == 0 and trace.bm25_count > 0:
            return ["Searched by keywords alone: none of the chunks has a vector."]
        return []

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self.results[index]

    def to_dict(self) -> dict[str, Any]:
        """The response as JSON has it: `results`, `offset`, `error`, `notices` and `trace`, each as its own
        `to_dict`.

        Of an error it has the `type` and the `code`, without the message, which may name hosts and
        files that a client must not see.
        """
        error = self.error
        return {
            "results": [hit.to_dict() for hit in self.results],
            "offset": self.offset,
            "error": None
            if error is None
            else {"type": type(error).__name__, "code": getattr(error, "code", None)},
            "notices": self.notices,
            "trace": self.trace.to_dict(),
        }

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each result, and a column for each field of `Hit.to_dict`.

        Without results, too, it has all columns with their types. A value that a hit lacks is missing.
        Raises MissingExtraError where pandas is not installed.
        """
        from ._tables import pandas_frame  # noqa: PLC0415 - of few callers

        return pandas_frame(self.results)

    def to_arrow(self) -> Any:
        """A pyarrow.Table with a row for each result, and a column for each field of `Hit.to_dict`.

        `tags` are lists of texts; `metadata` and `explanation` are texts of JSON, as every hit may
        have other keys. Without results, too, it has all columns with their types. Raises
        MissingExtraError where pyarrow is not installed.
        """
        from ._tables import arrow_table  # noqa: PLC0415 - of few callers

        return arrow_table(self.results)

    @classmethod
    def _from_dict(cls, keys: Mapping[str, Any]) -> Response:
        """The response that `to_dict` describes; its error cannot be made from that, and is None."""
        trace, error = keys["trace"], keys.get("error")
        hits = [hit if isinstance(hit, Hit) else hit_of(hit) for hit in keys["results"]]
        return cls(
            hits,
            trace if isinstance(trace, Trace) else Trace._from_dict(trace),  # noqa: SLF001 - its own
            error if isinstance(error, Exception) else None,
            keys.get("offset", 0),
        )

    def _repr_html_(self) -> str:
        from ._html import of_response  # noqa: PLC0415 - of notebooks alone

        return of_response(self)

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
        lines.extend(self.notices)
        rungs = [attempt for attempt in trace.attempts if attempt.strategy != "initial"]
        lines.extend(
            f"Keywords found nothing; then {rung.strategy} tried {rung.query!r}: {rung.hits} found."
            for rung in rungs
        )
        if trace.fell_back_to_bm25 and trace.error_stage is not None:
            lines.append("Keywords alone answered a search by meaning.")
        if trace.reranked:
            lines.append(f"Reranked by {trace.rerank_provider}.")
        if self.offset:
            past = "" if self.results else ", which is past the last"
            lines.append(f"Skipped the first {self.offset}{past}.")
        for rank, hit in enumerate(self.results, start=self.offset + 1):
            lines.append(f"{rank}. {hit.path} ({hit.id}): {hit.explain()}")
        return "\n".join(lines)


_OF_A_HANDLE = Field(local=True)
"""A field about a handle rather than its file: a client of a server has none, nor has a command."""


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
    keys that are declared, and `filter_bytes` is the approximate memory of the fields that filters
    tested and of the chunks that passed.
    """

    chunks: int
    paths: int
    size_bytes: int
    tokenizer: str
    schema_version: int
    sqlite_version: str
    dimensions: Annotated[int | None, Field(null=True)]
    embedder: Annotated[str | None, Field(null=True)]
    vectors: int
    vector_bytes: Annotated[int, _OF_A_HANDLE] = 0
    vector_recall: Annotated[float | None, _OF_A_HANDLE] = None
    ranking_bytes: Annotated[int, _OF_A_HANDLE] = 0
    ranking_reason: Annotated[str, _OF_A_HANDLE] = ""
    text_bytes: Annotated[int, _OF_A_HANDLE] = 0
    fuzzy_bytes: Annotated[int, _OF_A_HANDLE] = 0
    metadata_index: tuple[str, ...] = ()
    filter_bytes: Annotated[int, _OF_A_HANDLE] = 0


@dataclass(frozen=True, slots=True)
class Deletion:
    """The outcome of `Retriever.delete`.

    `removed` is the number of removed chunks. `ids` has the given ids that had a chunk, and `missing`
    the given ids and paths that had none, both in their order and each once. Both are empty for a filter.
    """

    removed: int
    ids: Sequence[str]
    missing: Sequence[str]


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
class QueryResult(PydanticType):
    """The result of a pipeline (spec/pipeline.md, "Results").

    `keys` and `scores` are the nodes in order. After `count` there are none, and `count` is how
    many there are; after `select` there are `columns` and `rows` besides, which are None otherwise.
    `pairs` holds (key, key, similarity) after interference-pairs, most similar first. `warnings`
    names what was missing, a sentence each; `stale` is true when communities or coordinates are of
    earlier edges. `stages` is empty without explain=True.

    It iterates over the keys, as many as its length, and gives one by its position and a list of them
    for a slice; `nodes(store)` are the nodes themselves.
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

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.keys[index]

    def nodes(self, store: Store) -> list[Node]:
        """The nodes of the keys, in their order, as the store has them now.

        A node that was deleted since the query is left out.
        """
        if not isinstance(store, Store):
            raise InvalidInputError(
                f"store must be the Store that was queried, not {type(store).__name__}",
                code="invalid_option",
            )
        found = (store.get(key) for key in self.keys)
        return [node for node in found if node is not None]

    def to_dict(self) -> dict[str, Any]:
        """Every attribute by its name, as JSON has them."""
        return {**asdict(self), "pairs": [list(pair) for pair in self.pairs]}

    @classmethod
    def _from_dict(cls, keys: Mapping[str, Any]) -> QueryResult:
        """The result that `to_dict` describes."""
        given = {name: keys[name] for name in cls.__dataclass_fields__}
        given["pairs"] = [tuple(pair) for pair in given["pairs"]]
        given["stages"] = [
            QueryStage(**stage) if isinstance(stage, Mapping) else stage
            for stage in given["stages"]
        ]
        return cls(**given)

    def _repr_html_(self) -> str:
        from ._html import of_query_result  # noqa: PLC0415 - of notebooks alone

        return of_query_result(self)

    def __repr__(self) -> str:
        if self.count is not None:
            return f"QueryResult(count={self.count})"
        shown = 5
        more = f" and {len(self.keys) - shown} more" if len(self.keys) > shown else ""
        return f"QueryResult(keys={self.keys[:shown]!r}{more})"


@dataclass(frozen=True, slots=True)
class Intent:
    """The intent of a query: neither, either or both (spec/retrieval.md, "Intents").

    `preference`: advice or a recommendation. `concrete_fact`: a number, a list, or what the
    asker did.
    """

    preference: bool = False
    concrete_fact: bool = False

    def __post_init__(self) -> None:
        checked_flag(self.preference, "preference")
        checked_flag(self.concrete_fact, "concrete_fact")


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
