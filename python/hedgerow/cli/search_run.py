"""Running one search for the command line, and all that showing it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from hedgerow import AliasTable, Embedder, Hit, Index, QueryExplanation, Response, Retriever, WhyNot
from hedgerow._json.highlight import Highlighter
from hedgerow._json.index import AskedFilters
from hedgerow._retrieval.operations import RetrievalOptions, SearchRequest, whole_page
from hedgerow.ranking import Ranking

from .files import chunks_at
from .params import EmbedderOptions, check_prompts, embedder_of, recorded_embedder
from .place import check_exists, opened_collection

if TYPE_CHECKING:
    from hedgerow.opensearch import Collection
    from hedgerow.typing import FiltersLike, Tokenizer


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """A search as the user requested it, and with what."""

    request: SearchRequest
    ranking: Ranking
    db: str
    url: tuple[str, str] | None
    server: dict[str, Any]
    alias: AliasTable | None
    embedder: EmbedderOptions
    rerank: str | None
    why_not: str | None


@dataclass(frozen=True, slots=True)
class Search:
    """The request of one search, with its results."""

    asked: SearchArguments
    chunks: int
    explanation: QueryExplanation
    response: Response
    highlighter: Highlighter
    tokenizer: Tokenizer
    why_not: WhyNot | None
    notices: tuple[str, ...]
    # The keys of conditions that no chunk has, if nothing was found.
    missing_keys: tuple[str, ...]

    @property
    def hits(self) -> list[Hit]:
        """The hits, best first."""
        return self.response.results


def run(asked: SearchArguments) -> Search:
    """Search the index or the collection, which must be there."""
    with embedder_of(asked.embedder) as named, _opened(asked) as index, ExitStack() as stack:
        embedder, notices = _embedder(asked, index, named)
        parts: dict[str, Any] = {"embedder": embedder, "reranker": asked.rerank}
        retriever = stack.enter_context(
            Retriever(index, **parts, aliases=asked.alias, ranking=asked.ranking)
        )
        request = whole_page(asked.request, asked.ranking)
        response = retriever._perform(request)  # noqa: SLF001 - of the same package
        why_not = None
        if asked.why_not is not None:
            given = {one.name: getattr(request, one.name) for one in fields(RetrievalOptions)}
            why_not = retriever.why_not(request.query, _id_of(index, asked.why_not), **given)
        return Search(
            asked=asked,
            chunks=len(index),
            explanation=retriever.explain(request.query),
            response=response,
            highlighter=Highlighter(response.trace.match_query, index.tokenizer),
            tokenizer=index.tokenizer,
            why_not=why_not,
            notices=notices,
            missing_keys=() if response else _missing_keys(index, request.filters),
        )


def _missing_keys(index: Index | Collection, filters: FiltersLike | None) -> tuple[str, ...]:
    """The keys of conditions that no chunk has."""
    asked = AskedFilters.of(filters)
    keys = [*asked.metadata, *_keys_in(asked.where)]
    return tuple(key for key in dict.fromkeys(keys) if not index.count({key: {"$exists": True}}))


def _keys_in(where: Mapping[str, Any]) -> Iterator[str]:
    for key, value in where.items():
        if not key.startswith("$"):
            yield key
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping):
                yield from _keys_in(part)


def _opened(asked: SearchArguments) -> Index | Collection:
    if asked.url is not None:
        return opened_collection(asked.url, asked.server)
    check_exists(asked.db)
    return Index.open(asked.db, read_only=True)


def _id_of(index: Index | Collection, what: str) -> str:
    """The id itself, or the id of the first chunk at such a place."""
    found = chunks_at(index, what)
    return found[0].id if found else what


def _embedder(
    asked: SearchArguments, index: Index | Collection, named: Embedder | None
) -> tuple[Embedder | None, tuple[str, ...]]:
    """Return the embedder that was named, or that of the index if the mode needs one."""
    if named is not None or asked.request.mode == "bm25":
        return named, ()
    found = recorded_embedder(index, asked.embedder)
    if found.embedder is None and asked.request.mode != "auto":
        why = "" if found.notice is None else f" {found.notice}"
        raise click.UsageError(
            f"--mode {asked.request.mode} needs --embedder, which makes the vectors.{why}"
        )
    check_prompts(asked.embedder, found.embedder)
    notices = () if found.notice is None else (f"Searched by keywords alone: {found.notice}",)
    return found.embedder, notices
