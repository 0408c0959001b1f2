"""`hedgerow parse`: what a query means."""

from __future__ import annotations

import click

from hedgerow import Query, parse_query

from .output import visible, write_json
from .params import TEXT


@click.command("parse", short_help="Show the tokens of a query.")
@click.argument("text", type=TEXT)
@click.option("--json", "as_json", is_flag=True, help="Write raw, tokens and hasOperators as JSON.")
def command(text: str, as_json: bool) -> None:
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
    click.echo(_table(query))


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
