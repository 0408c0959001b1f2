"""`RemoteRetriever`: the operations of `Retriever` on the index of a server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from operator import itemgetter
from typing import Any, TypeVar

from hedgerow._checks import checked_path
from hedgerow._dual import Steps, run
from hedgerow._engine import Chunk, _chunks
from hedgerow._json.index import AskedFilters, ChunkAnswer, SearchAnswer
from hedgerow._operations.operation import Request
from hedgerow._retrieval.operations import (
    DEFAULT_LIMIT,
    MOST_BATCH_RESULTS,
    MOST_RESULTS,
    CountRequest,
    DeleteRequest,
    GetManyRequest,
    GetRequest,
    IndexOperations,
    SearchManyRequest,
    SearchRequest,
    UpdateRequest,
    UpsertRequest,
)
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.results import Response
from hedgerow.typing import QuestionDate

from ._connected import Connected
from ._problems import error_of_document

_BLOCK = 500
"""The most chunks of one request."""

R = TypeVar("R")


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


_COUNTS = {DeleteRequest: "removed", CountRequest: "count", UpdateRequest: "updated"}
"""The keys of answers whose result is a number."""
