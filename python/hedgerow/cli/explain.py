"""`hedgerow explain`: the tokens of a query, and its expression."""

from __future__ import annotations

from typing import Any

import click

from hedgerow import Query, compile_fts, compile_match, parse_query

from .options import TEXT, Command, json_option
from .output import echo, visible, wrote_json
from .params import alias_option, language_options


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
