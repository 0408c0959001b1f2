"""`hedgerow search`: what an index knows about a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .output import write_json
from .params import TEXT, Filter, alias_option, alias_table, filters_of, language_options
from .roots import RootCommand, depth_option, limit_option, root_option

if TYPE_CHECKING:
    from hedgerow import QueryExplanation

    from .search_run import Search

_FOR_DB = ("given_filters", "alias", "operator", "matching", "explain")
_FOR_ROOT = ("root", "depth", "no_sync")


@click.command("search", cls=RootCommand, short_help="Search an index, or a memory root.")
@click.argument("text", type=TEXT, required=False)
@click.option("--query", metavar="TEXT", type=TEXT, help="The same as TEXT.")
@click.option("--db", metavar="FILE", type=TEXT, help="The index to search.")
@root_option
@limit_option(10)
@depth_option
@click.option(
    "--filter",
    "given_filters",
    type=Filter(),
    multiple=True,
    help="Only chunks with path=FILE, prefix=FOLDER/, tag=TAG or meta.KEY=VALUE (JSON or text). "
    "May be repeated: any of the paths, and all of the rest.",
)
@alias_option
@language_options
@click.option(
    "--explain", is_flag=True, help="Show what each word became and why each hit is here."
)
@click.option("--json", "as_json", is_flag=True, help="Write query and results as JSON.")
@click.pass_context
def command(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    *,
    text: str | None,
    query: str | None,
    db: str | None,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    limit: int,
    depth: str,
    no_sync: bool,
    given_filters: Any,
    alias: Any,
    operator: str,
    matching: str,
    explain: bool,
    as_json: bool,
) -> None:
    """Search the index --db, or the memory root --root, for TEXT, the best first.

    \b
      hedgerow search "slug control" --root memory --depth deep
      hedgerow search "winter feeding" --db notes.db
      hedgerow search '"hard pruning" NOT roses' --db notes.db --explain
      hedgerow search k8s --alias k8s=kubernetes,kube --db notes.db
      hedgerow search frost --filter tag=garden --filter meta.year=2025 --db n.db

    Plain words are alternatives; short and stop words are dropped unless the text holds a
    quote or AND, OR, NOT in capitals. Quote the whole text for the shell. A text that starts
    with a hyphen is given as --query=-TEXT. Paths are as `hedgerow index` was given them.
    Finding nothing is no error: what was searched for is then shown.
    """
    if (text is None) == (query is None):
        raise click.UsageError("Give what to search for once, as TEXT or as --query TEXT.")
    wanted = text if text is not None else query or ""
    _check_options(context, has_db=db is not None)
    if db is None:
        from .memory_recall import search_root  # noqa: PLC0415 - slow to import

        search_root(
            context,
            root=root,
            target_url=target_url,
            remote_url=remote_url,
            text=wanted,
            limit=limit,
            depth=depth,
            sync=not no_sync,
            as_json=as_json,
        )
        return
    from .search_run import run  # noqa: PLC0415 - a root does without

    aliases, filters = alias_table(alias), filters_of(given_filters)
    search = run(
        text=wanted,
        db=db,
        limit=limit,
        aliases=aliases,
        filters=filters,
        operator=operator,
        matching=matching,
    )
    if as_json:
        write_json(_as_json(search, explain=explain))
        return
    from .search_text import show  # noqa: PLC0415 - brings rich, which --json does without

    show(search, explain=explain)


def _check_options(context: click.Context, *, has_db: bool) -> None:
    """Refuse options that the kind of index does not have."""
    wrong, kind = (_FOR_ROOT, "--root DIR") if has_db else (_FOR_DB, "--db FILE")
    for name in wrong:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            if name == "root":
                raise click.UsageError(
                    "--db and --root exclude each other: an index file, or a root."
                )
            flag = next(param.opts[0] for param in context.command.params if param.name == name)
            raise click.UsageError(f"{flag} goes with {kind}.")


def _as_json(search: Search, *, explain: bool) -> dict[str, Any]:
    filters = search.filters
    value: dict[str, Any] = {
        "query": search.explanation.text,
        "db": search.db,
        "chunks": search.chunks,
        "limit": search.limit,
        "operator": search.operator,
        "matching": search.matching,
        "filters": {
            "paths": list(filters.paths),
            "path_prefix": filters.path_prefix,
            "tags": list(filters.tags),
            "metadata": dict(filters.metadata),
        },
        "match": search.explanation.match,
        "count": len(search.hits),
        "results": [
            _hit_as_json(search, place, explain=explain) for place in range(len(search.hits))
        ],
    }
    if explain:
        value["explanation"] = _explanation_as_json(search.explanation)
    return value


def _hit_as_json(search: Search, place: int, *, explain: bool) -> dict[str, Any]:
    hit = search.hits[place]
    from .highlight import snippet  # noqa: PLC0415 - a root does without

    metadata = hit.metadata
    cut, _ = snippet(hit.content, hit.title, search.highlighter)
    value = {
        "rank": place + 1,
        "score": hit.score,
        "bm25_rank": hit.bm25_rank,
        "id": hit.id,
        "path": hit.path,
        "line": metadata.get("line_start"),
        "title": hit.title,
        "summary": hit.summary,
        "tags": list(search.tags[place]),
        "snippet": cut,
        "content": hit.content,
        "metadata": metadata,
    }
    if explain:
        value["explanation"] = hit.explain()
    return value


def _explanation_as_json(explanation: QueryExplanation) -> dict[str, Any]:
    return {
        "text": explanation.text,
        "normalised": explanation.normalised,
        "filtered": explanation.filtered,
        "words": [
            {
                "source": word.source,
                "outcome": word.outcome,
                "tokens": [token.to_dict() for token in word.tokens],
                "reason": word.reason,
                "detail": word.detail,
            }
            for word in explanation.words
        ],
        "fts": explanation.fts,
        "match": explanation.match,
    }
