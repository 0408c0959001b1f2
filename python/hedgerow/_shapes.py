"""The shapes of what `to_dict` of results returns, from which pydantic makes schemas.

pydantic wants the TypedDict of typing_extensions, which it brings, on Python before 3.12.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict


class Hit(TypedDict):
    """`Hit.to_dict`."""

    id: str
    path: str
    ordinal: int
    title: str
    summary: str
    tags: list[str]
    content: str
    metadata: dict[str, Any]
    score: float
    bm25_rank: int | None
    vector_similarity: float | None
    rerank_score: float | None
    explanation: dict[str, Any] | None


class SpeakerPart(TypedDict):
    """The part of a speaker whom the question names, or who asks. A user without a name is `user`."""

    name: str
    because: Literal["named", "first_person"]
    contribution: float


class DatePart(TypedDict):
    """The part of the day of a chunk, if the question names the day or its month."""

    day: str
    because: Literal["day", "month"]
    contribution: float


class RecencyPart(TypedDict):
    """The effect of the age of a chunk; `day` and `age` are null for a chunk without a date."""

    day: str | None
    age: int | None
    weight: float
    contribution: float


class HitScore(TypedDict):
    """The parts of a score (spec/retrieval.md, "Explanations"); null for a part that does not count."""

    fusion: str
    keywords: dict[str, Any] | None
    meaning: dict[str, Any] | None
    coverage: float | None
    weight: float | None
    fused: float
    neighbors: list[dict[str, Any]]
    speaker: SpeakerPart | None
    answers: dict[str, Any] | None
    date: DatePart | None
    recency: NotRequired[RecencyPart]
    bestPossible: float | None
    fraction: float | None
    multipliers: list[dict[str, Any]]
    score: float
    rerankScore: float | None
    rerankBlend: NotRequired[dict[str, float]]


class Attempt(TypedDict):
    """An item of `attempts`."""

    strategy: str
    query: str
    hits: int


class TraceUnanimity(TypedDict):
    """How far the legs agreed."""

    agreements: int


class Trace(TypedDict):
    """`Trace.to_dict` (spec/trace.md)."""

    mode: Literal["bm25", "semantic", "hybrid"]
    profile: NotRequired[str]
    matching: NotRequired[str]
    fusion: NotRequired[str]
    neighbors: NotRequired[bool]
    speakers: NotRequired[bool]
    dates: NotRequired[bool]
    recency: NotRequired[str]
    reweight: NotRequired[bool]
    groupBy: NotRequired[str]
    originalQuery: str
    augmentedQuery: NotRequired[str]
    dateHints: NotRequired[list[str]]
    compiledQuery: str
    matchQuery: str
    notSearchedFor: NotRequired[list[str]]
    notices: NotRequired[list[str]]
    candidateK: int
    rrfK: float
    attempts: list[Attempt]
    bm25Count: int
    vectorCount: int
    fusedCount: int
    fellBackToBM25: bool
    embedderUsed: bool
    reranked: bool
    rerankProvider: NotRequired[str]
    rerankWeight: NotRequired[float]
    unanimity: NotRequired[TraceUnanimity]
    rerankSkippedReason: NotRequired[str]
    errorStage: NotRequired[str]
    timings: dict[str, float]


class ResponseError(TypedDict):
    """A failed part of an answer whose rest succeeded."""

    type: str
    code: str | None


class Response(TypedDict):
    """`Response.to_dict`."""

    results: list[Hit]
    offset: int
    error: ResponseError | None
    notices: list[str]
    trace: Trace


class QueryStage(TypedDict):
    """An item of `stages`."""

    name: str
    rows_in: int
    rows_out: int
    candidates: int
    ms: float


class QueryResult(TypedDict):
    """`QueryResult.to_dict`."""

    keys: list[str]
    scores: list[float]
    count: int | None
    columns: list[str] | None
    rows: list[list[str | int | float]] | None
    pairs: list[list[str | float]]
    warnings: list[str]
    stale: bool
    stages: list[QueryStage]
