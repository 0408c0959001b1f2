"""The query language: parse, expand, compile, explain (spec/query.md, spec/compile.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from . import _engine
from ._engine import (
    EN_STOPWORDS,
    NL_STOPWORDS,
    Query,
    Token,
    compile_fts,
    compile_many,
    compile_match,
    expand_aliases,
    is_stopword,
    normalise,
    parse_query,
)

AliasesLike = Mapping[str, Sequence[str]]

__all__ = [
    "EN_STOPWORDS",
    "NL_STOPWORDS",
    "ExplainedWord",
    "Query",
    "QueryExplanation",
    "Token",
    "compile_fts",
    "compile_many",
    "compile_match",
    "expand_aliases",
    "explain_query",
    "is_stopword",
    "normalise",
    "parse_query",
]


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """One word of a query and what became of it (spec/query.md, "Explanation").

    `source` is the word as it stands in the normalised text (a phrase without its quotes),
    `outcome` "kept", "operator" or "dropped", `tokens` what it became, `reason` one word of
    a closed list, `detail` the same as a sentence, or "".
    """

    source: str
    outcome: str
    tokens: tuple[Token, ...]
    reason: str
    detail: str

    def __str__(self) -> str:
        became = " or ".join(_surface(token) for token in self.tokens)
        parts = [self.source, self.outcome]
        if became:
            parts.append(f"as {became}")
        line = " ".join(parts)
        return f"{line}: {self.detail}" if self.detail else line


@dataclass(frozen=True, slots=True)
class QueryExplanation:
    """A query with every step from text to expression; `print` it to read it.

    `text` is what was given, `normalised` the text after normalisation, `filtered` whether
    short words and stop words were dropped, `words` every word with its outcome, `fts` the
    normative text and `match` what SQLite runs.
    """

    text: str
    normalised: str
    filtered: bool
    words: tuple[ExplainedWord, ...]
    fts: str
    match: str

    def __str__(self) -> str:
        filtering = (
            "a bare query: short words and stop words are dropped"
            if self.filtered
            else "a quote or an operator: every word is kept"
        )
        return "\n".join(
            [
                f"text        {self.text}",
                f"normalised  {self.normalised}",
                f"filtering   {filtering}",
                *(f"  {word}" for word in self.words),
                f"normative   {self.fts or '(nothing)'}",
                f"executed    {self.match or '(nothing searchable: no search is run)'}",
            ]
        )


def explain_query(
    text: str,
    aliases: AliasesLike | None = None,
    *,
    default_operator: Literal["OR", "AND"] = "OR",
    matching: Literal["spec", "extended"] = "spec",
    tokenizer: str = "porter unicode61",
) -> QueryExplanation:
    """Explain what each word of a query is kept as, or why it is dropped.

    `default_operator` and `matching` are those of `compile_match`, and `tokenizer` is that of
    the index the query is meant for. Raises QueryTooLargeError over the limits of spec/query.md.
    """
    fields = _engine.explain_query(text, aliases, tokenizer, default_operator, matching)
    words = tuple(
        ExplainedWord(source, outcome, tuple(tokens), reason, detail)
        for source, outcome, tokens, reason, detail in fields["words"]
    )
    return QueryExplanation(
        text=text,
        normalised=fields["normalised"],
        filtered=fields["filtered"],
        words=words,
        fts=fields["fts"],
        match=fields["match"],
    )


def _surface(token: Token) -> str:
    if token.kind == "phrase":
        return f'"{token.text}"'
    return f"{token.text}*" if token.kind == "prefix" else token.text
