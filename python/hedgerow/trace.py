"""`Trace`: the record of a search (spec/trace.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

from ._profiles import profile_of
from ._pydantic import PydanticType, snake_case

__all__ = ["Attempt", "Trace"]
__dir__ = partial(sorted, __all__)


_ABSENT = {
    "matching": "spec",
    "fusion": "rrf",
    "neighbors": False,
    "speakers": False,
    "dates": False,
    "reweight": True,
    "approximate": False,
}
"""The values of keys that are absent from JSON. Absent lists are [], other keys None."""


class Attempt(NamedTuple):
    """A keyword search: its strategy, its text and the number of its hits (spec/trace.md)."""

    strategy: str
    query: str
    hits: int


@dataclass(frozen=True, slots=True)
class Trace(PydanticType):
    """The record of a search, step by step (spec/trace.md).

    Each attribute is a key of `to_dict()` in snake_case, None if the key is absent. Traces are
    equal if the searches did the same, however long they took.
    """

    mode: Literal["bm25", "semantic", "hybrid"]
    matching: Literal["spec", "extended"]
    fusion: Literal["rrf", "score"]
    neighbors: bool
    speakers: bool
    dates: bool
    reweight: bool
    group_by: str | None
    original_query: str
    augmented_query: str | None
    date_hints: list[str]
    compiled_query: str = field(repr=False)
    match_query: str
    not_searched_for: list[str]
    notices: list[str]
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
    rerank_weight: float | None
    unanimity: int | None
    rerank_skipped_reason: (
        Literal["empty_candidates", "mode_off", "no_reranker", "unanimity"] | None
    )
    error_stage: Literal["bm25", "vector", "rerank"] | None
    timings: dict[str, float] = field(compare=False, repr=False)
    recency: str | None = None
    backend: str | None = None
    shards: dict[str, int] | None = field(default=None, compare=False)
    approximate: bool = False
    rescored: int | None = field(default=None, compare=False)
    missing: list[str] = field(default_factory=list)

    @property
    def candidates(self) -> int:
        """The `candidate_k` under its name in `Retriever.search`."""
        return self.candidate_k

    @property
    def profile(self) -> Literal["spec", "best"] | None:
        """The profile with these options. None if no profile has them."""
        return profile_of(
            matching=self.matching,
            fusion=self.fusion,
            neighbors=self.neighbors,
            speakers=self.speakers,
            dates=self.dates,
            reweight=self.reweight,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON, with keys in camelCase and without absent values."""
        keys = {
            "mode": self.mode,
            "profile": None if self.profile == "spec" else self.profile,
            "matching": None if self.matching == "spec" else self.matching,
            "fusion": None if self.fusion == "rrf" else self.fusion,
            "neighbors": self.neighbors or None,
            "speakers": self.speakers or None,
            "dates": self.dates or None,
            "reweight": None if self.reweight else False,
            "recency": self.recency,
            "groupBy": self.group_by,
            "originalQuery": self.original_query,
            "augmentedQuery": self.augmented_query,
            "dateHints": None if self.augmented_query is None else list(self.date_hints),
            "compiledQuery": self.compiled_query,
            "matchQuery": self.match_query,
            "notSearchedFor": list(self.not_searched_for) or None,
            "notices": list(self.notices) or None,
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
            "rerankWeight": self.rerank_weight,
            "unanimity": None if self.unanimity is None else {"agreements": self.unanimity},
            "rerankSkippedReason": self.rerank_skipped_reason,
            "errorStage": self.error_stage,
            "timings": dict(self.timings),
            "backend": self.backend,
            "shards": None if self.shards is None else dict(self.shards),
            "approximate": self.approximate or None,
            "rescored": self.rescored,
            "missing": list(self.missing) or None,
        }
        return {key: value for key, value in keys.items() if value is not None}

    @classmethod
    def _from_dict(cls, keys: Mapping[str, Any]) -> Trace:
        given = {**_ABSENT, **snake_case(keys)}
        given = {name: given.get(name) for name in cls.__dataclass_fields__}
        given["attempts"] = [
            Attempt(**one) if isinstance(one, Mapping) else Attempt(*one)
            for one in given["attempts"]
        ]
        for name in ("date_hints", "not_searched_for", "notices", "missing"):
            given[name] = list(given[name] or ())
        if isinstance(given["unanimity"], Mapping):
            given["unanimity"] = given["unanimity"]["agreements"]
        return cls(**given)

    def _repr_html_(self) -> str:
        from ._html import of_trace  # noqa: PLC0415 - of notebooks alone

        return of_trace(self)
