"""The bodies of requests."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hedgerow._profiles import CANDIDATES
from hedgerow.typing import Mode

MOST_RESULTS = 1_000
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
    group_by: str | None = None
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


class QueryBody(Body):
    """A pipeline."""

    pipeline: str
    terms: list[str] = []
    now: int | None = None
    explain: bool = False
