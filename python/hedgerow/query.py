"""The query language, on its own (spec/query.md, spec/normalise.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from . import _engine
from ._checks import checked_operator
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
from ._operations.fields import Field
from .aliases import AliasTable
from .typing import Aliases, Matching, Operator, StopWords, Tokenizer

__all__ = [
    "EN_STOPWORDS",
    "NL_STOPWORDS",
    "AliasTable",
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
__dir__ = partial(sorted, __all__)


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """One word of a query and what became of it (spec/query.md, "Explanation").

    `source` is the word in the normalized text (a phrase without its quotes), `outcome` is
    "kept", "operator" or "dropped", `tokens` are what it became, `reason` is one word of
    a closed list, and `detail` the same as a sentence, or "".
    """

    source: str
    outcome: str
    tokens: tuple[Token, ...]
    reason: str
    detail: str

    @classmethod
    def _from_json(cls, keys: Mapping[str, Any]) -> ExplainedWord:
        tokens = tuple(Token(**one) for one in keys["tokens"])
        return cls(keys["source"], keys["outcome"], tokens, keys["reason"], keys["detail"])

    def __str__(self) -> str:
        became = " or ".join(surface(token) for token in self.tokens)
        parts = [self.source, self.outcome]
        if became:
            parts.append(f"as {became}")
        line = " ".join(parts)
        return f"{line}: {self.detail}" if self.detail else line


@dataclass(frozen=True, slots=True)
class QueryExplanation:
    """A query with every step from text to expression; `print` it to read it.

    `text` is what was given, `normalized` the text after normalization, `filtered` whether
    short words and stop words were dropped, `words` every word with its outcome, `fts` the
    normative text and `match` what SQLite runs.
    """

    text: str
    normalized: Annotated[str, Field(key="normalised")]
    filtered: bool
    words: tuple[ExplainedWord, ...]
    fts: str
    match: str

    @property
    def normalised(self) -> str:
        """The earlier spelling of `normalized`."""
        return self.normalized

    def __str__(self) -> str:
        filtering = (
            "a bare query: short words and stop words are dropped"
            if self.filtered
            else "a quote or an operator: every word is kept"
        )
        return "\n".join(
            [
                f"text        {self.text}",
                f"normalised  {self.normalized}",
                f"filtering   {filtering}",
                *(f"  {word}" for word in self.words),
                f"normative   {self.fts or '(nothing)'}",
                f"executed    {self.match or '(nothing searchable: no search is run)'}",
            ]
        )


def explain_query(  # noqa: PLR0913 - each has its default
    text: str,
    aliases: Aliases | None = None,
    *,
    operator: Operator | None = None,
    matching: Matching = "spec",
    tokenizer: Tokenizer = "porter unicode61",
    stopwords: StopWords = "en+nl",
) -> QueryExplanation:
    """Explain what each word of a query is kept as, or why it is dropped.

    `operator` and `matching` are those of `compile_match`; `tokenizer` and
    `stopwords` are those of the index that the query is meant for. Raises QueryTooLargeError over the
    limits of spec/query.md.
    """
    joined = checked_operator(operator)
    fields = _engine.explain_query(text, aliases, tokenizer, joined, matching, stopwords)
    words = tuple(
        ExplainedWord(source, outcome, tuple(tokens), reason, detail)
        for source, outcome, tokens, reason, detail in fields["words"]
    )
    return QueryExplanation(
        text=text,
        normalized=fields["normalised"],
        filtered=fields["filtered"],
        words=words,
        fts=fields["fts"],
        match=fields["match"],
    )


def surface(token: Token) -> str:
    """Return a token as a query has it."""
    if token.kind == "phrase":
        return f'"{token.text}"'
    return f"{token.text}*" if token.kind == "prefix" else token.text
