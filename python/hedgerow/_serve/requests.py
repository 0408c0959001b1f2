"""The bodies of requests."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hedgerow._profiles import CANDIDATES
from hedgerow.typing import Mode, OnDuplicate

MOST_RESULTS = 1_000
MOST_HOPS = 10
_CANDIDATES = CANDIDATES["best"]
_MOST_QUERIES = 1_000
_MOST_CHUNKS = 10_000

Limit = Annotated[int, Field(ge=1, le=MOST_RESULTS, description="The most results")]


class Body(BaseModel):
    """A JSON object without unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SearchOptions(Body):
    """How an index is searched: the options of `Retriever.search`."""

    limit: Limit = 10
    offset: Annotated[int, Field(ge=0, le=MOST_RESULTS)] = 0
    mode: Mode = "auto"
    candidates: Annotated[int, Field(ge=1, le=10 * MOST_RESULTS)] | None = None
    filters: dict[str, Any] | None = None
    group_by: Literal["path"] | None = None
    question_date: str | None = None
    asker: str | None = None
    rerank: bool = True
    rerank_top_n: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 20
    skip_retry_ladder: bool = False

    def options(self) -> str:
        """The options as JSON, without the query.

        Written by `json`: pydantic refuses half of a surrogate pair, which the filters may contain.
        """
        return json.dumps(self.model_dump(include=set(SearchOptions.model_fields)))

    def keywords(self) -> dict[str, Any]:
        """The arguments of `Retriever.search`."""
        given = {name: getattr(self, name) for name in SearchOptions.model_fields}
        if self.candidates is None:
            # As on the command line: the candidates must not cut a page short.
            given["candidates"] = max(_CANDIDATES, self.limit)
        return given


class SearchBody(SearchOptions):
    """A search of an index."""

    query: str
    explain: bool = False


class SearchManyBody(SearchOptions):
    """Searches of an index with the same options."""

    queries: Annotated[list[str], Field(max_length=_MOST_QUERIES)]
    explain: bool = False


class WhyNotBody(SearchOptions):
    """Why a chunk is not among the hits of a search."""

    query: str
    id: str


class ExplainBody(Body):
    """A query to explain."""

    query: str


class ChunksBody(Body):
    """Chunks to write, in the form that `Chunk.from_dict` takes."""

    chunks: Annotated[list[dict[str, Any]], Field(max_length=_MOST_CHUNKS)]


class DeleteBody(Body):
    """Chunks to remove, by id or by path."""

    ids: Annotated[list[str], Field(max_length=_MOST_CHUNKS)] = []
    paths: Annotated[list[str], Field(max_length=MOST_RESULTS)] = []


class RecallOptions(Body):
    """Which memories to find, and the time at which they must hold."""

    query: str
    depth: Literal["shallow", "normal", "deep"] = "normal"
    as_of: str | None = None
    include_superseded: bool = False
    types: list[str] = []
    tags: list[str] = []
    after: str | None = None
    before: str | None = None
    question_date: str | None = None


class RecallBody(RecallOptions):
    """A recall of a memory root."""

    limit: Limit = 5
    explain: bool = False


class ContextBody(RecallOptions):
    """Evidence for a question, packed into a budget of tokens."""

    budget: Annotated[int, Field(ge=40, le=1_000_000, description="The most tokens")] = 2_000
    per_file: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 2


class RememberBody(Body):
    """A memory to write."""

    text: str
    title: str
    type: Literal["note", "session", "finding", "decision", "preference", "page"] = "note"
    tags: list[str] = []
    on_duplicate: OnDuplicate = "error"


class WrapupBody(Body):
    """The wrapup of a session: a text with the four sections that `hedgerow wrapup` asks for."""

    text: str
    title: str
    topic: str | None = None
    limit: Limit = 5
    tags: list[str] = []


class ProcessBody(Body):
    """Looking through memories; without `apply` nothing is written."""

    mode: Literal["lint", "synthesize", "dedupe"]
    apply: bool = False
    topic: str | None = None
    since: str | None = None
    limit: Limit | None = None


class LinkBody(Body):
    """A link between two memories, each a path, a name or a title."""

    a: str
    b: str
    strength: Annotated[float, Field(gt=0, le=1)] = 1.0
    rel: str = "related"


class UnlinkBody(Body):
    """A link to remove."""

    a: str
    b: str
    rel: str = "related"


class SupersedeBody(Body):
    """What takes the place of a memory: an existing one, or a text to write as a new one."""

    old: str
    by: str | None = None
    text: str | None = None
    title: str | None = None
    type: Literal["note", "session", "finding", "decision", "preference", "page"] | None = None
    tags: list[str] | None = None


class RetractBody(Body):
    """A memory that no longer holds, and why."""

    key: str
    reason: str | None = None


class RestoreBody(Body):
    """A memory that holds again."""

    key: str


class ForgetBody(Body):
    """A memory to delete for good; `purge` must be true."""

    key: str
    purge: bool = False


class VisitBody(Body):
    """Visits of an agent, at a time in Unix seconds, by default now."""

    agent: Annotated[str, Field(min_length=1)]
    keys: Annotated[list[str], Field(min_length=1, max_length=MOST_RESULTS)]
    at: int | None = None
    outcome: Literal["processed", "modified", "skipped", "failed"] = "processed"


class EditBody(Body):
    """The new text of a memory."""

    text: str


class QueryBody(Body):
    """A pipeline."""

    pipeline: str
    terms: list[str] = []
    now: int | None = None
    explain: bool = False
