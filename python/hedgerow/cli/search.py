"""`hedgerow search`, of an index or a collection, and `hedgerow explain`, of a query alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hedgerow import Filters, Query, compile_fts, compile_match, parse_query
from hedgerow._retrieval.operations import SearchRequest
from hedgerow._times import checked_half_life
from hedgerow.ranking import Ranking

from .options import (
    TEXT,
    Command,
    F,
    given_options,
    json_option,
    list_option,
    option,
    request_options,
    sync_option,
    text_option,
)
from .output import echo, visible, wants_json, write_json, wrote_json
from .params import alias_option, filter_options, language_options, ranking_options
from .place import CollectionUrl, db_option, place_options, server_options, usage_errors
from .report import report_option, write_report

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .search_run import Search


_OF_A_ROOT = frozenset(
    {
        "root",
        "scope",
        "shared",
        "target",
        "target_url",
        "remote_url",
        "depth",
        "sync",
        "types",
        "tags",
    }
)
_OF_A_SERVER = ("user", "ca", "insecure_http")
_OF_A_SEARCH = ("offset", "mode", "group_by", "candidates", "question_date", "asker", "recency")
_FILTERS = "Filters of a memory root"
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
@list_option("types", "Only memories of these types.", section=_FILTERS)
@list_option("tags", "Only memories with all these tags.", section=_FILTERS)
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
    types: tuple[str, ...],
    tags: tuple[str, ...],
    explain: bool,
    report: str | None,
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
            types=types,
            tags=tags,
            sync=sync,
            explain=explain,
            report=report,
        )
        return
    from .search_run import SearchArguments, run  # noqa: PLC0415 - a root does without

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
    if wants_json():
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
    from hedgerow._json.index import search_answer  # noqa: PLC0415 - a root does without

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


@click.command("explain", cls=Command)
@click.argument("text", type=TEXT)
@alias_option
@language_options
@json_option
def explain(text: str, *, alias: Any, operator: Any, matching: Any) -> None:
    """Show the tokens of a query, the normative text it compiles to, and what SQLite runs.

    \b
      hedgerow explain 'kube* NOT "old cluster"'
      hedgerow explain "k8s rollout" --alias k8s=kubernetes,kube --json

    What runs is for an index with the tokenizer words, the default. --matching changes only that.
    With --json: {"raw", "tokens": [{"kind", "text",
    "operator"?}], "hasOperators", "fts", "match"}. `hedgerow search --explain` also shows what
    happened to each word.
    """
    query = parse_query(text)
    fts = compile_fts(text, alias, operator=operator)
    match = compile_match(text, alias, operator=operator, matching=matching, tokenizer="words")
    if wrote_json(query.to_dict() | {"fts": fts, "match": match}):
        return
    for line in _tokens(query):
        echo(line)
    if fts:
        echo(f"normative   {visible(fts)}")
    if match:
        echo(f"executed    {visible(match)}")
    if not fts and not match:
        echo("Nothing in the text can be searched for; quotes keep every word.", err=True)


def _tokens(query: Query) -> list[str]:
    kept = "every word is kept" if query.has_operators else "short and stop words are dropped"
    operators = "yes" if query.has_operators else "no"
    lines = [f"normalised  {visible(query.raw)}", f"operators   {operators}: {kept}"]
    if not query.tokens:
        lines.append("tokens      none")
    width = max((len(token.operator or "") for token in query.tokens), default=0)
    for number, token in enumerate(query.tokens):
        lead = "tokens      " if number == 0 else " " * 12
        operator = f"{token.operator or '':<{width}} " if width else ""
        lines.append(f"{lead}{operator}{token.kind:<6} {visible(token.text)}")
    return lines
