"""`RemoteRoot` and `RemoteRetriever`: the operations of `MemoryRoot` and of `Retriever` on a root or an index of a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from hedgerow._checks import checked_path
from hedgerow._dual import Steps, arun, run
from hedgerow._engine import Chunk, _chunks
from hedgerow._json.index import AskedFilters, ChunkAnswer, SearchAnswer
from hedgerow._operations.fields import declared
from hedgerow._operations.operation import Request, result_of, sent_arguments
from hedgerow._operations.shapes import from_json
from hedgerow._retrieval.operations import (
    DEFAULT_LIMIT,
    MOST_BATCH_RESULTS,
    MOST_RESULTS,
    CountRequest,
    GetManyRequest,
    GetRequest,
    IndexOperations,
    SearchManyRequest,
    SearchRequest,
    UpdateRequest,
    UpsertRequest,
)
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.memory.operations import QueryRequest, RootOperations
from hedgerow.results import Response
from hedgerow.typing import QuestionDate

from ._problems import error_of_document

if TYPE_CHECKING:
    from typing_extensions import Self

    from hedgerow._json.query import QueryAnswer

    from ._client import Client


R = TypeVar("R")


class Connected:
    """Holds a connection until it is closed; `with` and `async with` close it."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name
        """What is served: the name of its folder or file."""

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._client.url

    def close(self) -> None:
        """Close the connection; further calls raise HedgerowError."""
        self._client.close()

    async def aclose(self) -> None:
        """Close the connection, that of the running event loop too."""
        await self._client.aclose()

    def _perform(self, request: Request[R]) -> R:
        return run(self._steps(request))

    async def _aperform(self, request: Request[R]) -> R:
        return await arun(self._steps(request))

    def _steps(self, request: Request[R]) -> Steps[R]:
        """The steps of a request: it is sent, unless a subclass does more."""
        return self._sent(request)

    def _sent(self, request: Request[Any], read: Callable[[Any], Any] | None = None) -> Steps[Any]:
        """Send a request as its row of the table says, and return the result in the answer.

        `read` makes the result of the JSON of the answer, if that is no record of the result itself.
        """
        row, kind = request.operation, type(request)
        given = sent_arguments(request)
        headers = {
            one.field.header: f'"{given.pop(one.name)}"'
            for one in declared(kind)
            if one.field.header is not None
        }
        path = f"v1/{row.path}"
        for name in [name for name in given if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", _quoted(given.pop(name)))
        is_get = row.method == "GET"
        params = {name: _parameter(value) for name, value in given.items()} if is_get else None
        done = yield from self._client.request(
            row.method,
            path,
            None if is_get else given,
            params=params,
            headers=headers,
            read=read or (lambda answer: from_json(answer, result_of(kind))),
        )
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, name={self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._client, self.name))


def _quoted(key: str) -> str:
    """Return a key as part of a path: its dots alone, as in `../status`, would name another route."""
    parts = [quote(one, safe="") if one.strip(".") else "%2E" * len(one) for one in key.split("/")]
    return "/".join(parts)


def _parameter(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


class RemoteRoot(Connected, RootOperations):
    """Recalls from the root that a server answers for, and writes into it, as `MemoryRoot` does.

    Results and errors are those of a `MemoryRoot` in the server's process, and files are named as
    there. `hedgerow.connect` makes one. Threads may share it. A request that is sent again because no
    answer came is carried out once. It pickles, without a token that was passed; one of the environment
    variable is read again.
    """

    def _steps(self, request: Request[R]) -> Steps[R]:
        if isinstance(request, QueryRequest):
            return self._sent(_as_text(request), lambda answer: _query_answer(answer).result())
        return self._sent(request)

    def _answer_of(self, request: QueryRequest) -> QueryAnswer:
        """Return what `hedgerow query --json` writes for a pipeline."""
        answer: QueryAnswer = run(self._sent(_as_text(request), _query_answer))
        return answer


def _as_text(request: QueryRequest) -> QueryRequest:
    return replace(request, pipeline=str(request.pipeline))


def _query_answer(answer: Any) -> QueryAnswer:
    from hedgerow._json.query import QueryAnswer  # noqa: PLC0415 - of pipelines alone

    return QueryAnswer.from_dict(answer)


_BLOCK = 500
"""The most chunks of one request."""


class RemoteRetriever(Connected, IndexOperations):
    """Searches the index that a server answers for, and writes into it, as `Retriever` does.

    Results and errors are those of a `Retriever` in the server's process, which has its own embedder
    and the profile "best"; a search has at most 1,000 results. `hedgerow.connect` makes one. Threads
    may share it. It pickles, without a token that was passed; one of the environment variable is read
    again.
    """

    def backup(self, file: str | os.PathLike[str]) -> None:
        """Download the index, as it is at one moment, into a new file.

        The file is written as it arrives. Raises FileExistsError if there is something at `file`
        already, and InvalidInputError if it is no path; no part of a copy is left behind.
        """
        place = checked_path(file, "file")
        stream = place.open("xb")
        # Neither a failed request nor a full disk leaves a file that looks like an index.
        try:
            with stream:
                run(self._client.download("POST", "v1/backup", stream))
        except BaseException:
            place.unlink(missing_ok=True)
            raise

    def _steps(self, request: Request[R]) -> Steps[R]:
        asked: Any = request
        for name in ("filters", "where"):
            given = getattr(asked, name, None)
            if given is not None:
                asked = replace(asked, **{name: _filters(given)})
        if isinstance(asked, UpdateRequest) and asked.metadata is not None:
            asked = replace(asked, metadata=_metadata(asked.metadata))
        if isinstance(asked, SearchManyRequest):
            return self._search_many(asked)
        if isinstance(asked, SearchRequest):
            return self._sent(replace(asked, explain=True), _response)
        if isinstance(asked, UpsertRequest):
            return self._upsert(asked)
        if isinstance(asked, GetRequest):
            return self._get(asked)
        if isinstance(asked, GetManyRequest):
            return self._get_many(asked)
        key = _COUNTS.get(type(asked))
        return self._sent(asked, None if key is None else itemgetter(key))

    def _search_many(self, request: SearchManyRequest) -> Steps[Any]:
        queries, dates = request.texts, request.dates
        found: list[Response | HedgerowError] = []
        limit = request.limit or DEFAULT_LIMIT
        size = max(1, min(MOST_RESULTS, MOST_BATCH_RESULTS // limit))
        for first in range(0, len(queries), size):
            block = slice(first, first + size)
            asked = replace(
                request,
                queries=queries[block],
                question_date=_one_or_many(dates[block]),
                on_error="raise",
                explain=True,
            )
            found += yield from self._sent(asked, _responses)
        for one in found:
            if isinstance(one, HedgerowError) and request.on_error == "raise":
                raise one
        return found

    def _upsert(self, request: UpsertRequest) -> Steps[Any]:
        chunks, done = _chunks(request.chunks), 0
        for first in range(0, len(chunks), _BLOCK):
            block = [_fields(chunk) for chunk in chunks[first : first + _BLOCK]]
            yield from self._sent(UpsertRequest(block), dict)
            done += len(block)
            if request.progress is not None:
                request.progress(done, len(chunks))
        return len({chunk.id for chunk in chunks})

    def _get(self, request: GetRequest) -> Steps[Any]:
        try:
            return (yield from self._sent(request, _chunk))
        except InvalidInputError as error:
            if error.code == "unknown_chunk":
                return None
            raise

    def _get_many(self, request: GetManyRequest) -> Steps[Any]:
        found: list[Chunk | None] = []
        for first in range(0, len(request.ids), _BLOCK):
            block = GetManyRequest(request.ids[first : first + _BLOCK])
            found += yield from self._sent(block, _chunk_list)
        return found


def _filters(given: Any) -> dict[str, Any]:
    filters = AskedFilters.of(given)
    found = {one.name: getattr(filters, one.name) for one in fields(filters)}
    return {name: value for name, value in found.items() if value}


def _metadata(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata as an index stores it; InvalidInputError for values that JSON does not have."""
    metadata: Mapping[str, Any] = Chunk("", "", "", metadata=given).metadata
    return metadata


def _one_or_many(dates: Sequence[QuestionDate | None]) -> Any:
    """Return the date if all are equal, or a list of them."""
    return dates[0] if all(date == dates[0] for date in dates) else list(dates)


def _fields(chunk: Chunk) -> dict[str, Any]:
    vector = chunk.embedding
    return {**chunk.to_dict(), "embedding": None if vector is None else list(vector)}


def _response(answer: Mapping[str, Any]) -> Response:
    response = SearchAnswer.from_dict(answer).response()
    error = answer.get("error")
    return response if error is None else replace(response, error=error_of_document(error))


def _responses(answer: Mapping[str, Any]) -> list[Response | HedgerowError]:
    return [
        _response(one) if "results" in one else error_of_document(one["error"])
        for one in answer["responses"]
    ]


def _chunk(answer: Mapping[str, Any]) -> Chunk:
    return ChunkAnswer.from_dict(answer).chunk()


def _chunk_list(answer: Mapping[str, Any]) -> list[Chunk | None]:
    return [None if one is None else _chunk(one) for one in answer["chunks"]]


_COUNTS = {CountRequest: "count", UpdateRequest: "updated"}
"""The keys of answers whose result is a number."""
