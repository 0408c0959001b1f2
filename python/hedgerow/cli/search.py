"""`hedgerow search`: search of an index or a collection."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
from hedgerow._json.highlight import Highlighter
from hedgerow._json.index import search_answer
from hedgerow._retrieval.operations import RetrievalOptions, SearchRequest, whole_page
from hedgerow._times import checked_half_life
from hedgerow.ranking import Ranking

from .files import chunks_at
from .models import EmbedderOptions, check_prompts, embedder_of, recorded_embedder, reranker_of
from .options import (
    TEXT,
    Command,
    F,
    given_options,
    json_option,
    option,
    request_options,
    sync_option,
    text_option,
)
from .output import echo, visible, write_json
from .params import alias_option, filter_options, ranking_options
from .place import (
    CollectionUrl,
    check_exists,
    db_option,
    opened_collection,
    place_options,
    server_options,
    usage_errors,
)
from .report import report_option, write_report

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hedgerow.opensearch import Collection
    from hedgerow.typing import Tokenizer


_OF_A_ROOT = frozenset(
    {"root", "scope", "shared", "target", "target_url", "remote_url", "depth", "sync"}
)
_OF_A_SERVER = ("user", "ca", "insecure_http")
_OF_A_SEARCH = ("offset", "mode", "group_by", "candidates", "question_date", "asker", "recency")
_OF_BOTH = frozenset({"words", "query", "limit", "explain", "report", "as_json"})


def _root_options(command: F) -> F:
    """Add the hidden options of a search in a memory root, for the contract of another tool."""
    depths = click.Choice(["shallow", "normal", "deep"])
    depth = option("--depth", type=depths, default="normal", hidden=True)
    return place_options(hidden=True)(depth(sync_option(command, hidden=True)))


@click.command("search", cls=Command)
@click.argument("words", metavar="TEXT...", type=TEXT, nargs=-1)
@option("--query", metavar="TEXT", type=TEXT, help="The text, if it starts with a hyphen.")
@db_option("The index to search.")
@option(
    "--url",
    type=CollectionUrl(),
    metavar="URL/NAME",
    help="The collection on a server of OpenSearch to search.",
)
@server_options
@request_options(SearchRequest, "limit", "offset")
@_root_options
@filter_options
@alias_option
@ranking_options
@option(
    "--explain",
    is_flag=True,
    help="Show what each word became, a table of the parts of each score, and the steps.",
)
@text_option(
    "--why-not",
    "PATH#N",
    "Explain why a chunk, by its id or as PATH:LINE, is not among the results.",
)
@report_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    /,
    *,
    words: tuple[str, ...],
    query: str | None,
    db: str | None,
    url: tuple[str, str] | None,
    limit: int,
    depth: Any,
    sync: bool,
    where: Filters,
    explain: bool,
    report: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search the index --db or the collection --url for TEXT, the best first.

    \b
      hedgerow search "winter feeding" --db notes.db
      hedgerow search '"hard pruning" NOT roses' --db notes.db --explain
      hedgerow search k8s --alias k8s=kubernetes,kube --db notes.db
      hedgerow search frost --filter tag=garden --filter 'year >= 2025' --db n.db
      hedgerow search frost --url https://search.example:9200/notes --user me
      hedgerow search "cold nights" --embedder ollama:nomic-embed-text --db n.db
      hedgerow search "winter feeding" --db notes.db --report found.html

    A query finds texts with any of its words; texts with more of them rank higher. Short and stop
    words are dropped unless the text contains a quote or AND, OR, NOT in capitals. Quote the whole text for the shell, and pass one that
    starts with a hyphen as --query=-TEXT. Paths are those that were passed to `hedgerow index`.
    A query that finds nothing is retried in other forms, the last of them fuzzy matching of
    file names. An index with vectors is also searched by meaning, with --embedder or with the
    embedder that made the vectors, if its model is on this machine. Finding nothing is not an
    error: the compiled query is shown.
    """
    if bool(words) == (query is not None):
        raise click.UsageError("Pass what to search for once, as TEXT or as --query TEXT.")
    text = " ".join(words) if query is None else query
    _check_options("url" if url else "root" if db is None else "db")
    if db is None and url is None:
        from .compatibility import search_root  # noqa: PLC0415 - of roots alone

        search_root(
            context,
            text=text,
            limit=limit,
            depth=depth,
            sync=sync,
            explain=explain,
            report=report,
            as_json=as_json,
        )
        return
    recency = options["recency"]

    def taken(names: Iterable[str]) -> dict[str, Any]:
        return {name: options.pop(name) for name in names if name in options}

    asked = SearchArguments(
        request=SearchRequest(text, limit=limit, filters=where, **taken(_OF_A_SEARCH)),
        ranking=_ranking(**taken(Ranking.__dataclass_fields__)),
        db="/".join(url) if url else db or "",
        url=url,
        server=taken(_OF_A_SERVER),
        **options,
    )
    with usage_errors():
        if recency is not None:
            checked_half_life(recency)
    search = run(asked)
    if report is not None:
        name = asked.db if asked.url else Path(asked.db).name
        write_report(report, kind="index", name=name, answer=_as_json(search, explain=True))
    if as_json:
        written = {} if report is None else {"report": report}
        write_json(_as_json(search, explain=explain) | written)
        return
    from .search_text import show  # noqa: PLC0415 - brings rich, which --json does without

    show(search, explain=explain)
    if report is not None:
        echo(f"Report: {visible(report)}")


def _check_options(kind: Literal["db", "url", "root"]) -> None:
    """Reject options that the kind of the searched thing does not have."""
    for name, param in given_options():
        if name in _OF_BOTH:
            continue
        if name in _KINDS and name != kind:
            raise click.UsageError(
                f"--{min(kind, name)} and --{max(kind, name)} exclude each other: an index file, a "
                "collection, or a root."
            )
        wanted = _kinds_of(name)
        if kind not in wanted:
            raise click.UsageError(
                f"{param.opts[0]} goes with {' or '.join(_KINDS[each] for each in wanted)}."
            )


_KINDS = {"db": "--db FILE", "url": "--url URL/NAME", "root": "--root DIR"}


def _kinds_of(name: str) -> tuple[str, ...]:
    """The kinds of search that have an option."""
    if name in _KINDS:
        return (name,)
    if name in _OF_A_ROOT:
        return ("root",)
    return ("url",) if name in _OF_A_SERVER else ("db", "url")


def _ranking(*, matching: Any, operator: Any, **options: Any) -> Ranking:
    """Return the ranking; words joined by AND are matched as the specification has it."""
    if matching is None and operator == "AND":
        matching = "spec"
    return Ranking(**options, matching=matching, operator=operator)


def _as_json(search: Search, *, explain: bool) -> dict[str, Any]:
    asked = search.asked
    answer = search_answer(
        asked.request,
        asked.request.query,
        search.response,
        chunks=search.chunks,
        highlighter=search.highlighter,
        **{"url" if asked.url else "db": asked.db},
        operator=asked.ranking.operator or "OR",
        notices=search.notices,
        explanation=search.explanation if explain else None,
        why_not=search.why_not,
    )
    return answer.to_dict()


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

    @property
    def hits(self) -> list[Hit]:
        """The hits, best first."""
        return self.response.results


def run(asked: SearchArguments) -> Search:
    """Search the index or the collection, which must be there."""
    with (
        embedder_of(asked.embedder) as named,
        reranker_of(asked.rerank) as reranker,
        _opened(asked) as index,
    ):
        embedder, notices = _embedder(asked, index, named)
        parts: dict[str, Any] = {"embedder": embedder, "reranker": reranker}
        retriever = Retriever(index, **parts, aliases=asked.alias, ranking=asked.ranking)
        request = whole_page(asked.request, asked.ranking)
        response = retriever._perform(request)  # noqa: SLF001 - of the same package
        why_not = None
        if asked.why_not is not None:
            given = {one.name: getattr(request, one.name) for one in fields(RetrievalOptions)}
            why_not = retriever.why_not(request.query, _id_of(index, asked.why_not), **given)
        return Search(
            asked=asked,
            chunks=len(index),
            explanation=explain_query(
                asked.request.query,
                asked.alias,
                tokenizer=index.tokenizer,
                operator=asked.ranking.operator,
                matching=response.trace.matching,
                stopwords=index.stopwords,
            ),
            response=response,
            highlighter=Highlighter(response.trace.match_query, index.tokenizer),
            tokenizer=index.tokenizer,
            why_not=why_not,
            notices=notices,
        )


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
