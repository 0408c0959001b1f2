"""`hedgerow compile`: what becomes of a query."""

from __future__ import annotations

from typing import Any

import click

from hedgerow import compile_fts, compile_match

from .output import visible, write_json
from .params import TEXT, alias_option, alias_table, language_options


@click.command("compile", short_help="Show what a query compiles to.")
@click.argument("text", type=TEXT)
@click.option("--match", "executed", is_flag=True, help="Show what SQLite runs.")
@alias_option
@language_options
@click.option("--json", "as_json", is_flag=True, help="Write both forms as JSON: fts and match.")
def command(  # noqa: PLR0913 - one argument for each option
    *, text: str, executed: bool, alias: Any, operator: Any, matching: Any, as_json: bool
) -> None:
    """Show the normative text that TEXT compiles to, or with --match what SQLite runs.

    \b
      hedgerow compile "k8s rollout" --alias k8s=kubernetes,kube
      hedgerow compile 'winter hedgehog NOT urban' --match

    Both are empty when nothing in TEXT can be searched for; a line on stderr then says so.
    --matching changes only what runs. With --json: {"fts", "match"}.
    """
    aliases = alias_table(alias)
    fts = compile_fts(text, aliases, default_operator=operator)
    match = compile_match(text, aliases, default_operator=operator, matching=matching)
    if as_json:
        write_json({"fts": fts, "match": match})
        return
    compiled = match if executed else fts
    if compiled:
        click.echo(visible(compiled))
    else:
        click.echo(
            "Nothing in the text can be searched for; "
            "`hedgerow parse` shows what is left of it, and quotes keep every word.",
            err=True,
        )
