"""`Retriever`: hybrid search over an index (spec/retrieval.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, cast

from ._checks import checked_durability, listed, shown
from ._dual import Call, Steps, arun, run
from ._engine import Chunk, Filters, Index, Searcher
from ._operations.operation import Request
from ._profiles import CANDIDATES
from ._retrieval.embedding import reembedding, upserting
from ._retrieval.operations import (
    CountRequest,
    DeleteRequest,
    ExplainRequest,
    GetManyRequest,
    GetRequest,
    IndexOperations,
    SearchManyRequest,
    SearchRequest,
    StatsRequest,
    UpdateRequest,
    UpsertRequest,
    WhyNotRequest,
)
from ._retrieval.reranking import is_asynchronous, rerank_options
from ._retrieval.searching import Stages, checked_slow_ms, needed
from ._retrieval.why_not import looking
from .embedders.base import AnyEmbedder, forms_of
from .errors import IndexFileError, InvalidInputError
from .query import QueryExplanation, explain_query
from .ranking import Ranking, checked_ranking
from .rerankers.base import AnyReranker
from .results import Deletion, IndexStats
from .typing import (
    Aliases,
    CandidateLike,
    Collection,
    Durability,
    OnLegFailure,
    Progress,
    Searchable,
)

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self

__all__ = ["Retriever"]
__dir__ = partial(sorted, __all__)


R = TypeVar("R")


class Retriever(IndexOperations):
    """Searches an index by keywords and by meaning, and explains the results (spec/retrieval.md).

    `index` is an open index, a collection elsewhere (`hedgerow.opensearch.Collection`), or the path of
    an index file, which must exist unless `create` is true. That is opened as by `Index.open`, with
    `durability`, and closed by `close` or at the end of `with Retriever(path) as retriever`, or of `async with`. An index that was given stays open for
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

    Raises InvalidInputError for an embedder or a reranker without the methods of one, and for options
    outside their sets or that exclude each other; for a path what `Index.open` raises, or IndexFileError
    (`index_not_found`) if there is no such file.
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
        durability: Durability = "normal",
    ) -> None:
        used, scores, self._closed_with_it = _parts_of(embedder, reranker)
        self._asynchronous = _asynchronous_parts(used, scores)
        if trigram_chunks is not None:
            if not isinstance(trigram_chunks, Iterable):
                raise InvalidInputError(
                    f"trigram_chunks must be an iterable, not {shown(trigram_chunks)}",
                    code="invalid_option",
                )
            trigram_chunks = tuple(listed(trigram_chunks))
        ranking = checked_ranking(ranking)
        options = ranking._options  # noqa: SLF001 - of this package
        if on_leg_failure not in ("degrade", "raise"):
            raise InvalidInputError(
                f'on_leg_failure must be "degrade" or "raise", not {shown(on_leg_failure)}',
                code="invalid_option",
            )
        slow_ms = checked_slow_ms(slow_ms)
        reranks = rerank_options(ranking)
        self._owned = isinstance(index, (str, os.PathLike))
        with _held_index(index, create=create, durability=durability) as held:
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
            ranking.profile == "best",
            partial(
                explain_query,
                aliases=aliases,
                operator=ranking.operator,
                matching=options["matching"],
            ),
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

    @property
    def index(self) -> Index:
        """What is searched: an index, or a collection elsewhere, which has other methods besides."""
        return cast("Index", self._stages.index)

    @property
    def embedder(self) -> AnyEmbedder | None:
        """The model that turns texts into vectors."""
        return self._stages.embedder

    @property
    def reranker(self) -> AnyReranker | None:
        """The model that reorders the best hits."""
        return self._stages.reranker

    @property
    def ranking(self) -> Ranking:
        """How hits are ranked."""
        return cast("Ranking", self._arguments["ranking"])

    def reembed(self, *, progress: Progress | None = None) -> int:
        """Replace the vectors of all chunks, for another embedder; returns how many there are.

        The old vectors answer until all new ones are there, and stay if the embedder fails. What it
        embedded by then is kept, and the next call with an embedder of the same name continues from
        there. `progress(done, total)` is called after each block of chunks. A collection is replaced
        by a copy, and refuses writes for the last comparison of both (spec/opensearch.md).

        Raises InvalidInputError for a retriever without an embedder, what the embedder raises, and
        BackendError for a collection.
        """
        self._check_plain("reembed", writes=True)
        return run(self._reembedding(progress))

    async def areembed(self, *, progress: Progress | None = None) -> int:
        """Like `reembed`, but asynchronous."""
        return await arun(self._reembedding(progress))

    def _reembedding(self, progress: Progress | None) -> Steps[int]:
        stages = self._stages
        count = yield from reembedding(stages.index, needed(stages.embedder), progress)
        stages.forget_embedder()
        return count

    def _perform(self, request: Request[R]) -> R:
        if self._asynchronous:
            self._check_plain(
                request.operation.name, writes=request.writes, embeds=type(request) in _EMBEDDING
            )
        done: R = run(_STEPS[type(request)](self._stages, request))
        return done

    async def _aperform(self, request: Request[R]) -> R:
        done: R = await arun(_STEPS[type(request)](self._stages, request))
        return done

    def _check_plain(self, method: str, *, writes: bool, embeds: bool = True) -> None:
        """Raise InvalidInputError for parts that must be awaited, in a method that cannot await.

        A method that writes does not use the reranker.
        """
        parts = [part for part in self._asynchronous if part == "embedder" or not writes]
        if parts and embeds:
            raise InvalidInputError(
                f"the {parts[0]} is asynchronous; await a{method}(...) instead of {method}(...)",
                code="incompatible_options",
            )

    def close(self) -> None:
        """Close the index if this retriever opened it; an index that was given stays open.

        Embedder and reranker are their makers' to close, but for those given by name. Closing again does
        nothing.
        """
        for part in self._closed_with_it:
            part.close()
        if self._owned:
            self.index.close()

    async def aclose(self) -> None:
        """`close` without blocking the event loop, which waits for running searches."""
        for part in self._closed_with_it:
            part.close()
        if self._owned:
            await arun(_one(Call(self.index.close)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        given = [f"{key}={value!r}" for key, value in self._arguments.items() if value is not None]
        return f"Retriever({', '.join([repr(self.index), *given])})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A retriever that opened its index opens it again. The index refuses to be pickled if it has no file.
        index = self.index.path if self._owned else self.index
        return (_retriever, (index, self._arguments))


def _retriever(index: Searchable | os.PathLike[str], arguments: dict[str, Any]) -> Retriever:
    return Retriever(index, **arguments)


# The steps of each operation.


def _upserting(stages: Stages, request: UpsertRequest) -> Steps[int]:
    return upserting(stages.index, stages.embedder, request.chunks, request.progress)


def _deleting(stages: Stages, request: DeleteRequest) -> Steps[Deletion]:
    index, ids = stages.index, list(dict.fromkeys(request.ids or ()))
    chunks: list[Chunk | None] = (yield Call(index.get_many, ids)) if ids else []
    found = [name for name, chunk in zip(ids, chunks, strict=True) if chunk is not None]
    missing = [name for name, chunk in zip(ids, chunks, strict=True) if chunk is None]
    paths = list(dict.fromkeys(request.paths or ()))
    for path in paths:
        count: int = yield Call(index.count, Filters(paths=[path]))
        missing += [] if count else [path]
    where = request.where if request.where is not None else _filter_of(ids, paths)
    call = partial(index.delete, ids) if where is None else partial(index.delete, where=where)
    removed: int = yield Call(call)
    return Deletion(removed, found, missing)


def _filter_of(ids: list[str], paths: list[str]) -> Filters | None:
    """Return the filter that chunks of these ids and paths pass, or None for ids alone.

    A filter makes a column of all ids, which `Index.delete` does not need to find some of them.
    """
    if not paths:
        return None
    if not ids:
        return Filters(paths=paths)
    return Filters(where={"$or": [{"id": {"$in": ids}}, {"path": {"$in": paths}}]})


def _getting(stages: Stages, request: GetRequest) -> Steps[Chunk | None]:
    found: Chunk | None = yield Call(stages.index.get, request.id)
    return found


def _getting_many(stages: Stages, request: GetManyRequest) -> Steps[list[Chunk | None]]:
    found: list[Chunk | None] = yield Call(stages.index.get_many, request.ids)
    return found


def _counting(stages: Stages, request: CountRequest) -> Steps[int]:
    count: int = yield Call(stages.index.count, request.where)
    return count


def _updating(stages: Stages, request: UpdateRequest) -> Steps[int]:
    change = partial(stages.index.update, metadata=request.metadata, tags=request.tags)
    count: int = yield Call(change, request.where)
    return count


def _stating(stages: Stages, _: StatsRequest) -> Steps[IndexStats]:
    found: IndexStats = yield Call(_index_of(stages.index, "stats").stats)
    return found


def _explaining(stages: Stages, request: ExplainRequest) -> Steps[QueryExplanation]:
    index = cast("Index", stages.index)
    explain = partial(stages.explain, tokenizer=index.tokenizer, stopwords=index.stopwords)
    found: QueryExplanation = yield Call(explain, request.query)
    return found


def _one(call: Call) -> Steps[Any]:
    result = yield call
    return result


_STEPS: Mapping[type[Request[Any]], Callable[[Stages, Any], Steps[Any]]] = {
    SearchRequest: Stages.search,
    SearchManyRequest: Stages.search,
    WhyNotRequest: looking,
    ExplainRequest: _explaining,
    StatsRequest: _stating,
    GetRequest: _getting,
    GetManyRequest: _getting_many,
    CountRequest: _counting,
    UpdateRequest: _updating,
    UpsertRequest: _upserting,
    DeleteRequest: _deleting,
}
_EMBEDDING = frozenset({SearchRequest, SearchManyRequest, WhyNotRequest, UpsertRequest})


# The parts of a retriever.


def _parts_of(
    embedder: AnyEmbedder | str | None, reranker: AnyReranker | str | None
) -> tuple[AnyEmbedder | None, AnyReranker | None, list[Any]]:
    """The embedder and the reranker, those given by name made; and which of them are to be closed."""
    made: list[Any] = []
    if isinstance(embedder, str):
        from hedgerow.embedders.by_name import embedder_named  # noqa: PLC0415 - for names alone

        embedder = embedder_named(embedder)
        made.append(embedder)
    if isinstance(reranker, str):
        from hedgerow.rerankers.by_name import reranker_named  # noqa: PLC0415 - for names alone

        reranker = reranker_named(reranker)
        made.append(reranker)
    return embedder, reranker, [part for part in made if hasattr(part, "close")]


def _asynchronous_parts(embedder: AnyEmbedder | None, reranker: AnyReranker | None) -> list[str]:
    """Which of the two must be awaited; raises InvalidInputError for anything but an embedder and a reranker."""
    found = []
    if embedder is not None and forms_of(embedder).asynchronous:
        found.append("embedder")
    if reranker is not None and is_asynchronous(reranker):
        found.append("reranker")
    return found


@contextmanager
def _held_index(
    index: Searchable | str | os.PathLike[str], *, create: bool, durability: Durability
) -> Iterator[Searchable]:
    """The index or the collection that was given, or that of a path: closed again if what follows fails.

    Raises IndexFileError (`index_not_found`) if there is no file, unless it may be created, and
    InvalidInputError for the durability of an index that is open already.
    """
    if isinstance(index, (Index, Collection)):
        if checked_durability(durability) != "normal":
            raise InvalidInputError(
                "durability is for an index that the retriever opens; give it to Index.open",
                code="incompatible_options",
            )
        yield index
        return
    if not isinstance(index, (str, os.PathLike)):
        raise InvalidInputError(
            f"index must be an Index, the path of one, or a Collection, not {shown(index)}",
            code="invalid_option",
        )
    # An empty path is refused by Index.open.
    if create is not True and os.fspath(index) and not os.path.lexists(index):
        raise IndexFileError(
            f"there is no index at {os.fspath(index)}; check the path, or pass create=True to make a "
            "new one",
            code="index_not_found",
        )
    opened = Index.open(index, durability=durability)
    try:
        yield opened
    except BaseException:
        opened.close()
        raise


def _index_of(searched: Searchable, what: str) -> Index:
    """The index, for what collections elsewhere cannot do."""
    if isinstance(searched, Index):
        return searched
    raise InvalidInputError(
        f"{what} is for an index; a collection has its own",
        code="unsupported_by_backend",
    )
