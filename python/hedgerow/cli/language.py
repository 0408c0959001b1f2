"""`hedgerow parse` and `hedgerow compile`: what a query means, and what it becomes."""

from __future__ import annotations

from typing import Any

import click

from hedgerow import Query, compile_fts, compile_match, parse_query

from .output import echo, visible, write_json
from .params import TEXT, Command, alias_option, alias_table, language_options


@click.command("parse", cls=Command, short_help="Show the tokens of a query.")
@click.argument("text", type=TEXT)
@click.option("--json", "as_json", is_flag=True, help="Write raw, tokens and hasOperators as JSON.")
def parse(text: str, as_json: bool) -> None:
    """Show what TEXT means: its tokens, each with its kind and operator.

    \b
      hedgerow parse 'kube* NOT "old cluster"'
      hedgerow parse "what is winter feeding" --json

    With --json: {"raw", "tokens": [{"kind", "text", "operator"?}], "hasOperators"}.
    """
    query = parse_query(text)
    if as_json:
        write_json(query.to_dict())
        return
    echo(_table(query))


def _table(query: Query) -> str:
    kept = "every word is kept" if query.has_operators else "short and stop words are dropped"
    operators = "yes" if query.has_operators else "no"
    lines = [f"normalised  {visible(query.raw)}", f"operators   {operators}: {kept}"]
    if not query.tokens:
        lines.append("tokens      none: nothing in it can be searched for")
    width = max((len(token.operator or "") for token in query.tokens), default=0)
    for number, token in enumerate(query.tokens):
        lead = "tokens      " if number == 0 else " " * 12
        operator = f"{token.operator or '':<{width}} " if width else ""
        lines.append(f"{lead}{operator}{token.kind:<6} {visible(token.text)}")
    return "\n".join(lines)


@click.command("compile", cls=Command, short_help="Show what a query compiles to.")
@click.argument("text", type=TEXT)
@click.option("--match", "executed", is_flag=True, help="Show what SQLite runs.")
@alias_option
@language_options
@click.option("--json", "as_json", is_flag=True, help="Write both forms as JSON: fts and match.")
def compile_(  # noqa: PLR0913 - one argument for each option
    *, text: str, executed: bool, alias: Any, operator: Any, matching: Any, as_json: bool
) -> None:
    """Show the normative text that TEXT compiles to, or with --match what SQLite runs.

    \b
      hedgerow compile "k8s rollout" --alias k8s=kubernetes,kube
      hedgerow compile 'winter hedgehog NOT urban' --match

    Both are empty if nothing in TEXT can be searched for; a line on stderr then says so.
    --matching changes only what runs. With --json: {"fts", "match"}.
    """
    aliases = alias_table(alias)
    fts = compile_fts(text, aliases, operator=operator)
    match = compile_match(text, aliases, operator=operator, matching=matching)
    if as_json:
        write_json({"fts": fts, "match": match})
        return
    compiled = match if executed else fts
    if compiled:
        echo(visible(compiled))
    else:
        echo(
            "Nothing in the text can be searched for; "
            "`hedgerow parse` shows what is left of it, and quotes keep every word.",
            err=True,
        )
