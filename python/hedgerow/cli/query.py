"""`hedgerow query`: the nodes that a pipeline selects."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from hedgerow import HedgerowError, Index, parse_pipeline
from hedgerow._json.query import QueryAnswer, shown_columns, with_columns
from hedgerow.memory.operations import QueryRequest

from .options import TEXT, Command, json_option, option, repeated_option, sync_option
from .output import echo, plural, visible, wants_json, write_json
from .place import open_store, server_of, store_options, time_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.remote import RemoteRoot


@click.command("query", cls=Command)
@click.argument("words", metavar="[PIPELINE] [TERMS]...", type=TEXT, nargs=-1)
@repeated_option(
    "-p",
    "STAGE",
    "A stage of the pipeline; may be repeated. All words are terms then.",
    "--stage",
    "stages",
)
@store_options
@time_option("--now", "What `age:`, `visited:` and priorities take for the present time")
@sync_option
@option("--explain", is_flag=True, help="Show the effect of each stage.")
@option("--keys", "only_keys", is_flag=True, help="Write the keys alone, one a line.")
@json_option
def command(  # noqa: PLR0913 - one argument for each option
    *,
    words: Sequence[str],
    stages: Sequence[str],
    db: str | None,
    now: int,
    sync: bool,
    explain: bool,
    only_keys: bool,
) -> None:
    """Select memories of a root, or nodes of the store --db, by a pipeline.

    \b
      hedgerow query 'all | type:decision | age:<30d | sort:priority | limit:20'
      hedgerow query 'search:"lock ordering" | spread,max_hops=2' --root memory
      hedgerow query -p 'weight:>0.5' -p sort:timestamp -p limit:20 --db memory.db
      hedgerow query 'spread | limit:10' btree lock --db memory.db
      hedgerow query 'all | degree:0' --keys | xargs -n1 echo

    A pipeline is stages separated by bars. Put it in single quotes, because | and < are special
    to the shell. A pipeline without a generator begins with the nodes that have TERMS in their
    key or, failing that, in their text. `count` prints a number, `select:type,weight` a table
    with those columns. spec/pipeline.md describes every stage. Finding nothing is not an error.
    """
    text, terms = _asked(words, stages)
    if only_keys and (wants_json() or explain):
        raise click.UsageError("--keys writes keys alone; leave --json and --explain out.")
    if not sync and db is not None:
        raise click.UsageError("--no-sync goes with --root DIR.")
    if server := server_of(db):
        if not sync:
            raise click.UsageError("--no-sync goes with --root DIR.")
        _at_server(server, text, terms, now, explain=explain, only_keys=only_keys)
        return
    with open_store(db, sync=sync, reads=True) as opened:
        types = opened.types()
        pipeline = parse_pipeline(text, terms=terms, types=types)
        wanted, shown = with_columns(pipeline, types)
        result = opened.query(pipeline if only_keys else wanted, now=now, explain=explain)
        if wants_json():
            answer = QueryAnswer.of(
                pipeline, result, **opened.source, now=now, shown=shown, explain=explain
            )
            write_json(answer.to_dict())
            return
        from .store_text import show, show_keys, show_notices  # noqa: PLC0415 - brings rich

        show_notices(result)
        if only_keys:
            show_keys(result)
            return
        whole = opened.query("all | count", now=now).count or 0
        show(result, now, whole=whole, shown=shown, explain=explain)
        if not whole and db is not None:
            _point_to_search(db)


def _point_to_search(db: str) -> None:
    """Say that a file without nodes is an index, if it has chunks."""
    with suppress(HedgerowError), Index.open(db, read_only=True) as index:
        if len(index):
            echo(
                f"This file is an index of {plural(len(index), 'chunk')}: search it with hedgerow "
                f"search --db {visible(db)}",
                err=True,
            )


def _at_server(  # noqa: PLR0913 - one argument for each option
    server: RemoteRoot,
    text: str,
    terms: Sequence[str],
    now: int,
    *,
    explain: bool,
    only_keys: bool,
) -> None:
    if wants_json():
        asked = QueryRequest(text, now=now, terms=terms, explain=explain)
        write_json(server._answer_of(asked).to_dict())  # noqa: SLF001 - of the same package
        return
    from .store_text import show, show_keys, show_notices  # noqa: PLC0415 - brings rich

    result = server.query(text, now=now, terms=terms, explain=explain)
    show_notices(result)
    if only_keys:
        show_keys(result)
        return
    whole = server.query("all | count").count or 0
    shown = result.count is None and result.columns is None
    if shown:
        result = server.query(shown_columns(text), now=now, terms=terms, explain=explain)
    show(result, now, whole=whole, shown=shown, explain=explain)


def _asked(words: Sequence[str], stages: Sequence[str]) -> tuple[str, Sequence[str]]:
    if stages:
        return " | ".join(stages), words
    if not words:
        raise click.UsageError("Give a pipeline, as in 'all | limit:10', or its stages with -p.")
    return words[0], words[1:]
