"""Running one search for the command line, and all that showing it takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from hedgerow import (
    AliasTable,
    Embedder,
    Filters,
    Hit,
    Index,
    QueryExplanation,
    Response,
    Retriever,
    WhyNot,
    explain_query,
)
from hedgerow._answers.highlight import Highlighter
from hedgerow._profiles import CANDIDATES
from hedgerow.ranking import Ranking

from .files import chunks_at
from .models import Wanted, embedder_of, reranker_of
from .place import check_exists
from .recorded import check_prompts, recorded_embedder
from .servers import opened_collection

if TYPE_CHECKING:
    from hedgerow.opensearch import Collection
    from hedgerow.typing import Tokenizer


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for; names of options as the command line has them."""

    text: str
    db: str
    url: tuple[str, str] | None
    server: dict[str, Any]
    limit: int
    offset: int
    filters: Filters
    aliases: AliasTable | None
    operator: Any
    profile: Any
    matching: Any
    fusion: Any
    neighbors: bool | None
    speakers: bool | None
    dates: bool | None
    asker: str | None
    reweight: bool | None
    mode: Any
    group_by: Any
    candidates: int | None
    question_date: str | None
    embedder: Wanted
    rerank: str | None
    why_not: str | None


@dataclass(frozen=True, slots=True)
class Search:
    """One search as it was asked for, with what came of it."""

    asked: Asked
    chunks: int
    explanation: QueryExplanation
    response: Response
    highlighter: Highlighter
    tokenizer: Tokenizer
    why_not: WhyNot | None = field(default=None, kw_only=True)
    notices: tuple[str, ...]

    @property
    def hits(self) -> list[Hit]:
        """What was found, best first."""
        return self.response.results


def run(asked: Asked) -> Search:
    """Search the index or the collection, which must be there."""
    with (
        embedder_of(asked.embedder) as named,
        reranker_of(asked.rerank) as reranker,
        _opened(asked) as index,
    ):
        embedder, notices = _embedder(asked, index, named)
        retriever = Retriever(
            index,
            embedder=embedder,
            reranker=reranker,
            aliases=asked.aliases,
            ranking=Ranking(
                asked.profile,
                matching=_matching(asked),
                fusion=asked.fusion,
                neighbors=asked.neighbors,
                speakers=asked.speakers,
                dates=asked.dates,
                reweight=asked.reweight,
                operator=asked.operator,
            ),
        )
        options: dict[str, Any] = {
            "question_date": asked.question_date,
            "mode": asked.mode,
            "limit": asked.limit,
            "offset": asked.offset,
            "candidates": max(asked.candidates or CANDIDATES[asked.profile], asked.limit),
            "filters": asked.filters,
            "group_by": asked.group_by,
            "asker": asked.asker,
        }
        response = retriever.search(asked.text, **options)
        why_not = None
        if asked.why_not is not None:
            why_not = retriever.why_not(asked.text, _id_of(index, asked.why_not), **options)
        found = _with_what_shows_it(asked, index, response, notices)
        return replace(found, why_not=why_not)


def _opened(asked: Asked) -> Index | Collection:
    if asked.url is not None:
        return opened_collection(asked.url, asked.server)
    check_exists(asked.db)
    return Index.open(asked.db, read_only=True)


def _id_of(index: Index | Collection, what: str) -> str:
    """The id that is meant: it, or that of the first chunk at such a place."""
    found = chunks_at(index, what)
    return found[0].id if found else what


def _matching(asked: Asked) -> Any:
    """Return the matching asked for; words joined by AND are matched as the specification has it."""
    if asked.matching is None and asked.operator == "AND":
        return "spec"
    return asked.matching


def _embedder(
    asked: Asked, index: Index | Collection, named: Embedder | None
) -> tuple[Embedder | None, tuple[str, ...]]:
    """Return the embedder that was named, or that of the index if the mode needs one."""
    if named is not None or asked.mode == "bm25":
        return named, ()
    found = recorded_embedder(index, asked.embedder)
    if found.embedder is None and asked.mode != "auto":
        why = "" if found.notice is None else f" {found.notice}"
        raise click.UsageError(
            f"--mode {asked.mode} needs --embedder, which makes the vectors.{why}"
        )
    check_prompts(asked.embedder, found.embedder)
    notices = () if found.notice is None else (f"Searched by keywords alone: {found.notice}",)
    return found.embedder, notices


def _with_what_shows_it(
    asked: Asked, index: Index | Collection, response: Response, notices: tuple[str, ...]
) -> Search:
    return Search(
        asked=asked,
        chunks=len(index),
        explanation=explain_query(
            asked.text,
            asked.aliases,
            tokenizer=index.tokenizer,
            operator=asked.operator,
            matching=response.trace.matching,
            stopwords=index.stopwords,
        ),
        response=response,
        highlighter=Highlighter(response.trace.match_query, index.tokenizer),
        tokenizer=index.tokenizer,
        notices=notices,
    )
