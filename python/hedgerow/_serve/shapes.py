"""The shapes of answers: schemas of the OpenAPI document, from which clients are generated.

Before Python 3.12, pydantic needs the TypedDict of typing_extensions, which it depends on.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from hedgerow._shapes import Trace


class About(TypedDict):
    """What is served, and what the token allows."""

    hedgerow: str
    kind: Literal["root", "index"]
    name: str
    readOnly: bool
    tokenScope: Literal["read", "write"]
    edit: bool
    scope: NotRequired[dict[str, str]]


class State(TypedDict):
    """The server is well."""

    status: Literal["ok"]


class ProblemDocument(TypedDict):
    """Why a request was not answered (RFC 9457); some codes have more fields."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: NotRequired[str]


class SpeakerPart(TypedDict):
    """What a chunk gets for its speaker, whom the question names or who asks. The name of a user without one is `user`."""

    name: str
    because: Literal["named", "first_person"]
    contribution: float


class DatePart(TypedDict):
    """What a chunk gets for its day, which the question names, or the month of it."""

    day: str
    because: Literal["day", "month"]
    contribution: float


class ScoreParts(TypedDict):
    """What a score is made of (spec/retrieval.md, "Explanations"); null for a part that does not count."""

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
    bestPossible: float | None
    fraction: float | None
    multipliers: list[dict[str, Any]]
    score: float
    rerankScore: float | None
    rerankBlend: NotRequired[dict[str, float]]


class Highlights(TypedDict):
    """What was found in each text, as `[start, end]` in code points."""

    title: list[tuple[int, int]]
    snippet: list[tuple[int, int]]
    content: list[tuple[int, int]]


class SearchHit(TypedDict):
    """A chunk that was found; the last three with `explain`."""

    rank: int
    score: float
    bm25Rank: int | None
    vectorSimilarity: float | None
    rerankScore: float | None
    id: str
    path: str
    ordinal: int
    line: int | None
    title: str
    summary: str
    tags: list[str]
    snippet: str
    content: str
    metadata: dict[str, Any]
    explanation: NotRequired[str]
    scoreParts: NotRequired[ScoreParts | None]
    highlights: NotRequired[Highlights]


class Word(TypedDict):
    """What became of a word of the query."""

    source: str
    outcome: str
    tokens: list[dict[str, Any]]
    reason: str
    detail: str


class QueryTold(TypedDict):
    """What the query means."""

    text: str
    normalised: str
    filtered: bool
    words: list[Word]
    fts: str
    match: str


class LeftOut(TypedDict):
    """What failed while the rest answered."""

    error: str
    code: str
    detail: str


class SearchAnswer(TypedDict):
    """What a search of an index found, the best first."""

    query: str
    db: str
    chunks: int
    limit: int
    offset: int
    candidates: int
    operator: str
    profile: str | None
    matching: str
    mode: str
    fusion: str
    neighbors: bool
    speakers: bool
    dates: bool
    reweight: bool
    filters: dict[str, Any]
    match: str
    trace: Trace
    count: int
    results: list[SearchHit]
    error: NotRequired[LeftOut]
    notices: NotRequired[list[str]]
    explanation: NotRequired[QueryTold]


class Failed(TypedDict):
    """A search of a batch that failed."""

    error: dict[str, Any]


class SearchAnswers(TypedDict):
    """The answers to a batch, in its order."""

    responses: list[SearchAnswer | Failed]


class LegRank(TypedDict):
    """A rank in one leg."""

    rank: int
    score: float


class WhyNot(TypedDict):
    """Why a chunk is not among the results, or where it is."""

    query: str
    id: str
    cut: str | None
    resultRank: int | None
    rank: int | None
    score: float | None
    needed: float | None
    limit: int
    candidates: int
    held: list[str]
    lacking: list[str]
    excludedBy: list[str]
    keywords: LegRank | None
    vectors: LegRank | None
    groupBest: str | None
    explanation: dict[str, Any] | None
    notSearchedFor: list[str]
    byVectors: bool


class Stats(TypedDict):
    """What is in the index."""

    db: str
    chunks: int
    paths: int
    sizeBytes: int
    tokenizer: str
    schemaVersion: int
    sqliteVersion: str
    dimensions: int | None
    embedder: str | None
    vectors: int
    metadataIndex: list[str]
    stopwords: str | list[str]


class Chunk(TypedDict):
    """All of a chunk but the numbers of its vector."""

    id: str
    path: str
    ordinal: int
    line: int | None
    title: str
    summary: str
    tags: list[str]
    metadata: dict[str, Any]
    dimensions: int | None
    content: str


class Upserted(TypedDict):
    """How many different chunks were written."""

    upserted: int


class Deleted(TypedDict):
    """What was removed, and which ids and paths had no chunk."""

    db: str
    removed: int
    ids: list[str]
    missing: list[str]


class QueryAnswer(TypedDict):
    """What a pipeline selected; each of the `results` has a `key`, a `score` and its columns.

    `columns` are those that the pipeline itself selects.
    """

    pipeline: str
    root: str
    now: int
    count: int
    results: NotRequired[list[dict[str, Any]]]
    columns: list[str] | None
    pairs: list[tuple[str, str, float]]
    warnings: list[str]
    stale: bool
    stages: NotRequired[list[dict[str, Any]]]
