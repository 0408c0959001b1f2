"""The operations on an index or a collection: requests, results, and routes of a server.

Every interface is generated from this table: the synchronous and asynchronous methods of
`Retriever` and `RemoteRetriever`, the routes of a server with their OpenAPI document, and options
of commands. An option is added here, and where a search uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, overload

from hedgerow._checks import listed, shown
from hedgerow._engine import Chunk
from hedgerow._operations.fields import Field
from hedgerow._operations.operation import (
    Operation,
    Operations,
    Request,
    methods,
    requests_of,
)
from hedgerow._profiles import CANDIDATES
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.query import QueryExplanation
from hedgerow.ranking import Ranking
from hedgerow.results import Deletion, IndexStats, Response
from hedgerow.typing import ChunkLike, FiltersLike, Mode, Progress, QuestionDate, SearchKeywords
from hedgerow.why_not import WhyNot

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R")

MOST_RESULTS = 1_000
"""The maximum of results for a client of a server, and of queries in one request."""

MOST_BATCH_RESULTS = 10_000
"""The maximum of results of all queries in one request: each has its snippet and explanation."""

MOST_CHUNKS = 10_000
"""The maximum of chunks or ids in one request to a server."""

DEFAULT_LIMIT = 10

Where = Annotated[FiltersLike | None, Field("Only chunks that pass this, as `Filters` has it")]
Explain = Annotated[
    bool, Field("Add to the JSON what each word became, and the parts of each score")
]


QuestionDates = Annotated[
    QuestionDate | Sequence[QuestionDate | None] | None,
    Field("When the questions were asked: one for all, or a list with one for each"),
]


@dataclass(frozen=True, kw_only=True)
class RetrievalOptions(Request[R]):
    """The options of a search."""

    question_date: Annotated[
        QuestionDate | None,
        Field('The day the question is asked, for "last Friday" and the like: 2026-04-18'),
    ] = None
    mode: Annotated[
        Mode, Field("auto is hybrid with an embedder, and else bm25, which is keywords alone")
    ] = "auto"
    limit: Annotated[int | None, Field("The most results", least=1, served_most=MOST_RESULTS)] = (
        DEFAULT_LIMIT
    )
    offset: Annotated[
        int, Field("Skip the first results (paging)", least=0, served_most=MOST_RESULTS)
    ] = 0
    candidates: Annotated[
        int | None,
        Field(
            "The most hits that keywords and meaning each contribute: 100 with the profile best, 60 "
            "with spec, if not given",
            least=1,
            served_most=10 * MOST_RESULTS,
        ),
    ] = None
    rerank: Annotated[bool, Field("Use the reranker, if one is set")] = True
    rerank_top_n: Annotated[
        int, Field("The number of hits to rerank", least=0, served_most=MOST_RESULTS)
    ] = 20
    skip_retry_ladder: Annotated[bool, Field("Leave a query that finds nothing as it is")] = False
    filters: Annotated[FiltersLike | None, Field("What hits must have, as `Filters` has it")] = None
    group_by: Annotated[
        str | None,
        Field("Show only the best chunk of each file (path), or of each value of a declared key"),
    ] = None
    asker: Annotated[
        str | None,
        Field("The speaker who asks: hits by this speaker count more if the text says I or my"),
    ] = None
    recency: Annotated[
        str | None,
        Field("Halve the score with each age, such as 30d, counted to the question date"),
    ] = None


@dataclass(frozen=True)
class SearchRequest(RetrievalOptions[Response]):
    """Return the best `limit` hits for a query, and the trace of the search.

    `question_date` is the date of the question, as a text, a datetime or a date: its phrases like
    "last Friday" are then searched for as dates (spec/temporal.md). `mode` "auto" is "hybrid" with
    an embedder, else "bm25". `limit` is 10 if it is None. `offset` skips the first hits; there are
    no hits beyond the candidates. Each leg returns at most `candidates` hits, by default 60 in the
    profile "spec" and 100 in "best". The reranker, unless `rerank` is false, sees the first
    `rerank_top_n`. `skip_retry_ladder` does not retry a query that finds nothing. `filters` are
    applied before ranking. `group_by` keeps only the best chunk of each path ("path"), or of each
    value of a declared key such as "year", in each leg before it is cut (spec/retrieval.md,
    "Grouping"). `asker` is the name of the asking speaker, to whom "my" in the query refers. With
    `recency`, a half-life such as `30d`, the score of a chunk is halved for each half-life from the
    day of its `metadata["date"]` to the question date, or else today (spec/retrieval.md,
    "Recency"). `explain` is for the JSON of servers and commands: in Python every response has its
    explanations.

    A failed embedder, leg or reranker is left out and reported in trace and log, unless the
    retriever was made with `on_leg_failure="raise"`. Raises RetrievalError with the trace if no leg
    succeeded, InvalidInputError for wrong options and for a query vector that does not fit the
    index, and QueryTooLargeError.
    """

    operation = Operation("search", "search")

    query: Annotated[str, Field("A question, or words")]
    _: KW_ONLY
    explain: Explain = False


@dataclass(frozen=True)
class SearchManyRequest(RetrievalOptions[list[Any]]):
    """Return the result of `search` for each query, in order.

    All queries are embedded in one call, and searched on `threads` threads (by default one per
    usable CPU) without holding the GIL. The reranker runs on as many threads, or is called once for
    all queries if it has `rerank_many`. Ctrl-C ends the batch within a moment. `question_date` is a
    single date for all queries, or a list with a date for each. All other options are those of
    `search`.

    `on_error` "raise" raises the first error in query order; "return" puts each error in place of
    its response. If an embedder does not return a row for each query, that is an error of every
    query.
    """

    operation = Operation("search_many", "search_many")

    queries: Annotated[Iterable[str], Field("Questions, or words", served_most=MOST_RESULTS)]
    _: KW_ONLY
    question_date: QuestionDates = None  # type: ignore[assignment] # one, or one for each query
    threads: Annotated[int | None, Field(least=1, local=True)] = None
    on_error: Annotated[Literal["raise", "return"], Field(local=True)] = "raise"
    explain: Explain = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "queries", checked_queries(self.queries))
        dates, count = self.question_date, len(self.texts)
        if isinstance(dates, tuple) and len(dates) != count:
            raise InvalidInputError(
                f"there are {len(dates)} question dates for {count} queries; pass one for each, or "
                "one for all",
                code="invalid_option",
            )

    def check_served(self) -> None:
        """Raise InvalidInputError if the queries together may have too many results."""
        count, limit = len(self.texts), self.limit or DEFAULT_LIMIT
        if count * limit > MOST_BATCH_RESULTS:
            raise InvalidInputError(
                f"{count:,} queries with a limit of {limit:,} may have more than "
                f"{MOST_BATCH_RESULTS:,} results together; send fewer queries at once, or a lower "
                "limit",
                code="invalid_option",
            )

    @property
    def texts(self) -> Sequence[str]:
        """The queries as a list."""
        return self.queries  # type: ignore[return-value] # see __post_init__

    @property
    def dates(self) -> Sequence[QuestionDate | None]:
        """The question date of each query."""
        dates = self.question_date
        if dates is None or isinstance(dates, (str, date)):
            return [dates] * len(self.texts)
        return dates


def checked_queries(queries: Iterable[str]) -> list[str]:
    """Return queries as a list. Raises InvalidInputError unless they are an iterable of texts.

    A single str is rejected too. A text that is no valid query is an error of that query, later.
    """
    if isinstance(queries, (str, bytes, Mapping)) or not isinstance(queries, Iterable):
        hint = "; use search for one" if isinstance(queries, str) else ""
        raise InvalidInputError(
            f"queries must be a list of texts, not {shown(queries)}{hint}", code="invalid_option"
        )
    found = listed(queries)
    for at, query in enumerate(found):
        if not isinstance(query, str):
            raise InvalidInputError(
                f"queries[{at}] must be a text, not {shown(query)}", code="invalid_option"
            )
    return found


@dataclass(frozen=True)
class WhyNotRequest(RetrievalOptions[WhyNot]):
    """Explain why the chunk of this id is not among the results of `search` with the same options.

    It searches like `search`, and then without a limit on the legs, so its time grows with the size
    of the index. `str()` of the result is the reason in words. Raises the errors of `search`.
    """

    operation = Operation("why_not", "why_not")

    query: Annotated[str, Field("A question, or words")]
    id: Annotated[str, Field("The id of a chunk")]


@dataclass(frozen=True)
class ExplainRequest(Request[QueryExplanation]):
    """Explain how each word of a query is read, and return the compiled texts.

    Like `explain_query`, with the tokenizer, the stop words, the aliases and the ranking in use.
    Raises QueryTooLargeError.
    """

    operation = Operation("explain", "explain")

    query: Annotated[str, Field("A question, or words")]


@dataclass(frozen=True)
class StatsRequest(Request[IndexStats]):
    """Return statistics of the index, from one snapshot.

    From a server, fields about the memory of a handle are 0 or None. Raises InvalidInputError
    (`unsupported_by_backend`) for a collection, which has a separate `stats`.
    """

    operation = Operation("stats", "stats", "GET")


@dataclass(frozen=True)
class GetRequest(Request[Chunk | None]):
    """Return the chunk of an id, or None if it does not exist. From a server, it has no vector."""

    operation = Operation("get", "chunks/{id}", "GET")

    id: Annotated[str, Field("The id of a chunk")]


@dataclass(frozen=True)
class GetManyRequest(Request[list[Chunk | None]]):
    """Return the chunks of some ids in order, with None for an id without a chunk.

    From a server, they have no vectors.
    """

    operation = Operation("get_many", "get_many")

    ids: Annotated[Sequence[str], Field("Ids of chunks", served_most=MOST_RESULTS)]


@dataclass(frozen=True)
class CountRequest(Request[int]):
    """Return the number of chunks that pass a filter, or of all."""

    operation = Operation("count", "count")

    where: Where = None


@dataclass(frozen=True)
class UpdateRequest(Request[int]):
    """Change metadata and tags of the chunks that pass a filter, and return their number.

    Nothing is embedded again. In an index this is one transaction. Raises InvalidInputError for a
    filter without a condition, and if neither metadata nor tags are given.
    """

    operation = Operation("update", "update", writes=True)

    where: Annotated[FiltersLike, Field("Which chunks, as `Filters` has it")]
    _: KW_ONLY
    metadata: Annotated[Mapping[str, Any] | None, Field("Keys to set; null removes a key")] = None
    tags: Annotated[Sequence[str] | None, Field("All tags that they get")] = None


@dataclass(frozen=True)
class UpsertRequest(Request[int]):
    """Embed the chunks without a vector, store all chunks, and return the number of distinct ids.

    The embedded text is title, summary and content, one per line. A chunk that is stored with the
    same texts and a vector is not embedded again. Chunks are stored in blocks, at a server 500 per
    request, and `progress(done, total)` is called after each. After an error or an interruption the
    stored blocks stay, and the same call embeds the rest. Without an embedder this is
    `Index.upsert`.

    Raises the errors of the embedder and of `Index.upsert`, and InvalidInputError if the index has
    vectors of another embedder or dimension.
    """

    operation = Operation("upsert", "chunks", writes=True)

    chunks: Annotated[
        Iterable[ChunkLike], Field("As `Chunk.from_dict` takes them", served_most=MOST_CHUNKS)
    ]
    _: KW_ONLY
    progress: Annotated[Progress | None, Field(local=True)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.chunks, (Chunk, Mapping)):
            raise InvalidInputError(
                "chunks is one chunk; give a list of them", code="invalid_option"
            )
        if isinstance(self.chunks, (str, bytes)) or not isinstance(self.chunks, Iterable):
            raise InvalidInputError(
                f"chunks must be a list of chunks, not {shown(self.chunks)}", code="invalid_option"
            )


@dataclass(frozen=True)
class DeleteRequest(Request[Deletion]):
    """Remove the chunks of some ids and all chunks of some paths. Return their number, and the missing ids and paths.

    With `where`, remove the chunks that pass a filter instead. In an index this is one transaction.
    Ids and paths are looked up just before it. Raises InvalidInputError for a filter without a
    condition, for a filter combined with ids or paths, and if none of the three is given.
    """

    operation = Operation("delete", "delete", writes=True)

    ids: Annotated[Sequence[str] | None, Field("Ids of chunks", served_most=MOST_CHUNKS)] = None
    paths: Annotated[Sequence[str] | None, Field("Paths of chunks", served_most=MOST_RESULTS)] = (
        None
    )
    _: KW_ONLY
    where: Where = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ids is None and self.paths is None and self.where is None:
            raise InvalidInputError(
                "say what to delete: ids, paths, or where, which is a filter", code="invalid_option"
            )
        if self.where is not None and (self.ids or self.paths):
            raise InvalidInputError(
                "delete takes ids and paths, or where, and not both", code="incompatible_options"
            )


S = TypeVar("S", bound=RetrievalOptions[Any])


def whole_page(request: S, ranking: Ranking) -> S:
    """Return the request with at least as many candidates as results.

    Otherwise candidates would cut a page short.
    """
    if request.candidates is not None or request.limit is None:
        return request
    return replace(request, candidates=max(CANDIDATES[ranking.profile], request.limit))


class IndexOperations(Operations):
    """The operations on an index, in this process (`Retriever`) or at a server (`RemoteRetriever`).

    Each method takes the fields of its request, and has an asynchronous one with an `a` before its
    name. Arguments of a wrong type or out of bounds raise InvalidInputError.
    """

    search, asearch = methods(SearchRequest)
    why_not, awhy_not = methods(WhyNotRequest)
    explain, aexplain = methods(ExplainRequest)
    stats, astats = methods(StatsRequest)
    get, aget = methods(GetRequest)
    get_many, aget_many = methods(GetManyRequest)
    count, acount = methods(CountRequest)
    update, aupdate = methods(UpdateRequest)
    upsert, aupsert = methods(UpsertRequest)
    delete, adelete = methods(DeleteRequest)
    asearch_many = methods(SearchManyRequest)[1]
    if TYPE_CHECKING:  # `on_error` decides whether errors are among the results

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
        def search_many(self, queries: Iterable[str], **options: Any) -> list[Any]: ...

    else:
        search_many = methods(SearchManyRequest)[0]

    def delete_path(self, path: str) -> int:
        """Remove every chunk of a path, and return the number of removed chunks."""
        return self._perform(DeleteRequest(paths=(path,))).removed

    async def adelete_path(self, path: str) -> int:
        """Like `delete_path`, but asynchronous."""
        return (await self._aperform(DeleteRequest(paths=(path,)))).removed


OPERATIONS: Mapping[str, type[Request[Any]]] = requests_of(IndexOperations)
"""The requests of the operations, by name."""
