"""The verbs of an index."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from hedgerow import Filters, Index, QueryExplanation, Retriever, explain_query
from hedgerow import Response as Found
from hedgerow._answers.highlight import Highlighter
from hedgerow._answers.index import chunk_answer, stats_answer
from hedgerow._answers.names import told
from hedgerow._answers.search import query_told, search_answer
from hedgerow._profiles import PROFILES
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.typing import Matching

from .access import may_write
from .answering import Answer, answered, answers, written
from .batching import Batching
from .once import Once
from .problems import problem_of
from .requests import (
    ChunksBody,
    DeleteBody,
    ExplainBody,
    SearchBody,
    SearchManyBody,
    SearchOptions,
    WhyNotBody,
)
from .shapes import Chunk, Deleted, QueryTold, SearchAnswer, SearchAnswers, Stats, Upserted, WhyNot


class IndexService:
    """Answers for one index file; everything here blocks."""

    kind = "index"

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        index = retriever.index
        if not isinstance(index, Index) or index.path is None:
            raise TypeError("a server answers for the index in a file")
        self.index = index
        self.name = Path(index.path).name
        self._searches = Batching(self._batch)

    def check(self) -> None:
        """Raise HedgerowError where the file cannot be read."""
        len(self.index)

    def search(self, body: SearchBody) -> Answer:
        """Search once; the answer is that of `hedgerow search --json`."""
        response = self._searches.result(body.options(), body.query)
        return self._answer(body.query, response, body, explain=body.explain)

    def _batch(self, options: str, queries: list[str]) -> list[Found | HedgerowError]:
        asked = _keywords(SearchOptions.model_validate(json.loads(options)))
        return self.retriever.search_many(queries, **asked, on_error="return")

    def search_many(self, body: SearchManyBody) -> Answer:
        """Search for several queries; one that failed has a problem in its place."""
        found = self.retriever.search_many(body.queries, **_keywords(body), on_error="return")
        answers: list[Answer] = []
        for query, one in zip(body.queries, found, strict=True):
            if isinstance(one, HedgerowError):
                answers.append({"error": problem_of(one).document()})
            else:
                answers.append(self._answer(query, one, body, explain=body.explain))
        return {"responses": answers}

    def explain(self, body: ExplainBody) -> Answer:
        """Explain what a query means here, as the `explanation` of a search does."""
        return query_told(self._explained(body.query, PROFILES["best"]["matching"]))

    def why_not(self, body: WhyNotBody) -> Answer:
        """Explain why a chunk is not among the hits."""
        found = self.retriever.why_not(body.query, body.id, **_keywords(body))
        answer: Answer = told(found.to_dict())
        return answer

    def stats(self) -> Answer:
        """Count what is in the index."""
        return stats_answer(self.name, self.index.stats(), self.index.stopwords)

    def chunk(self, id: str) -> Answer:  # noqa: A002 - the name of the parameter is public
        """Return all of a chunk but its vector."""
        found = self.index.get(id)
        if found is None:
            raise InvalidInputError(f"there is no chunk with the id {id!r}", code="unknown_chunk")
        return chunk_answer(found)

    def upsert(self, body: ChunksBody) -> Answer:
        """Write chunks."""
        return {"upserted": self.retriever.upsert(body.chunks)}

    def delete(self, body: DeleteBody) -> Answer:
        """Remove chunks; the answer is that of `hedgerow delete --json`."""
        ids = dict.fromkeys(body.ids)
        is_there = {name: self.index.get(name) is not None for name in ids}
        found = [name for name, there in is_there.items() if there]
        missing = [name for name, there in is_there.items() if not there]
        removed = self.index.delete(found)
        for path in dict.fromkeys(body.paths):
            gone = self.index.delete_path(path)
            removed += gone
            missing += [] if gone else [path]
        return {"db": self.name, "removed": removed, "ids": found, "missing": missing}

    def backup(self) -> Path:
        """Copy the file into a folder of its own, which the caller removes."""
        folder = Path(tempfile.mkdtemp(prefix="hedgerow-backup-"))
        try:
            self.index.backup(folder / self.name)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder / self.name

    def _answer(
        self, query: str, response: Found, options: SearchOptions, *, explain: bool
    ) -> Answer:
        index = self.index
        explanation = self._explained(query, response.trace.matching) if explain else None
        return search_answer(
            {"db": self.name},
            query,
            response,
            filters=_filters(options),
            limit=options.limit,
            offset=options.offset,
            mode=options.mode,
            operator="OR",
            chunks=len(index),
            highlighter=Highlighter(response.trace.match_query, index.tokenizer),
            explanation=explanation,
        )

    def _explained(self, query: str, matching: Matching) -> QueryExplanation:
        index = self.index
        return explain_query(
            query, tokenizer=index.tokenizer, matching=matching, stopwords=index.stopwords
        )


def index_routes(service: IndexService, once: Once) -> APIRouter:
    """The routes of an index."""
    routes = APIRouter(prefix="/v1", tags=["index"])
    writes, work = [Depends(may_write)], once.work

    @routes.post("/search", summary="Search the index, the best first", **answers(SearchAnswer))
    async def search(body: SearchBody) -> Response:
        return await answered(work, lambda: service.search(body))

    @routes.post(
        "/search_many", summary="Search for several queries at once", **answers(SearchAnswers)
    )
    async def search_many(body: SearchManyBody) -> Response:
        return await answered(work, lambda: service.search_many(body))

    @routes.post("/explain", summary="Say what a query means", **answers(QueryTold))
    async def explain(body: ExplainBody) -> Response:
        return await answered(work, lambda: service.explain(body))

    @routes.post("/why_not", summary="Say why a chunk is not among the hits", **answers(WhyNot))
    async def why_not(body: WhyNotBody) -> Response:
        return await answered(work, lambda: service.why_not(body))

    @routes.get("/stats", summary="Count what is in the index", **answers(Stats))
    async def stats() -> Response:
        return await answered(work, service.stats)

    @routes.get("/chunks/{id:path}", summary="Read a chunk", **answers(Chunk))
    async def chunk(id: str) -> Response:  # noqa: A002 - the name of the parameter is public
        return await answered(work, lambda: service.chunk(id))

    @routes.post("/chunks", summary="Write chunks", dependencies=writes, **answers(Upserted))
    async def upsert(body: ChunksBody, request: Request) -> Response:
        return await written(once, request, lambda: service.upsert(body))

    @routes.post("/delete", summary="Remove chunks", dependencies=writes, **answers(Deleted))
    async def delete(body: DeleteBody, request: Request) -> Response:
        return await written(once, request, lambda: service.delete(body))

    @routes.post(
        "/backup",
        summary="Download a copy of the index",
        dependencies=writes,
        response_class=FileResponse,
    )
    async def backup() -> FileResponse:
        copy = await work.run(service.backup, discard=_remove)
        return FileResponse(
            copy,
            media_type="application/vnd.sqlite3",
            filename=service.name,
            background=BackgroundTask(_remove, copy),
        )

    return routes


def _keywords(options: SearchOptions) -> dict[str, Any]:
    return options.keywords() | {"filters": _filters(options)}


def _filters(options: SearchOptions) -> Filters:
    try:
        return Filters(**(options.filters or {}))
    except TypeError as error:
        raise InvalidInputError(
            f"the filters have another form: {error}", code="invalid_filter"
        ) from error


def _remove(copy: Path) -> None:
    shutil.rmtree(copy.parent)
