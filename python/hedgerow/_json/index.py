"""The JSON of the operations on an index: what servers answer, and commands write with `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, NewType, TypeVar

from hedgerow._engine import Chunk, Hit, SearchOptions
from hedgerow._operations.fields import Field
from hedgerow._operations.operation import Request, result_of
from hedgerow._operations.shapes import Result
from hedgerow._pydantic import hit_of
from hedgerow._retrieval.operations import (
    DEFAULT_LIMIT,
    CountRequest,
    DeleteRequest,
    GetManyRequest,
    GetRequest,
    RetrievalOptions,
    SearchManyRequest,
    SearchRequest,
    StatsRequest,
    UpdateRequest,
    UpsertRequest,
)
from hedgerow.errors import HedgerowError
from hedgerow.query import QueryExplanation
from hedgerow.results import Deletion, IndexStats, Response
from hedgerow.trace import Trace
from hedgerow.typing import FiltersLike
from hedgerow.why_not import WhyNot

from .highlight import Highlighter, Span

T = TypeVar("T")
OrNull = Annotated[T | None, Field(null=True)]
"""A value whose key is there without it too, with null."""
HitScore = NewType("HitScore", Mapping[str, Any])
"""What a score is made of; `_shapes.HitScore` has the schema of it."""


@dataclass(frozen=True, slots=True)
class Highlights(Result):
    """The matches in each text, as `[start, end]` in code points."""

    title: Sequence[Span]
    snippet: Sequence[Span]
    content: Sequence[Span]


@dataclass(frozen=True, slots=True)
class SearchHit(Result):
    """A chunk that was found; the last three keys with `explain`."""

    rank: int
    score: float
    bm25_rank: OrNull[int]
    vector_similarity: OrNull[float]
    rerank_score: OrNull[float]
    id: str
    path: str
    ordinal: int
    line: OrNull[int]
    title: str
    summary: str
    tags: Sequence[str]
    snippet: str
    content: str
    metadata: Mapping[str, Any]
    explanation: Annotated[HitScore | None, Field(names=True)] = None
    why: str | None = None
    highlights: Highlights | None = None

    @classmethod
    def of(cls, hit: Hit, rank: int, snippet: str, *explained: Any) -> SearchHit:
        """Return the JSON of a hit, with the last three keys if they are given."""
        own = {name: getattr(hit, name) for name in _OF_A_HIT}
        more = dict(zip(("explanation", "why", "highlights"), explained, strict=False))
        line = own["metadata"].get("line_start")
        return cls(rank=rank, line=line, snippet=snippet, **own, **more)

    def hit(self) -> Hit:
        """Return the hit."""
        told = {name: getattr(self, name) for name in _OF_A_HIT}
        return hit_of(told | {"explanation": self.explanation})


_OF_A_CHUNK = ("id", "path", "ordinal", "title", "summary", "tags", "content", "metadata")
_OF_A_HIT = (*_OF_A_CHUNK, "score", "bm25_rank", "vector_similarity", "rerank_score")
_OF_A_TRACE = (
    *("candidates", "profile", "matching", "fusion", "neighbors", "speakers", "dates", "reweight"),
)


@dataclass(frozen=True, slots=True)
class LeftOut(Result):
    """The parts of an answer that failed while the rest succeeded."""

    error: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class AskedFilters(Result):
    """All of the filters of a search, as `Filters` takes them."""

    paths: Sequence[str]
    path_prefix: OrNull[str]
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    where: Mapping[str, Any]
    after: OrNull[str]
    before: OrNull[str]
    date_key: str

    @classmethod
    def of(cls, filters: FiltersLike | None) -> AskedFilters:
        """Return the filters of a request."""
        given = SearchOptions("auto", 1, 1, None, False, filters, None, None, None).filters
        return cls(*(getattr(given, one.name) for one in fields(cls)))


@dataclass(frozen=True, slots=True)
class SearchAnswer(Result):
    """The hits of a search, the best first."""

    query: str
    db: str | None
    url: str | None
    chunks: int
    limit: int
    offset: int
    candidates: int
    operator: str
    profile: OrNull[str]
    matching: str
    mode: str
    fusion: str
    neighbors: bool
    speakers: bool
    dates: bool
    reweight: bool
    filters: AskedFilters
    match: str
    trace: Trace
    count: int
    results: Sequence[SearchHit]
    error: LeftOut | None = None
    notices: Sequence[str] | None = None
    explanation: QueryExplanation | None = None
    why_not: WhyNot | None = None

    def response(self) -> Response:
        """Return the response that the answer was made of, without its error."""
        return Response([one.hit() for one in self.results], self.trace, offset=self.offset)


@dataclass(frozen=True, slots=True)
class FailedSearch(Result):
    """A search of a batch that failed."""

    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchAnswers(Result):
    """The answers to a batch, in its order."""

    responses: Sequence[SearchAnswer | FailedSearch]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsAnswer(IndexStats, Result):
    """The counts of the index `db`."""

    db: str
    stopwords: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class ChunkAnswer(Result):
    """All of a chunk but the numbers of its vector."""

    id: str
    path: str
    ordinal: int
    line: OrNull[int]
    title: str
    summary: str
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    dimensions: OrNull[int]
    content: str

    @classmethod
    def of(cls, chunk: Chunk) -> ChunkAnswer:
        """Return the JSON of a chunk."""
        own = {name: getattr(chunk, name) for name in _OF_A_CHUNK}
        dimensions = None if chunk.embedding is None else len(chunk.embedding)
        return cls(line=own["metadata"].get("line_start"), dimensions=dimensions, **own)

    def chunk(self) -> Chunk:
        """Return the chunk, without its vector."""
        return Chunk.from_dict({name: getattr(self, name) for name in _OF_A_CHUNK})


@dataclass(frozen=True, slots=True)
class ChunkAnswers(Result):
    """The chunks of some ids in their order, null for an id without a chunk."""

    chunks: Sequence[ChunkAnswer | None]


@dataclass(frozen=True, slots=True)
class Counted(Result):
    """The number of chunks."""

    count: int


@dataclass(frozen=True, slots=True)
class Updated(Result):
    """The number of chunks that passed the filter."""

    updated: int


@dataclass(frozen=True, slots=True)
class UpsertResult(Result):
    """The number of different chunks that were written."""

    upserted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteResult(Deletion, Result):
    """The removed chunks of the index `db`, and the ids and paths that had no chunk."""

    db: str


_ANSWERS: Mapping[type[Request[Any]], type[Result]] = {
    SearchRequest: SearchAnswer,
    SearchManyRequest: SearchAnswers,
    StatsRequest: StatsAnswer,
    GetRequest: ChunkAnswer,
    GetManyRequest: ChunkAnswers,
    CountRequest: Counted,
    UpdateRequest: Updated,
    UpsertRequest: UpsertResult,
    DeleteRequest: DeleteResult,
}


def answer_type(request: type[Request[Any]]) -> Any:
    """Return the type of the JSON that a request is answered with."""
    return _ANSWERS.get(request) or result_of(request)


def search_answer(  # noqa: PLR0913 - what an answer tells
    request: RetrievalOptions[Any],
    query: str,
    response: Response,
    *,
    chunks: int,
    highlighter: Highlighter,
    db: str | None = None,
    url: str | None = None,
    operator: str = "OR",
    notices: Sequence[str] = (),
    explanation: QueryExplanation | None = None,
    why_not: WhyNot | None = None,
) -> SearchAnswer:
    """Return the answer to a search; with an `explanation` of the query, each score is explained too.

    `db` or `url` is what was searched, `chunks` how many chunks it has.
    """
    trace, error = response.trace, response.error
    cuts = highlighter.snippets([hit.content for hit in response], [hit.title for hit in response])
    results = []
    for rank, (hit, (cut, spans)) in enumerate(
        zip(response, cuts, strict=True), start=response.offset + 1
    ):
        explained: tuple[Any, ...] = ()
        if explanation is not None:
            in_title, in_content = highlighter.spans(hit.title, hit.content)
            marks = Highlights(in_title, spans, in_content)
            explained = (hit.explanation, hit.explain(), marks)
        results.append(SearchHit.of(hit, rank, cut, *explained))
    return SearchAnswer(
        query=query,
        db=db,
        url=url,
        chunks=chunks,
        limit=DEFAULT_LIMIT if request.limit is None else request.limit,
        offset=response.offset,
        operator=operator,
        mode=request.mode,
        **{name: getattr(trace, name) for name in _OF_A_TRACE},
        filters=AskedFilters.of(request.filters),
        match=trace.match_query,
        trace=trace,
        count=len(results),
        results=results,
        error=None
        if error is None
        else LeftOut(
            type(error).__name__,
            getattr(error, "code", "leg_failed"),
            error.message if isinstance(error, HedgerowError) else str(error),
        ),
        notices=[*notices, *trace.notices] or None,
        explanation=explanation,
        why_not=why_not,
    )


def stats_answer(db: str, found: IndexStats, stopwords: str | frozenset[str]) -> StatsAnswer:
    """Return the counts of an index."""
    words = stopwords if isinstance(stopwords, str) else sorted(stopwords)
    counts = {one.name: getattr(found, one.name) for one in fields(found)}
    return StatsAnswer(**counts, db=db, stopwords=words)
