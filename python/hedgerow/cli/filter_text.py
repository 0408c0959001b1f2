"""Conditions on a command line: `year >= 2024`, `status in (open, done)`.

    condition = key operator value
              | key ["not"] "in" "(" [value ("," value)*] ")"
              | key ["not"] "exists"
    operator  = "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
    key       = a word | a quoted text
    value     = a word | a quoted text

A word has no white space and, in parentheses, no comma or parenthesis either; as a value it is
JSON where it reads as a number, true, false or null, and else a text. A quoted text stands between
double or single quotes, where a backslash makes the next character stand for itself. `~` compares
with a pattern. Reading takes time linear in the text.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["FilterTextError", "condition", "key_and_operator"]

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""", re.DOTALL)
_KEY = re.compile(r"""[^\s=<>!~()"',]+""")
_WORD = re.compile(r"\S+")
_ITEM = re.compile(r"[^\s(),]+")
_SIGNS = re.compile(r"[=<>!~]+")
_LETTERS = re.compile(r"[^\W\d_]+")

_OPERATORS = {
    "=": "$eq",
    "==": "$eq",
    "!=": "$ne",
    "<": "$lt",
    "<=": "$lte",
    ">": "$gt",
    ">=": "$gte",
    "~": "$glob",
}
_MEANT = {"=>": ">=", "=<": "<=", "<>": "!=", "=!": "!=", "~=": "~", "=~": "~", "===": "="}
_LISTED = "=, !=, <, <=, >, >=, ~, !~, in (...), not in (...), exists, not exists"
_JOINS = {"and", "or", "&&", "||"}
_NAMES = {"tag": "tags", "meta": "metadata"}


class FilterTextError(ValueError):
    """A condition that cannot be read: the problem, and its position, counted from 0."""

    def __init__(self, text: str, position: int, what: str) -> None:
        super().__init__(what)
        self.text = text
        self.position = position

    def pointing(self) -> str:
        """The problem, above the text and a mark below the position."""
        line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in self.text)
        return f"{self}\n  {line}\n  {' ' * self.position}^"


def condition(text: str) -> dict[str, Any]:
    """The condition as `Filters(where=...)` takes it.

    Raises FilterTextError.
    """
    return _Reader(text).condition()


def key_and_operator(text: str) -> tuple[str, str, str] | None:
    """A key that is not quoted, the signs after it and the rest; None where there are none."""
    key = _KEY.match(text)
    if key is None:
        return None
    signs = _SIGNS.match(text, _after_space(text, key.end()))
    return (key[0], signs[0], text[signs.end() :]) if signs else None


class _Reader:
    """Reads one condition from the left."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def condition(self) -> dict[str, Any]:
        key = self.key()
        self.space()
        signs = self.take(_SIGNS)
        found = self.comparison(signs) if signs else self.in_words()
        self.space()
        if self.at < len(self.text):
            raise self.error(self.at, self.surplus())
        return {key: found}

    def key(self) -> str:
        self.space()
        start = self.at
        quoted = self.quoted()
        if quoted is not None:
            if not quoted:
                raise self.error(start, "the key is empty")
            # Quotes say that it is a key of the metadata, whatever it is called.
            return f"metadata.{quoted}"
        key = self.take(_KEY)
        if key is None:
            raise self.error(start, "a key is missing, as in year >= 2024")
        first, dot, rest = key.partition(".")
        if dot and first in {"meta", "metadata"}:
            if not rest:
                raise self.error(self.at, "the key is empty")
            return f"metadata.{rest}"
        if key == "prefix":
            raise self.error(start, "prefix takes = alone; for more, write path ~ 'docs/*'")
        return _NAMES.get(key, key) if not dot else key

    def comparison(self, signs: str) -> dict[str, Any]:
        start = self.at - len(signs)
        negated = signs == "!~"
        operator = "$glob" if negated else _OPERATORS.get(signs)
        if operator is None:
            meant = _MEANT.get(signs)
            hint = f"; did you mean {meant}?" if meant else f"; the operators are {_LISTED}"
            raise self.error(start, f"{signs} is no operator{hint}")
        value = self.value(_WORD, after=signs)
        if operator == "$glob" and not isinstance(value, str):
            value = json.dumps(value)
        found = {operator: value}
        return {"$not": found} if negated else found

    def in_words(self) -> dict[str, Any]:
        start = self.at
        word = (self.take(_LETTERS) or "").lower()
        negated = word == "not"
        if negated:
            self.space()
            word = (self.take(_LETTERS) or "").lower()
        if word == "exists":
            return {"$exists": not negated}
        if word == "in":
            return {"$nin" if negated else "$in": self.values()}
        what = "an operator is missing" if start == len(self.text) else "this is no operator"
        raise self.error(start, f"{what}; the operators are {_LISTED}")

    def values(self) -> list[Any]:
        self.space()
        if not self.literal("("):
            raise self.error(self.at, "put the values in parentheses, as in (a, b)")
        values: list[Any] = []
        self.space()
        if self.literal(")"):
            return values
        while True:
            values.append(self.value(_ITEM, after="(" if not values else ","))
            self.space()
            if self.literal(")"):
                return values
            if not self.literal(","):
                end = self.at == len(self.text)
                what = "a ) is missing" if end else "a comma is missing, or quotes around a text"
                raise self.error(self.at, what)

    def value(self, word: re.Pattern[str], *, after: str) -> Any:
        self.space()
        quoted = self.quoted()
        if quoted is not None:
            return quoted
        found = self.take(word)
        if found is None:
            raise self.error(self.at, f'a value is missing after {after}; "" is the empty text')
        return _scalar(found)

    def quoted(self) -> str | None:
        """A text in quotes, if one begins here."""
        if not self.text.startswith(('"', "'"), self.at):
            return None
        found = _QUOTED.match(self.text, self.at)
        if found is None:
            raise self.error(self.at, "this quote is not closed")
        self.at = found.end()
        body = found[1] if found[1] is not None else found[2]
        return re.sub(r"\\(.)", r"\1", body, flags=re.DOTALL)

    def surplus(self) -> str:
        rest = self.take(_WORD) or ""
        if rest.lower() in _JOINS:
            return "give each condition its own --filter; all of them must hold"
        return "put a text with spaces in quotes"

    def space(self) -> None:
        self.at = _after_space(self.text, self.at)

    def literal(self, wanted: str) -> bool:
        there = self.text.startswith(wanted, self.at)
        self.at += len(wanted) if there else 0
        return there

    def take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def error(self, position: int, what: str) -> FilterTextError:
        return FilterTextError(self.text, position, what)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_NAMED = {"true": True, "false": False, "null": None}
_MOST_DIGITS = 400


def _scalar(word: str) -> Any:
    """A number, true, false or null as in JSON; any other word is a text."""
    if word in _NAMED:
        return _NAMED[word]
    if len(word) <= _MOST_DIGITS and _NUMBER.fullmatch(word):
        return json.loads(word)
    return word
