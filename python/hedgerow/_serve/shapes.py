"""What answers look like: schemas of the OpenAPI document, by which clients are generated.

pydantic wants the TypedDict of typing_extensions, which it brings, on Python before 3.12.
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


class State(TypedDict):
    """That all is well."""

    status: Literal["ok"]


class ProblemDocument(TypedDict):
    """Why a request was not answered (RFC 9457); some codes have more fields."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: NotRequired[str]


class Highlights(TypedDict):
    """What was found in each text, as `[start, end]` in code points."""

    title: list[tuple[int, int]]
    snippet: list[tuple[int, int]]
    content: list[tuple[int, int]]


class SearchHit(TypedDict):
    """A chunk that was found; the last three with `explain`."""

    rank: int
    score: float
    bm25_rank: int | None
    vector_similarity: float | None
    rerank_score: float | None
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
    score_parts: NotRequired[dict[str, Any] | None]
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
    reweight: bool
    filters: dict[str, Any]
    match: str
    trace: Trace
    count: int
    results: list[SearchHit]
    error: NotRequired[LeftOut]
    explanation: NotRequired[QueryTold]


class Failed(TypedDict):
    """A search of a batch that failed."""

    error: dict[str, Any]


class SearchAnswers(TypedDict):
    """The answers to a batch, in its order."""

    responses: list[SearchAnswer | Failed]


class LegRank(TypedDict):
    """A place in one leg."""

    rank: int
    score: float


class WhyNot(TypedDict):
    """Why a chunk is not among the results, or where it is."""

    query: str
    id: str
    cut: str | None
    result_rank: int | None
    rank: int | None
    score: float | None
    needed: float | None
    limit: int
    candidates: int
    held: list[str]
    lacking: list[str]
    excluded_by: list[str]
    keywords: LegRank | None
    vectors: LegRank | None
    group_best: str | None
    explanation: dict[str, Any] | None
    not_searched_for: list[str]
    by_vectors: bool


class Stats(TypedDict):
    """What is in the index."""

    db: str
    chunks: int
    paths: int
    size_bytes: int
    tokenizer: str
    schema_version: int
    sqlite_version: str
    dimensions: int | None
    embedder: str | None
    vectors: int
    metadata_index: list[str]
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
    """What was removed, and what there was nothing of."""

    db: str
    removed: int
    ids: list[str]
    missing: list[str]


class Provenance(TypedDict):
    """Where a memory stands: its file, its lines from 1, its front matter."""

    file: str
    lineStart: int
    lineEnd: int
    sessionId: NotRequired[str]
    session_id: NotRequired[str]
    metadata: dict[str, Any]


class ScoreBreakdown(TypedDict):
    """The parts of a score."""

    retrievalScore: float
    exactMatchBoost: float
    metadataBoost: float
    temporalRelevance: float
    memoryStrength: float
    provenanceConfidence: float
    depthPolicyBoost: float
    finalScore: float
    retrievalDepth: str
    driver: str


class Standing(TypedDict):
    """Whether a memory holds, why not, and what else its marks come to."""

    holds: bool
    why: NotRequired[Literal["retracted", "superseded", "expired", "not_yet_valid"]]
    since: NotRequired[str]
    by: NotRequired[list[str]]
    reason: NotRequired[str]
    doubtful: NotRequired[list[str]]
    staleSince: NotRequired[str]


class Recalled(TypedDict):
    """One memory that was found, at its best passage."""

    id: str
    score: float
    snippet: str
    sessionId: NotRequired[str]
    session_id: NotRequired[str]
    provenance: Provenance
    scoreBreakdown: ScoreBreakdown
    standing: NotRequired[Standing]


class Unreadable(TypedDict):
    """A file or folder that could not be read, and why."""

    path: str
    line: int | None
    code: str
    reason: str


class RecallAnswer(TypedDict):
    """What the root knows, the best first."""

    root: str
    query: str
    depth: str
    results: list[Recalled]
    mode: str
    unreadable: list[Unreadable]
    notices: NotRequired[list[str]]
    leftOut: NotRequired[dict[str, int]]
    asOf: NotRequired[str]
    trace: NotRequired[Trace]


class Remembered(TypedDict):
    """A memory that was written, whether it can be found, and why not."""

    root: str
    file: str
    indexed: bool
    problem: NotRequired[str]


class Validation(TypedDict):
    """Which sections a wrapup lacks; of one that was written, none."""

    valid: bool
    missingSections: list[str]
    emptySections: list[str]


class RelatedMemory(TypedDict):
    """What was recalled about the topic of a wrapup before it was written."""

    skipped: bool
    reason: NotRequired[str]
    query: NotRequired[str]
    results: NotRequired[list[Recalled]]
    unreadable: NotRequired[list[Unreadable]]
    notices: NotRequired[list[str]]


class WrappedUp(TypedDict):
    """A wrapup that was written."""

    root: str
    file: str
    title: str
    recallTopic: NotRequired[str]
    body: str
    validation: Validation
    relatedMemory: RelatedMemory


class Processed(TypedDict):
    """What was done, or would be: the files, and a summary in sentences."""

    root: str
    mode: str
    applied: bool
    topic: NotRequired[str]
    files: list[str]
    summary: list[str]
    unreadable: list[Unreadable]


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


class NotAllowed(TypedDict):
    """What the root asks for and its user has not allowed, and what that would do."""

    setting: str
    value: str
    effect: str


class RootStatus(TypedDict):
    """Whether the root is set up."""

    root: str
    configFile: NotRequired[str]
    initialized: bool
    schemaVersion: NotRequired[Any]
    compatible: bool
    message: str
    notAllowed: NotRequired[list[NotAllowed]]


class Listed(TypedDict):
    """A memory in a list; `timestamp` in Unix seconds."""

    file: str
    type: str
    timestamp: int


class Memories(TypedDict):
    """A page of the list of memories, the last changed first, and how many there are in all."""

    root: str
    count: int
    memories: list[Listed]


class Memory(TypedDict):
    """A memory with its text; `digest` is the SHA-256 of the file, in hexadecimal."""

    file: str
    text: str
    digest: str


class Edge(TypedDict):
    """A link."""

    source: str
    target: str
    rel: str
    strength: float


class Links(TypedDict):
    """The links around a memory: hops from it by key, and the edges between these."""

    root: str
    key: str
    nodes: dict[str, int]
    edges: list[Edge]
    leftOut: int
    unresolved: list[str]
    standings: NotRequired[dict[str, Standing]]


class Linked(TypedDict):
    """A link that was made or removed."""

    root: str
    a: str
    b: str
    rel: str
    strength: NotRequired[float]
    removed: NotRequired[bool]


class Marked(TypedDict):
    """A memory that was marked: the files that were changed, and whether it holds now."""

    root: str
    file: str
    changed: list[str]
    written: NotRequired[str]
    standing: Standing


class Visited(TypedDict):
    """A visit that was recorded."""

    root: str
    agent: str
    at: int
    outcome: str
    keys: list[str]
