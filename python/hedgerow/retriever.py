"""`Retriever`: hybrid search over an index (spec/retrieval.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

from ._checks import listed, shown
from ._engine import Chunk, Searcher
from ._profiles import CANDIDATES
from ._retrieval.batches import (
    answers,
    checked_dates,
    checked_on_error,
    checked_queries,
    checked_threads,
    only,
)
from ._retrieval.embedding import upserting
from ._retrieval.holding import Holding, held_index
from ._retrieval.parts import asynchronous_parts, check_plain, parts_of
from ._retrieval.requests import request_of
from ._retrieval.reranking import rerank_options
from ._retrieval.searching import Request, Stages, checked_on_leg_failure
from ._retrieval.slow import checked_slow_ms
from ._steps import Steps, arun, run
from .embedders.base import AnyEmbedder
from .errors import HedgerowError
from .ranking import Ranking, checked_ranking
from .rerankers.base import AnyReranker
from .results import Response
from .typing import (
    Aliases,
    CandidateLike,
    ChunkLike,
    FiltersLike,
    Mode,
    OnLegFailure,
    Progress,
    QuestionDate,
    Searchable,
    SearchKeywords,
)
from .why_not import WhyNot, looking

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["Retriever"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Retriever(Holding):
    """Searches an index by keywords and by meaning, and explains the results (spec/retrieval.md).

    `index` is an open index, a collection elsewhere (`hedgerow.opensearch.Collection`), or the path of
    an index file, which must exist unless `create` is true. That is opened as by `Index.open`, and closed by `close` or at the end of
    `with Retriever(path) as retriever`, or of `async with`. An index that was given stays open for
    its other users: whoever opened it closes it.

    `embedder` turns texts into vectors: an object with `embed`, or with `embed_query` and
    `embed_documents`, a function of texts, or a name such as "local" (`embedder_named`). `reranker`
    reorders the best hits (below). Either may be asynchronous, for `asearch`; one that was named is closed
    with the retriever. `aliases` are alternatives for terms. `trigram_chunks` are searched by
    the fuzzy rung of the retry ladder instead of the index's own chunks.

    `ranking` is how hits are ranked (`Ranking`), by default as the specification has it:
    `Ranking("spec")`. `Ranking("best")` gives the best results known.

    `reranker` has a method `rerank(query, documents)`, or is a function of both. How much of a hit it
    reads, and how its scores count, is in `ranking`.

    `on_leg_failure` says what happens when the embedder, a leg or the reranker fails and the rest can
    answer: "degrade" answers without it, and trace, `Response.error` and log say so; "raise" raises
    RetrievalError. A search that takes longer than `slow_ms` milliseconds is logged as a warning, with
    its stages and without the text of the query (docs/observability.md).

    One retriever serves many threads, as far as its embedder and reranker do. It pickles when
    they and its index do.

    Raises TypeError for an embedder or a reranker without the methods of one, InvalidInputError
    for options outside their sets or that exclude each other, and for a path what `Index.open`
    raises, or IndexFileError (`index_not_found`) if there is no such file.
    """

    def __init__(  # noqa: PLR0913 - each has its default
        self,
        index: Searchable | str | os.PathLike[str],
        *,
        embedder: AnyEmbedder | str | None = None,
        reranker: AnyReranker | str | None = None,
        aliases: Aliases | None = None,
        trigram_chunks: Iterable[Chunk | CandidateLike] | None = None,
        ranking: Ranking | None = None,
        on_leg_failure: OnLegFailure = "degrade",
        slow_ms: float | None = None,
        create: bool = False,
    ) -> None:
        used, scores, self._closed_with_it = parts_of(embedder, reranker)
        self._asynchronous = asynchronous_parts(used, scores)
        if trigram_chunks is not None:
            if not isinstance(trigram_chunks, Iterable):
                raise TypeError(f"trigram_chunks must be an iterable, not {shown(trigram_chunks)}")
            trigram_chunks = tuple(listed(trigram_chunks))
        ranking = checked_ranking(ranking)
        options = ranking._options  # noqa: SLF001 - of this package
        checked_on_leg_failure(on_leg_failure)
        slow_ms = checked_slow_ms(slow_ms)
        reranks = rerank_options(ranking)
        self._owned = isinstance(index, (str, os.PathLike))
        with held_index(index, create=create) as held:
            searcher = Searcher(
                held,
                aliases,
                trigram_chunks,
                options["matching"],
                options["fusion"],
                options["neighbors"],
                options["speakers"],
                options["dates"],
                options["reweight"],
                ranking.operator or "OR",
            )
        self._stages = Stages(
            held,
            searcher,
            used,
            scores,
            reranks,
            on_leg_failure,
            slow_ms,
            CANDIDATES[ranking.profile],
        )
        self._arguments = {
            "embedder": embedder,
            "reranker": reranker,
            "aliases": aliases,
            "trigram_chunks": trigram_chunks,
            "ranking": ranking,
            "on_leg_failure": on_leg_failure,
            "slow_ms": slow_ms,
        }

    def upsert(self, chunks: Iterable[ChunkLike], *, progress: Progress | None = None) -> int:
        """Embed the chunks that have no vector, and store all; returns the number of distinct ids.

        What is embedded is title, summary and content, a line each. A chunk that is stored with
        the same texts and a vector is not embedded again. Chunks are stored in blocks as they are
        embedded, and `progress(done, total)` is called after each: what was stored before an
        error or an interruption stays, and the same call again embeds the rest. Without an
        embedder this is `Index.upsert`.

        Raises what the embedder raises, and what `Index.upsert` does; InvalidInputError when the
        index has vectors of another embedder or dimension.
        """
        check_plain(self._asynchronous, "upsert", writes=True)
        return run(upserting(self.index, self.embedder, chunks, progress))

    async def aupsert(
        self, chunks: Iterable[ChunkLike], *, progress: Progress | None = None
    ) -> int:
        """`upsert` without blocking the event loop, for embedders of either kind."""
        return await arun(upserting(self.index, self.embedder, chunks, progress))

    def reembed(self, *, progress: Progress | None = None) -> int:
        """Replace the vectors of all chunks, for another embedder; returns how many there are.

        The old vectors answer until all new ones are there, and stay if the embedder fails. What it
        embedded by then is kept in the file, and the next call with an embedder of the same name
        continues from there. `progress(done, total)` is called after each block of chunks.

        Raises InvalidInputError for a retriever without an embedder, or over a collection, and what
        the embedder raises.
        """
        check_plain(self._asynchronous, "reembed", writes=True)
        return run(self._stages.reembedding(progress))

    async def areembed(self, *, progress: Progress | None = None) -> int:
        """`reembed` without blocking the event loop, for embedders of either kind."""
        return await arun(self._stages.reembedding(progress))

    def search(  # noqa: PLR0913 - each has its default
        self,
        query: str,
        *,
        question_date: QuestionDate | None = None,
        mode: Mode = "auto",
        limit: int | None = None,
        offset: int = 0,
        candidates: int | None = None,
        rerank: bool = True,
        rerank_top_n: int = 20,
        skip_retry_ladder: bool = False,
        filters: FiltersLike | None = None,
        group_by: str | None = None,
        asker: str | None = None,
    ) -> Response:
        """The best `limit` hits for a query, 10 if not given, and the trace of how they were found.

        `question_date` is when the question was asked, as a text, a datetime or a date: its phrases
        like "last Friday" are then searched for as dates (spec/temporal.md). `mode` "auto" is "hybrid"
        with an embedder, else "bm25". `offset` skips that many of the best: the hits are those that a
        search without it has from there on, up to where the candidates end. Each leg returns at most
        `candidates` hits; if not given 60 in the profile "spec", 100 in "best". The reranker, unless `rerank` is false, sees the first
        `rerank_top_n`. `skip_retry_ladder` leaves a query that finds nothing as it is. `filters` are
        applied before ranking. `group_by` keeps only the best chunk of each path ("path"), or of
        each value of a declared key such as "year", in each leg before it is cut (spec/retrieval.md,
        "Grouping"). `asker` is the name of the speaker who asks, whom "my" in the query means.

        A failed embedder, leg or reranker is left out, and trace and log say so, unless the retriever
        was made with `on_leg_failure="raise"`. Raises RetrievalError, with the trace, when no leg could
        answer; InvalidInputError for wrong options and for a query vector that does not fit the
        index; QueryTooLargeError.
        """
        check_plain(self._asynchronous, "search")
        request = self._request(
            [query],
            [question_date],
            threads=1,
            mode=mode,
            limit=limit,
            offset=offset,
            candidates=candidates,
            rerank=rerank,
            rerank_top_n=rerank_top_n,
            skip_retry_ladder=skip_retry_ladder,
            filters=filters,
            group_by=group_by,
            asker=asker,
        )
        return only(run(self._stages.search(request)))

    async def asearch(
        self,
        query: str,
        *,
        question_date: QuestionDate | None = None,
        **options: Unpack[SearchKeywords],
    ) -> Response:
        """`search` without blocking the event loop.

        An asynchronous embedder or reranker is awaited; another one, and the engine, run on a thread.
        """
        request = self._request([query], [question_date], threads=1, **options)
        return only(await arun(self._stages.search(request)))

    @overload
    def search_many(
        self,
        queries: Iterable[str],
        *,
        question_date: QuestionDate | Sequence[QuestionDate | None] | None = None,
        threads: int | None = None,
        on_error: Literal["raise"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Response]: ...
    @overload
    def search_many(
        self,
        queries: Iterable[str],
        *,
        question_date: QuestionDate | Sequence[QuestionDate | None] | None = None,
        threads: int | None = None,
        on_error: Literal["return"],
        **options: Unpack[SearchKeywords],
    ) -> list[Response | HedgerowError]: ...
    def search_many(
        self,
        queries: Iterable[str],
        *,
        question_date: QuestionDate | Sequence[QuestionDate | None] | None = None,
        threads: int | None = None,
        on_error: Literal["raise", "return"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Any]:
        """The result of `search` for each query, in their order.

        All queries are embedded by one call, and searched on `threads` threads (as many as the
        process may use, if not given) with the interpreter free. The reranker runs on as many threads,
        or is called once for all if it has `rerank_many`. Ctrl-C ends the batch within a moment. `question_date` is one for all
        queries, or a list with one for each; all other options are as in `search`.

        `on_error` "raise" raises the first error in the order of the queries; "return" puts each
        error instead of its response. An embedder that does not answer with one row for each query
        is an error of every query.
        """
        check_plain(self._asynchronous, "search_many")
        request = self._batch(queries, question_date, threads, on_error, options)
        return answers(run(self._stages.search(request)), on_error)

    async def asearch_many(
        self,
        queries: Iterable[str],
        *,
        question_date: QuestionDate | Sequence[QuestionDate | None] | None = None,
        threads: int | None = None,
        on_error: Literal["raise", "return"] = "raise",
        **options: Unpack[SearchKeywords],
    ) -> list[Any]:
        """`search_many` without blocking the event loop; cancelling the task ends the batch."""
        request = self._batch(queries, question_date, threads, on_error, options)
        return answers(await arun(self._stages.search(request)), on_error)

    def why_not(
        self,
        query: str,
        id: str,  # noqa: A002 - as `Index.get` has it
        *,
        question_date: QuestionDate | None = None,
        **options: Unpack[SearchKeywords],
    ) -> WhyNot:
        """Why the chunk of this id is not among the results of `search`, which takes the same options.

        It searches as `search` does, and then without a limit of the legs, so that its time grows with
        the size of the index. `str()` of the answer is the reason in words. Raises what `search` does,
        TypeError for an id that is not a str.
        """
        check_plain(self._asynchronous, "why_not")
        return run(self._why_not(query, id, question_date, options))

    async def awhy_not(
        self,
        query: str,
        id: str,  # noqa: A002 - as `Index.get` has it
        *,
        question_date: QuestionDate | None = None,
        **options: Unpack[SearchKeywords],
    ) -> WhyNot:
        """`why_not` without blocking the event loop, for embedders and rerankers of either kind."""
        return await arun(self._why_not(query, id, question_date, options))

    def _why_not(
        self,
        query: str,
        id: str,  # noqa: A002 - as `Index.get` has it
        question_date: QuestionDate | None,
        options: SearchKeywords,
    ) -> Steps[WhyNot]:
        whole: SearchKeywords = {"limit": sys.maxsize, "offset": 0, "rerank": False}
        every: SearchKeywords = {**options, **whole}
        return looking(
            self._stages,
            self._request([query], [question_date], threads=1, **options),
            self._request([query], [question_date], threads=1, **every),
            id,
        )

    def _batch(
        self,
        queries: Iterable[str],
        question_date: QuestionDate | Sequence[QuestionDate | None] | None,
        threads: int | None,
        on_error: str,
        options: SearchKeywords,
    ) -> Request:
        checked_on_error(on_error)
        texts = checked_queries(queries)
        dates = checked_dates(question_date, len(texts))
        return self._request(texts, dates, threads=checked_threads(threads), **options)

    def _request(
        self, queries: Sequence[str], dates: Sequence[QuestionDate | None], **options: Any
    ) -> Request:
        return request_of(self._stages, queries, dates, **options)

    def __repr__(self) -> str:
        given = [f"{key}={value!r}" for key, value in self._arguments.items() if value is not None]
        return f"Retriever({', '.join([repr(self.index), *given])})"

    def __reduce__(self) -> tuple[Any, ...]:
        # What opened its index opens it again; without a file the index says why it cannot be.
        index = self.index.path if self._owned else self.index
        return (_retriever, (index, self._arguments))


def _retriever(index: Searchable | os.PathLike[str], arguments: dict[str, Any]) -> Retriever:
    return Retriever(index, **arguments)
