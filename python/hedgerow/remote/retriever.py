"""`RemoteRetriever`: the methods of `Retriever` for the index of a server."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

from hedgerow._answers.names import read
from hedgerow._answers.search import filters_asked
from hedgerow._checks import checked_list, checked_text
from hedgerow._engine import Chunk, Filters, Hit, _chunks
from hedgerow._pydantic import hit_of
from hedgerow._retrieval.batches import checked_dates, checked_on_error, checked_queries
from hedgerow._steps import Steps, arun, run
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.results import Response
from hedgerow.trace import Trace
from hedgerow.typing import ChunkLike, FiltersLike, Progress, QuestionDate, SearchKeywords
from hedgerow.why_not import LegRank, WhyNot

from ._connected import Connected, segment
from ._problems import error_of_document

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

_BLOCK = 500
_MOST_QUERIES = 1_000


class RemoteRetriever(Connected):
    """Searches the index that a server answers for, as `Retriever` does.

    Answers and errors are those of a `Retriever` in the server's process, which has its own
    embedder and the profile "best". `hedgerow.connect` makes one. Threads may share it; each method
    has an asynchronous one with an `a` before its name. It pickles, without a token that was
    passed; one of the environment variable is read again.
    """

    def search(
        self,
        query: str,
        *,
        question_date: QuestionDate | None = None,
        **options: Unpack[SearchKeywords],
    ) -> Response:
        """`Retriever.search` at the server, for at most 1,000 results."""
        return run(self._search(query, question_date, options))

    async def asearch(
        self,
        query: str,
        *,
        question_date: QuestionDate | None = None,
        **options: Unpack[SearchKeywords],
    ) -> Response:
        """`search` without blocking the event loop."""
        return await arun(self._search(query, question_date, options))

    def search_many(
        self,
        queries: Iterable[str],
        *,
        question_date: QuestionDate | Sequence[QuestionDate | None] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Any]:
        """`Retriever.search_many` at the server, on as many threads as it has."""
        return run(self._search_many(queries, question_date, on_error, options))

    async def asearch_many(
        self,
        queries: Iterable[str],
        *,
        question_date: QuestionDate | Sequence[QuestionDate | None] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Any]:
        """`search_many` without blocking the event loop."""
        return await arun(self._search_many(queries, question_date, on_error, options))

    def why_not(
        self,
        query: str,
        id: str,  # noqa: A002 - as `Index.get` has it
        *,
        question_date: QuestionDate | None = None,
        **options: Unpack[SearchKeywords],
    ) -> WhyNot:
        """`Retriever.why_not` at the server."""
        return run(self._why_not(query, id, question_date, options))

    async def awhy_not(
        self,
        query: str,
        id: str,  # noqa: A002 - as `Index.get` has it
        *,
        question_date: QuestionDate | None = None,
        **options: Unpack[SearchKeywords],
    ) -> WhyNot:
        """`why_not` without blocking the event loop."""
        return await arun(self._why_not(query, id, question_date, options))

    def upsert(self, chunks: Iterable[ChunkLike], *, progress: Progress | None = None) -> int:
        """`Retriever.upsert` at the server, 500 chunks in a request; returns the number of ids.

        What was written before an error stays. `progress(done, total)` is called after each
        request.
        """
        return run(self._upsert(chunks, progress))

    async def aupsert(
        self, chunks: Iterable[ChunkLike], *, progress: Progress | None = None
    ) -> int:
        """`upsert` without blocking the event loop."""
        return await arun(self._upsert(chunks, progress))

    def get(self, id: str) -> Chunk | None:  # noqa: A002 - as `Index.get` has it
        """The chunk of an id, without its vector, or None."""
        return run(self._get(id))

    async def aget(self, id: str) -> Chunk | None:  # noqa: A002 - as `Index.get` has it
        """`get` without blocking the event loop."""
        return await arun(self._get(id))

    def delete(self, ids: Iterable[str]) -> int:
        """Remove chunks; returns how many there were."""
        return run(self._delete({"ids": checked_list(ids, "ids", "invalid_id")}))

    async def adelete(self, ids: Iterable[str]) -> int:
        """`delete` without blocking the event loop."""
        return await arun(self._delete({"ids": checked_list(ids, "ids", "invalid_id")}))

    def delete_path(self, path: str) -> int:
        """Remove all chunks of a path; returns how many there were."""
        return run(self._delete({"paths": [checked_text(path, "path")]}))

    async def adelete_path(self, path: str) -> int:
        """`delete_path` without blocking the event loop."""
        return await arun(self._delete({"paths": [checked_text(path, "path")]}))

    def stats(self) -> dict[str, Any]:
        """What is in the index, as `hedgerow stats --json` has it."""
        return run(self._client.request("GET", "v1/stats", read=dict))

    async def astats(self) -> dict[str, Any]:
        """`stats` without blocking the event loop."""
        return await arun(self._client.request("GET", "v1/stats", read=dict))

    def backup(self, file: str | os.PathLike[str]) -> None:
        """Download the index, as it is at one moment, into a new file."""
        place = Path(file)
        if place.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
        # Neither a failed request nor a full disk leaves a file that looks like an index.
        content = run(self._client.download("POST", "v1/backup"))
        stream = place.open("xb")
        try:
            with stream:
                stream.write(content)
        except BaseException:
            place.unlink(missing_ok=True)
            raise

    def _search(
        self, query: str, question_date: QuestionDate | None, options: SearchKeywords
    ) -> Steps[Response]:
        body = {"query": checked_text(query, "query"), "explain": True}
        asked = {**body, **_options(question_date, options)}
        return (yield from self._client.request("POST", "v1/search", asked, read=_response))

    def _search_many(
        self,
        queries: Iterable[str],
        question_date: QuestionDate | Sequence[QuestionDate | None] | None,
        on_error: str,
        options: SearchKeywords,
    ) -> Steps[list[Any]]:
        checked_on_error(on_error)
        texts = checked_queries(queries)
        dates = checked_dates(question_date, len(texts))
        found: list[Any] = []
        for asked_date, block in _blocks(texts, dates):
            body = {"queries": block, "explain": True, **_options(asked_date, options)}
            found += yield from self._client.request(
                "POST", "v1/search_many", body, read=_responses
            )
        errors = [one for one in found if isinstance(one, HedgerowError)]
        if errors and on_error == "raise":
            raise errors[0]
        return found

    def _why_not(
        self,
        query: str,
        id: str,  # noqa: A002 - as `Index.get` has it
        question_date: QuestionDate | None,
        options: SearchKeywords,
    ) -> Steps[WhyNot]:
        body = {"query": checked_text(query, "query"), "id": checked_text(id, "id")}
        asked = {**body, **_options(question_date, options)}
        return (yield from self._client.request("POST", "v1/why_not", asked, read=_why_not))

    def _upsert(self, chunks: Iterable[ChunkLike], progress: Progress | None) -> Steps[int]:
        checked = _chunks(chunks)
        done = 0
        for first in range(0, len(checked), _BLOCK):
            block = [_fields(chunk) for chunk in checked[first : first + _BLOCK]]
            yield from self._client.request("POST", "v1/chunks", {"chunks": block}, read=dict)
            done += len(block)
            if progress is not None:
                progress(done, len(checked))
        return len({chunk.id for chunk in checked})

    def _get(self, id: str) -> Steps[Chunk | None]:  # noqa: A002 - as `Index.get` has it
        path = f"v1/chunks/{segment(checked_text(id, 'id'))}"
        try:
            return (yield from self._client.request("GET", path, read=_chunk))
        except InvalidInputError as error:
            if error.code == "unknown_chunk":
                return None
            raise

    def _delete(self, what: Mapping[str, list[str]]) -> Steps[int]:
        return (yield from self._client.request("POST", "v1/delete", what, read=_removed_of))


def _options(question_date: QuestionDate | None, options: SearchKeywords) -> dict[str, Any]:
    """The options of a search as a request has them; those that are not given stay the server's."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if "filters" in given:
        given["filters"] = _filters(given["filters"])
    if question_date is not None:
        asked = question_date
        given["question_date"] = asked.isoformat() if isinstance(asked, date) else asked
    return given


def _filters(given: FiltersLike) -> dict[str, Any]:
    filters = given if isinstance(given, Filters) else Filters(**given)
    return {name: value for name, value in filters_asked(filters).items() if value}


def _blocks(
    texts: Sequence[str], dates: Sequence[QuestionDate | None]
) -> Iterator[tuple[QuestionDate | None, list[str]]]:
    """As many queries as fit in a request, all with the same date."""
    first = 0
    while first < len(texts):
        end = first + 1
        while end < len(texts) and end - first < _MOST_QUERIES and dates[end] == dates[first]:
            end += 1
        yield dates[first], list(texts[first:end])
        first = end


def _fields(chunk: Chunk) -> dict[str, Any]:
    vector = chunk.embedding
    return {**chunk.to_dict(), "embedding": None if vector is None else list(vector)}


def _response(answer: Mapping[str, Any]) -> Response:
    hits = [_hit(one) for one in answer["results"]]
    error = answer.get("error")
    return Response(
        hits,
        Trace._from_dict(answer["trace"]),  # noqa: SLF001 - of this package
        None if error is None else error_of_document(error),
        answer["offset"],
    )


def _hit(one: Mapping[str, Any]) -> Hit:
    ranks = ("bm25Rank", "vectorSimilarity", "rerankScore")
    return hit_of(
        {**one, **read({name: one[name] for name in ranks}), "explanation": read(one["scoreParts"])}
    )


def _responses(answer: Mapping[str, Any]) -> list[Response | HedgerowError]:
    return [
        _response(one) if "results" in one else error_of_document(one["error"])
        for one in answer["responses"]
    ]


def _why_not(told: Mapping[str, Any]) -> WhyNot:
    answer = read(told)
    legs = {name: answer[name] for name in ("keywords", "vectors")}
    places = {name: None if leg is None else LegRank(**leg) for name, leg in legs.items()}
    return WhyNot(**{**answer, **places})


def _chunk(answer: Mapping[str, Any]) -> Chunk:
    told = {"line", "dimensions"}  # derived from a chunk
    return Chunk.from_dict({name: value for name, value in answer.items() if name not in told})


def _removed_of(answer: Mapping[str, int]) -> int:
    return answer["removed"]
