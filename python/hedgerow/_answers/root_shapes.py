"""What answers about a memory root look like: schemas for clients of a server, and for agents.

pydantic wants the TypedDict of typing_extensions, which it brings, on Python before 3.12.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from hedgerow._shapes import Trace


class Provenance(TypedDict):
    """Where a memory comes from: its file, its lines from 1, its front matter."""

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


class Validity(TypedDict):
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
    validity: NotRequired[Validity]


class Unreadable(TypedDict):
    """A file or folder that could not be read, and why."""

    path: str
    line: int | None
    code: str
    reason: str


class Period(TypedDict):
    """A period that the question named, and whether the results are from then."""

    phrase: str
    after: str
    before: str
    found: bool


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
    period: NotRequired[Period]
    trace: NotRequired[Trace]


class ContextPassage(TypedDict):
    """A piece of evidence: the file, its runs of lines from 1, and its text."""

    number: int
    file: str
    lines: list[list[int]]
    text: str
    validity: NotRequired[Validity]


class Context(TypedDict):
    """Evidence for a question; `text` is what to hand on, of `tokens` up to `budget`."""

    root: str
    query: str
    budget: int
    tokens: int
    text: str
    passages: list[ContextPassage]
    leftOut: dict[str, int]
    unreadable: list[Unreadable]
    period: NotRequired[Period]
    notices: NotRequired[list[str]]


class Remembered(TypedDict):
    """A memory that was written, whether it can be found, and why not."""

    root: str
    file: str
    indexed: bool
    problem: NotRequired[str]
    superseded: NotRequired[str]


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
    watch: NotRequired[str]


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
    validities: NotRequired[dict[str, Validity]]


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
    validity: Validity


class Forgotten(TypedDict):
    """A memory that was deleted: what still names it, and the reports that went with it."""

    root: str
    file: str
    namedBy: list[str]
    rewritten: list[str]
    quotedBy: list[str]
    copies: list[str]
    outOfReach: list[str]
    reports: list[str]


class Visited(TypedDict):
    """A visit that was recorded."""

    root: str
    agent: str
    at: int
    outcome: str
    keys: list[str]
