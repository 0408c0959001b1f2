"""`Retriever`: hybrid search over an index (spec/retrieval.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, overload

from ._checks import checked_count, listed, shown
from ._embedding import Progress, upserting
from ._engine import Candidate, Chunk, Filters, Hit, Index, Searcher, SearchOptions
from ._parts import asynchronous_parts, check_plain
from ._profiles import Fusion, Matching, Profile, ranking
from ._searching import Request, Stages
from ._steps import arun, run
from .embedders.base import AnyEmbedder
from .errors import HedgerowError, InvalidInputError
from .rerankers.base import AsyncReranker, Reranker
from .results import Response

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["Retriever"]

Mode = Literal["auto", "bm25", "semantic", "hybrid"]


class FiltersMapping(TypedDict, total=False):
    """`Filters` as a mapping."""

    paths: Sequence[str]
    path_prefix: str | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]


class SearchKeywords(TypedDict, total=False):
    """The options of `search`, for all methods that search."""

    mode: Mode
    top_k: int
    candidate_k: int
    rerank: bool
    rerank_top_n: int
    skip_retry_ladder: bool
    filters: Filters | FiltersMapping | None
    group_by: Literal["path"] | None


class Retriever:
    """Searches an index by keywords and by meaning, and explains the results (spec/retrieval.md).

    `embedder` turns texts into vectors: an object with `embed`, or with `embed_query` and
    `embed_documents`, or a function of texts. `reranker` reorders the best hits. Either may be
    asynchronous, for `asearch`. `aliases` are alternatives for terms.
    `trigram_chunks` are searched by the fuzzy rung of the retry ladder instead of the index's own
    chunks. `default_operator` is as in `compile_match`.

    `profile` is how hits are ranked: "spec" as the specification has it, "best" for the best
    results known (spec/retrieval.md, "Profiles"). It stands for four options, each of which can be
    given on its own: `matching` as in `compile_match`; `fusion`, which combines both legs: "rrf" by
    ranks, "score" by scores; `neighbors`, whether chunks beside a chunk in its path count for it; and
    `reweight`, whether scores are multiplied by what the question asks for.

    One retriever serves many threads, as far as its embedder and reranker do. It pickles when
    they and its index do.

    Raises TypeError for an embedder or a reranker without the methods of one, InvalidInputError
    for options outside their sets or that exclude each other.
    """

    def __init__(  # noqa: PLR0913 - each has its default
        self,
        index: Index,
        *,
        embedder: AnyEmbedder | None = None,
        reranker: Reranker | AsyncReranker | None = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
        trigram_chunks: Iterable[Chunk | Candidate | Hit | Mapping[str, Any]] | None = None,
        profile: Profile = "spec",
        matching: Matching | None = None,
        fusion: Fusion | None = None,
        neighbors: bool | None = None,
        reweight: bool | None = None,
        default_operator: Literal["OR", "AND"] = "OR",
    ) -> None:
        self._asynchronous = asynchronous_parts(embedder, reranker)
        if trigram_chunks is not None:
            if not isinstance(trigram_chunks, Iterable):
                raise TypeError(f"trigram_chunks must be an iterable, not {shown(trigram_chunks)}")
            trigram_chunks = tuple(listed(trigram_chunks))
        options = ranking(
            profile, matching=matching, fusion=fusion, neighbors=neighbors, reweight=reweight
        )
        searcher = Searcher(
            index,
            aliases,
            trigram_chunks,
            options["matching"],
            options["fusion"],
            options["neighbors"],
            options["reweight"],
            default_operator,
        )
        self._stages = Stages(index, searcher, embedder, reranker)
        self._arguments = {
            "embedder": embedder,
            "reranker": reranker,
            "aliases": aliases,
            "trigram_chunks": trigram_chunks,
            "profile": profile,
            "matching": matching,
            "fusion": fusion,
            "neighbors": neighbors,
            "reweight": reweight,
            "default_operator": default_operator,
        }

    @property
    def index(self) -> Index:
        """What is searched."""
        return self._stages.index

    @property
    def embedder(self) -> AnyEmbedder | None:
        """What turns texts into vectors."""
        return self._stages.embedder

    @property
    def reranker(self) -> Reranker | AsyncReranker | None:
        """What reorders the best hits."""
        return self._stages.reranker

    def upsert(self, chunks: Iterable[Chunk], *, progress: Progress | None = None) -> int:
        """Embed the chunks that have no vector, and store all; returns the number of distinct ids.

        What is embedded is title, summary and content, a line each. A chunk that is stored with
        the same texts and a vector is not embedded again. Chunks are stored in blocks as they are
        embedded, and `progress(done, total)` is called after each: what was stored before an
        error or an interruption stays, and the same call again embeds the rest. Without an
        embedder this is `Index.upsert`.

        Raises what the embedder raises, and what `Index.upsert` does; InvalidInputError when the
        index has vectors of another embedder or dimension.
        """
        check_plain(self._asynchronous, "upsert")
        return run(upserting(self.index, self.embedder, chunks, progress))

    async def aupsert(self, chunks: Iterable[Chunk], *, progress: Progress | None = None) -> int:
        """`upsert` without blocking the event loop, for embedders of either kind."""
        return await arun(upserting(self.index, self.embedder, chunks, progress))

    def reembed(self, *, progress: Progress | None = None) -> int:
        """Replace the vectors of all chunks, for another embedder; returns how many there are.

        The old vectors answer until all new ones are there, and stay if the embedder fails. What it
        embedded by then is kept in the file, and the next call with an embedder of the same name
        goes on from there.
        `progress(done, total)` is called after each block of chunks.
        """
        check_plain(self._asynchronous, "reembed")
        return run(self._stages.reembedding(progress))

    async def areembed(self, *, progress: Progress | None = None) -> int:
        """`reembed` without blocking the event loop, for embedders of either kind."""
        return await arun(self._stages.reembedding(progress))

    def search(  # noqa: PLR0913 - each has its default
        self,
        query: str,
        *,
        question_date: str | None = None,
        mode: Mode = "auto",
        top_k: int = 10,
        candidate_k: int = 60,
        rerank: bool = True,
        rerank_top_n: int = 20,
        skip_retry_ladder: bool = False,
        filters: Filters | FiltersMapping | None = None,
        group_by: Literal["path"] | None = None,
    ) -> Response:
        """The best `top_k` hits for a query, and the trace of how they were found.

        `question_date` is when the question was asked: its phrases like "last Friday" are then
        searched for as dates (spec/temporal.md). `mode` "auto" is "hybrid" with an embedder, else
        "bm25". Each leg returns at most `candidate_k` hits; the reranker, unless `rerank` is false,
        sees the first `rerank_top_n`. `skip_retry_ladder` leaves a query that finds nothing as it
        is. `filters` are applied before ranking. `group_by` "path" keeps only the best chunk of each
        path, in each leg before it is cut.

        A failed embedder, leg or reranker is left out, and trace and log say so. Raises
        RetrievalError, with the trace, when no leg could answer; InvalidInputError for wrong
        options and for a query vector that does not fit the index; QueryTooLargeError.
        """
        check_plain(self._asynchronous, "search")
        request = self._request(
            [query],
            [question_date],
            threads=1,
            mode=mode,
            top_k=top_k,
            candidate_k=candidate_k,
            rerank=rerank,
            rerank_top_n=rerank_top_n,
            skip_retry_ladder=skip_retry_ladder,
            filters=filters,
            group_by=group_by,
        )
        return _only(run(self._stages.search(request)))

    async def asearch(
        self, query: str, *, question_date: str | None = None, **options: Unpack[SearchKeywords]
    ) -> Response:
        """`search` without blocking the event loop.

        An asynchronous embedder or reranker is awaited; another one, and the engine, run on a thread.
        """
        request = self._request([query], [question_date], threads=1, **options)
        return _only(await arun(self._stages.search(request)))

    @overload
    def search_many(
        self,
        queries: Iterable[str],
        *,
        question_date: str | Sequence[str | None] | None = None,
        threads: int | None = None,
        on_error: Literal["raise"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Response]: ...
    @overload
    def search_many(
        self,
        queries: Iterable[str],
        *,
        question_date: str | Sequence[str | None] | None = None,
        threads: int | None = None,
        on_error: Literal["return"],
        **options: Unpack[SearchKeywords],
    ) -> list[Response | HedgerowError]: ...
    def search_many(
        self,
        queries: Iterable[str],
        *,
        question_date: str | Sequence[str | None] | None = None,
        threads: int | None = None,
        on_error: Literal["raise", "return"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Any]:
        """The result of `search` for each query, in their order.

        All queries are embedded by one call, and searched on `threads` threads (as many as the
        process may use, if not given) with the interpreter free; the reranker sees them one
        after the other. Ctrl-C ends the batch within a moment. `question_date` is one for all
        queries, or a list with one for each; all other options are as in `search`.

        `on_error` "raise" raises the first error in the order of the queries; "return" puts each
        error instead of its response.
        """
        check_plain(self._asynchronous, "search_many")
        request = self._batch(queries, question_date, threads, on_error, options)
        return _answers(run(self._stages.search(request)), on_error)

    async def asearch_many(
        self,
        queries: Iterable[str],
        *,
        question_date: str | Sequence[str | None] | None = None,
        threads: int | None = None,
        on_error: Literal["raise", "return"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Any]:
        """`search_many` without blocking the event loop; cancelling the task ends the batch."""
        request = self._batch(queries, question_date, threads, on_error, options)
        return _answers(await arun(self._stages.search(request)), on_error)

    def _batch(
        self,
        queries: Iterable[str],
        question_date: str | Sequence[str | None] | None,
        threads: int | None,
        on_error: str,
        options: SearchKeywords,
    ) -> Request:
        if on_error not in {"raise", "return"}:
            raise InvalidInputError(
                f'on_error must be "raise" or "return", not {shown(on_error)}',
                code="invalid_option",
            )
        if isinstance(queries, str):
            raise TypeError("queries must be a list of str, not one str; use search for one")
        texts = listed(queries)
        dates: list[str | None]
        if question_date is None or isinstance(question_date, str):
            dates = [question_date] * len(texts)
        elif isinstance(question_date, Sequence):
            dates = listed(question_date)
        else:
            raise TypeError(
                "question_date must be one str, or a list with one for each query, not "
                f"{type(question_date).__name__}"
            )
        if len(dates) != len(texts):
            raise InvalidInputError(
                f"there are {len(dates)} question dates for {len(texts)} queries; "
                "pass one for each, or one for all",
                code="invalid_option",
            )
        workers = _usable_cpus() if threads is None else checked_count(threads, "threads")
        workers = min(workers, sys.maxsize)
        return self._request(texts, dates, threads=workers, **options)

    def _request(  # noqa: PLR0913 - the options of a search, each with its default
        self,
        queries: Sequence[str],
        dates: Sequence[str | None],
        *,
        threads: int,
        mode: Mode = "auto",
        top_k: int = 10,
        candidate_k: int = 60,
        rerank: bool = True,
        rerank_top_n: int = 20,
        skip_retry_ladder: bool = False,
        filters: Filters | FiltersMapping | None = None,
        group_by: Literal["path"] | None = None,
    ) -> Request:
        for i, query in enumerate(queries):
            if not isinstance(query, str):
                which = "the query" if len(queries) == 1 else f"queries[{i}]"
                raise TypeError(f"{which} must be a str, not {type(query).__name__}")
        head = checked_count(rerank_top_n, "rerank_top_n", least=0)
        reranks = None if self.reranker is None and rerank else rerank and head > 0
        # More than a machine can count is as good as all.
        longest = min(checked_count(candidate_k, "candidate_k"), sys.maxsize)
        # A reranker may drop all that it sees; then those behind move up.
        best = min(checked_count(top_k, "top_k"), sys.maxsize)
        wanted = best + (head if reranks else 0)
        return Request(
            queries=queries,
            dates=dates,
            options=SearchOptions(
                mode,
                longest,
                min(wanted, sys.maxsize),
                reranks,
                skip_retry_ladder,
                filters,
                group_by,
            ),
            embeds=mode != "bm25",
            top_k=best,
            rerank_top_n=min(head, sys.maxsize),
            threads=threads,
        )

    def __repr__(self) -> str:
        given = [f"{key}={value!r}" for key, value in self._arguments.items() if value is not None]
        return f"Retriever({', '.join([repr(self.index), *given])})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_retriever, (self.index, self._arguments))


def _retriever(index: Index, arguments: dict[str, Any]) -> Retriever:
    return Retriever(index, **arguments)


def _answers(answers: list[Response | HedgerowError], on_error: str) -> list[Any]:
    if on_error == "raise":
        for answer in answers:
            if isinstance(answer, HedgerowError):
                raise answer
    return answers


def _only(answers: list[Response | HedgerowError]) -> Response:
    [answer] = _answers(answers, "raise")
    response: Response = answer
    return response


def _usable_cpus() -> int:
    """The CPUs this process may use, which in a container are fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
