"""The routes of an index: one for each operation of the table, and the backup."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from starlette.background import BackgroundTask
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse

from hedgerow import Index, Retriever
from hedgerow import Response as Found
from hedgerow._json.highlight import Highlighter
from hedgerow._json.index import (
    ChunkAnswer,
    ChunkAnswers,
    Counted,
    DeleteResult,
    FailedSearch,
    SearchAnswer,
    SearchAnswers,
    Updated,
    UpsertResult,
    search_answer,
    stats_answer,
)
from hedgerow._operations.operation import Request, sent_arguments
from hedgerow._operations.shapes import to_json
from hedgerow._retrieval.operations import (
    OPERATIONS,
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
    whole_page,
)
from hedgerow.errors import HedgerowError, InvalidInputError

from .description import MethodRoute
from .operations import Answer, may_write
from .problems import Problem, problem_of
from .tokens import Grant
from .work import Work

T = TypeVar("T")

_MOST = 64
"""The most searches of one batch: those behind it wait until all of it is done."""


@dataclass(slots=True)
class _Asked(Generic[T]):
    query: str
    found: list[T | BaseException] = field(default_factory=list)
    """Empty until there is a result, then that result alone."""


class Batching(Generic[T]):
    """Searches for queries with the same options together.

    A batch reads each vector once for all of its queries, and answers them faster
    together than one by one. No query waits for others to arrive: if no batch with its options is
    running, it is a batch of its own, and those that arrive meanwhile are the next one.
    """

    def __init__(self, search: Callable[[str, list[str]], Sequence[T | Exception]]) -> None:
        """`search` is called with options and queries, and returns a result or an error for each."""
        self._search = search
        self._changed = threading.Condition()
        self._working: set[str] = set()
        self._waiting: defaultdict[str, list[_Asked[T]]] = defaultdict(list)

    def result(self, options: str, query: str) -> T:
        """The result of a query; raises its error. Queries with equal `options` are done together."""
        asked: _Asked[T] = _Asked(query)
        with self._changed:
            self._waiting[options].append(asked)
        while batch := self._turn(options, asked):
            try:
                self._do(options, batch)
            finally:
                with self._changed:
                    self._working.discard(options)
                    self._changed.notify_all()
        [found] = asked.found
        if isinstance(found, BaseException):
            raise found
        return found

    def _turn(self, options: str, asked: _Asked[T]) -> list[_Asked[T]]:
        """Wait for the result, or for this thread's turn to do the next batch, which is returned."""
        with self._changed:
            while not asked.found:
                if options not in self._working:
                    self._working.add(options)
                    waiting = self._waiting.pop(options)
                    if rest := waiting[_MOST:]:
                        self._waiting[options] = rest
                    return waiting[:_MOST]
                self._changed.wait()
        return []

    def _do(self, options: str, batch: list[_Asked[T]]) -> None:
        try:
            found = self._search(options, [asked.query for asked in batch])
        except BaseException as error:  # noqa: BLE001 - raised again for each that waits
            for asked in batch:
                asked.found.append(error)
            return
        for asked, one in zip(batch, found, strict=True):
            asked.found.append(one)


_MOST_COPIES = 2
"""The most copies of the file for backups at once; each takes its size on the disk."""


class IndexService:
    """Answers for one index file; everything here blocks."""

    kind = "index"
    operations = tuple(OPERATIONS.values())

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        index = retriever.index
        if not isinstance(index, Index) or index.path is None:
            raise InvalidInputError(
                "a server answers for the index in a file", code="invalid_option"
            )
        self.index = index
        self.name = Path(index.path).name
        self._searches = Batching(self._batch)
        self._copies = threading.BoundedSemaphore(_MOST_COPIES)

    def check(self) -> None:
        """Raise HedgerowError where the file cannot be read."""
        len(self.index)

    def perform(self, request: Request[Any], _: Grant) -> Answer:
        """Carry out an operation; the answer is the JSON of its result."""
        done: Any
        if isinstance(request, RetrievalOptions):
            request = whole_page(request, self.retriever.ranking)
        if isinstance(request, SearchRequest):
            response = self._searches.result(_options_of(request), request.query)
            done = self._answer(request, request.query, response, explain=request.explain)
        elif isinstance(request, SearchManyRequest):
            found = self.retriever._perform(replace(request, on_error="return"))  # noqa: SLF001
            done = SearchAnswers(self._answers(request, found))
        else:
            found = self.retriever._perform(request)  # noqa: SLF001 - of the same package
            done = self._converted(request, found)
        answer: Answer = to_json(done, explain=True)
        return answer

    def _batch(self, options: str, queries: list[str]) -> list[Found | HedgerowError]:
        return self.retriever.search_many(queries, **json.loads(options), on_error="return")

    def _answers(
        self, request: SearchManyRequest, found: Sequence[Found | HedgerowError]
    ) -> list[SearchAnswer | FailedSearch]:
        return [
            FailedSearch(problem_of(one).document())
            if isinstance(one, HedgerowError)
            else self._answer(request, query, one, explain=request.explain)
            for query, one in zip(request.queries, found, strict=True)
        ]

    def _answer(
        self, request: RetrievalOptions[Any], query: str, response: Found, *, explain: bool
    ) -> SearchAnswer:
        return search_answer(
            request,
            query,
            response,
            db=self.name,
            chunks=len(self.index),
            highlighter=Highlighter(response.trace.match_query, self.index.tokenizer),
            explanation=self.retriever.explain(query) if explain else None,
        )

    def _converted(self, request: Request[Any], found: Any) -> Any:
        """Return a result as its answer has it."""
        if isinstance(request, GetRequest):
            if found is None:
                raise InvalidInputError(
                    f"there is no chunk with the id {request.id!r}", code="unknown_chunk"
                )
            return ChunkAnswer.of(found)
        if isinstance(request, GetManyRequest):
            return ChunkAnswers([None if one is None else ChunkAnswer.of(one) for one in found])
        if isinstance(request, StatsRequest):
            return stats_answer(self.name, found, self.index.stopwords)
        if isinstance(request, DeleteRequest):
            return DeleteResult(found.removed, found.ids, found.missing, db=self.name)
        count = _COUNTS.get(type(request))
        return found if count is None else count(found)

    def backup(self) -> Path:
        """Copy the file into a new folder, which the caller removes with `remove`.

        Raises a Problem if as many copies as are allowed were not removed yet.
        """
        if not self._copies.acquire(blocking=False):
            raise Problem(
                "too_many_requests",
                f"{_MOST_COPIES} copies are being downloaded already; try again later",
            )
        try:
            folder = Path(tempfile.mkdtemp(prefix="hedgerow-backup-"))
            try:
                self.index.backup(folder / self.name)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        except BaseException:
            self._copies.release()
            raise
        return folder / self.name

    def remove(self, copy: Path) -> None:
        """Remove a copy that `backup` made."""
        try:
            shutil.rmtree(copy.parent)
        finally:
            self._copies.release()


_COUNTS: Mapping[type[Request[Any]], type[Counted | Updated | UpsertResult]] = {
    CountRequest: Counted,
    UpdateRequest: Updated,
    UpsertRequest: UpsertResult,
}


def backup_route(service: IndexService, work: Work) -> MethodRoute:
    """Return the route that answers with a copy of the index."""

    async def backup(request: HttpRequest) -> FileResponse:
        may_write(request)
        copy = await work.run(service.backup, discard=service.remove)
        return FileResponse(
            copy,
            media_type="application/vnd.sqlite3",
            filename=service.name,
            background=BackgroundTask(service.remove, copy),
        )

    described = {
        "tags": ["index"],
        "summary": "Download a copy of the index",
        "responses": {"200": {"description": "Successful Response"}},
    }
    return MethodRoute("POST", "/v1/backup", backup, lambda _: described, name="backup")


def _options_of(request: SearchRequest) -> str:
    """The options of a search as JSON: searches with equal ones are done together."""
    options = sent_arguments(request)
    del options["query"]
    options.pop("explain", None)
    return json.dumps(options, sort_keys=True)
