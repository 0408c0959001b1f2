"""Names for what arguments may be, for annotations (README.md, "Types").

    from hedgerow.typing import Mode, QuestionDate

    def ask(question: str, mode: Mode = "auto", asked: QuestionDate | None = None) -> hr.Response: ...

Classes are where they are made: in `hedgerow` itself, results of memory roots in
`hedgerow.memory`, those of agents in `hedgerow.agents`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    runtime_checkable,
)

from ._engine import Candidate, Chunk, Filters, Hit, Index

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
elif TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    Buffer = Any  # there is no class for it before Python 3.12

__all__ = [
    "Aliases",
    "CandidateLike",
    "Category",
    "ChunkLike",
    "Collection",
    "Cut",
    "DateLike",
    "Durability",
    "EdgeLike",
    "FiltersLike",
    "Fusion",
    "JudgedBy",
    "JudgedMode",
    "Judgements",
    "KeywordSearch",
    "Leg",
    "Legs",
    "Matching",
    "Mode",
    "OnDuplicate",
    "OnLegFailure",
    "Operator",
    "Profile",
    "Progress",
    "QuestionDate",
    "RankingBackend",
    "Real",
    "Resident",
    "SearchKeywords",
    "Searchable",
    "StopWords",
    "Time",
    "TokenKind",
    "TokenOperator",
    "Tokenizer",
    "Vector",
    "VectorSearch",
    "VisitLike",
    "VisitOutcome",
]
__dir__ = partial(sorted, __all__)


# Queries.

TokenKind: TypeAlias = Literal["term", "phrase", "prefix"]
TokenOperator: TypeAlias = Literal["AND", "OR", "NOT"]
"""The operator before a token."""
Operator: TypeAlias = Literal["OR", "AND"]
"""The operator between tokens that have none."""
Matching: TypeAlias = Literal["spec", "extended"]
Aliases: TypeAlias = Mapping[str, Sequence[str]]
"""Alternatives for terms: a mapping, such as an `AliasTable`."""
StopWords: TypeAlias = Literal["en+nl", "en", "nl", "none"] | Iterable[str]

# The index.

Tokenizer: TypeAlias = Literal["words", "porter unicode61", "unicode61", "trigram"]
RankingBackend: TypeAlias = Literal["auto", "memory", "fts5"]
VectorSearch: TypeAlias = Literal["exact", "fast"]
KeywordSearch: TypeAlias = Literal["exact", "fast"]
"""Whether a collection scores every chunk that matches, or those that are likely to be the best."""
Resident: TypeAlias = Literal["all", "codes"]
Durability: TypeAlias = Literal["normal", "full"]
"""What a power failure leaves of acknowledged writes: all but the last ones, or all."""
Vector: TypeAlias = Buffer | Sequence[float]
"""A buffer of floats, such as a numpy array, or a sequence of numbers."""
Real: TypeAlias = SupportsFloat | SupportsIndex
FiltersLike: TypeAlias = Filters | Mapping[str, Any]
"""`Filters`, or a mapping (spec/filters.md)."""
DateLike: TypeAlias = date | str
"""A datetime, a date, or a text in ISO 8601."""
ChunkLike: TypeAlias = Chunk | Mapping[str, Any]
"""A `Chunk`, or a mapping with its fields."""
CandidateLike: TypeAlias = Candidate | Hit | Mapping[str, Any]
"""A `Candidate`, a `Hit`, or a mapping with the fields of a candidate."""

# Searches.

Mode: TypeAlias = Literal["auto", "bm25", "semantic", "hybrid"]
Fusion: TypeAlias = Literal["rrf", "score"]
Profile: TypeAlias = Literal["spec", "best"]
OnLegFailure: TypeAlias = Literal["degrade", "raise"]
Cut: TypeAlias = Literal[
    "not_in_index", "filters", "excluded", "no_match", "candidates", "group", "limit", "reranker"
]
"""The reason that a chunk is no result (`WhyNot.cut`)."""
Progress: TypeAlias = Callable[[int, int], object]
"""Called with what is done, and with how much there is."""
QuestionDate: TypeAlias = date | str
"""When a question was asked: a text (spec/temporal.md, "Anchor forms"), a datetime or a date."""


class SearchKeywords(TypedDict, total=False):
    """The options of `Retriever.search`, for functions that hand them on as `**options`."""

    mode: Mode
    limit: int | None
    offset: int
    candidates: int | None
    rerank: bool
    rerank_top_n: int
    skip_retry_ladder: bool
    filters: FiltersLike | None
    group_by: str | None
    asker: str | None
    recency: str | None


# Evaluations.

JudgedBy: TypeAlias = Literal["id", "path"]
"""The units of judgements: chunks by their ids, or paths."""
JudgedMode: TypeAlias = Literal["bm25", "semantic", "hybrid"]
Judgements: TypeAlias = Mapping[str, Mapping[str, int]]
"""Of each judged query, by its id: how relevant each judged document is, above 0 for relevant."""

# Nodes.

Time: TypeAlias = int | date
"""A time: Unix seconds, a datetime or a date."""
Category: TypeAlias = Literal["core", "general", "technical", "observation", "task"]
Leg: TypeAlias = Literal["bm25", "semantic"]
Legs: TypeAlias = Callable[[str, Leg], Iterable[str] | None]
"""Called with a query and a leg; returns keys, best first, or None where there is no such leg."""
OnDuplicate: TypeAlias = Literal["report", "refuse", "keep", "supersede"]
"""The treatment of similar memories by `remember`: refuse the same text and report the others, refuse near-duplicates
too, refuse nothing, or supersede the most similar memory."""

VisitOutcome: TypeAlias = Literal["processed", "modified", "skipped", "failed"]
EdgeLike: TypeAlias = (
    tuple[str, str] | tuple[str, str, Real] | tuple[str, str, Real, str] | Mapping[str, Any]
)
"""(a, b), (a, b, strength), (a, b, strength, rel), or a mapping with these names."""
VisitLike: TypeAlias = (
    tuple[str, str, Time] | tuple[str, str, Time, VisitOutcome] | Mapping[str, Any]
)
"""(agent, key, at), (agent, key, at, outcome), or a mapping with these names."""


@runtime_checkable
class Collection(Protocol):
    """A collection of chunks elsewhere, such as `hedgerow.opensearch.Collection`."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What splits its texts into tokens."""

    @property
    def stopwords(self) -> Literal["en+nl", "en", "nl", "none"] | frozenset[str]:
        """The words that a query without operators is not searched for."""

    def upsert(self, chunks: Iterable[ChunkLike]) -> int:
        """Store chunks; returns the number of distinct ids."""

    def get_many(self, ids: Iterable[str]) -> list[Chunk | None]:
        """Return the chunks of some ids in their order, None for an id without a chunk."""

    def count(self, where: FiltersLike | None = None) -> int:
        """Count the chunks that pass a filter, or all."""

    def update(
        self,
        where: FiltersLike,
        *,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
    ) -> int:
        """Change metadata and tags of the chunks that pass a filter; returns the number that passed."""

    def delete(self, ids: Iterable[str] | None = None, *, where: FiltersLike | None = None) -> int:
        """Remove the chunks of some ids, or those that pass a filter; returns the number of removed chunks."""

    def delete_path(self, path: str) -> int:
        """Remove the chunks of a path; returns the number of removed chunks."""

    def get(self, id: str) -> Chunk | None:  # noqa: A002 - as `Index.get` has it
        """The chunk of an id, or None."""

    def close(self) -> None:
        """Close the connections."""

    def _point_in_time(self, filters: Filters | None) -> AbstractContextManager[Any]: ...

    def _upsert_from(
        self, chunks: Sequence[Chunk], embedder: str | None, details: str | None
    ) -> int: ...

    def _unembedded(self, chunks: Sequence[Chunk]) -> Sequence[int]: ...

    def _embedder_of(self) -> tuple[str | None, str | None, int | None]: ...

    def _replacement(self, embedder: str | None, details: str | None) -> Any: ...


Searchable: TypeAlias = Index | Collection
"""A place that a retriever searches."""
