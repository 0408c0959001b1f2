"""Tokens as the server has them, and phrases of them as queries.

The client makes all tokens, with the tokenizer of the index, and the server's `whitespace` analyzer
only takes them apart again. So a token may hold no white space, nor be longer than the 255
characters after which that analyzer begins another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import InvalidInputError

from ._filters import NONE, Query, literal

MOST_EXPANSIONS = 1024
"""Words that the server looks through for a prefix, unless it is told otherwise."""

_UNSAFE = re.compile(r"[\s%\x00-\x20\x7f-\xa0]")
_LONGEST = 240  # UTF-16 code units
_HEAD = 80

Given = tuple[Sequence[str], bool]
"""A phrase as the engine gives it: its tokens, and whether the last one only begins a word."""


def text(tokens: Iterable[str]) -> str:
    """The tokens as one text, which the server takes apart at the spaces."""
    return " ".join(map(_token, tokens))


@dataclass(frozen=True)
class Phrase:
    """Tokens that stand next to each other; of a `prefix` the last one only begins a word."""

    tokens: tuple[str, ...]
    prefix: bool

    @staticmethod
    def of(given: Given) -> Phrase:
        """Raises InvalidInputError for a prefix that is too long to be looked up."""
        tokens, prefix = given
        if not tokens or not prefix:
            return Phrase(tuple(map(_token, tokens)), prefix=False)
        last = _UNSAFE.sub(_escaped, tokens[-1])
        if len(last) > _HEAD:
            raise InvalidInputError(
                f"a prefix has {len(tokens[-1]):,} characters, and a collection finds words by at most "
                f"their first {_HEAD}; write fewer",
                code="unsupported_by_backend",
            )
        return Phrase((*map(_token, tokens[:-1]), last), prefix=True)

    @property
    def word(self) -> str | None:
        """The one whole word that it is."""
        return self.tokens[0] if len(self.tokens) == 1 and not self.prefix else None

    @property
    def _is_sequence_of_words(self) -> bool:
        """Whether it is looked up as an interval, whose score is f / (1 + f) for a frequency f."""
        return self.prefix and len(self.tokens) > 1

    def matching(self) -> Query:
        """Finds the chunks that hold it."""
        if self.prefix and len(self.tokens) == 1:
            return {"prefix": {"tokens": {"value": self.tokens[0]}}}
        return self.scored(None)

    def scored(self, name: str | None) -> Query:
        """Finds the same chunks, with a score from which `frequency` tells how often they hold it."""
        named = {} if name is None else {"_name": name}
        if not self.tokens:
            return NONE
        if self._is_sequence_of_words:
            return {"intervals": {"tokens": {**self._interval(), **named}}}
        if self.prefix:
            return {
                "prefix": {
                    "tokens": {"value": self.tokens[0], "rewrite": "scoring_boolean", **named}
                }
            }
        if len(self.tokens) == 1:
            return {"term": {"tokens": {"value": self.tokens[0], **named}}}
        return {"match_phrase": {"tokens": {"query": " ".join(self.tokens), **named}}}

    def frequency(self, score: float) -> int:
        """Return the weighted number of occurrences behind a score.

        Raises InvalidInputError where float32 has too few digits.
        """
        if not self._is_sequence_of_words:
            return round(score / self._factor)
        frequency = round(score / (1.0 - score)) if score < 1.0 else _MOST_OF_INTERVALS
        if frequency >= _MOST_OF_INTERVALS:
            raise InvalidInputError(
                "a chunk holds a phrase that ends with a prefix so often that the server cannot say "
                "how often; write its last word in full",
                code="unsupported_by_backend",
            )
        return frequency

    def gain(self, name: str | None, factor: float, norm: tuple[float, float]) -> Query:
        """Finds the same chunks, scored by BM25: `factor` * f / (f + `norm[0]` + `norm[1]` * length)."""
        source = _GAIN_OF_INTERVALS if self._is_sequence_of_words else _GAIN
        least, by_length = norm
        parameters = {
            "factor": factor,
            "terms": self._factor,
            "norm": least,
            "by_length": by_length,
        }
        return {
            "script_score": {
                "query": self.scored(name),
                "script": {"source": source, "params": parameters},
            }
        }

    @property
    def _factor(self) -> int:
        """The similarity counts an occurrence of a phrase once for each of its terms."""
        return 1 if self.prefix else len(self.tokens)

    def _interval(self) -> dict[str, Any]:
        words = " ".join(self.tokens[:-1])
        expression = literal(self.tokens[-1]) + ".*"
        last = {"regexp": {"pattern": expression, "max_expansions": MOST_EXPANSIONS}}
        first = {"match": {"query": words, "max_gaps": 0, "mode": "ordered"}}
        return {"all_of": {"intervals": [first, last], "max_gaps": 0, "mode": "ordered"}}


_WEIGHED = "return params.factor * f / (f + params.norm + params.by_length * doc['length'].value);"
_GAIN = f"double f = _score / params.terms; {_WEIGHED}"
_GAIN_OF_INTERVALS = f"double f = Math.rint(_score / (1.0 - _score)); {_WEIGHED}"

_MOST_OF_INTERVALS = 1000
"""Below this a float32 of f / (1 + f) tells f from its neighbors, with room."""


def _token(token: str) -> str:
    safe = _UNSAFE.sub(_escaped, token)
    if len(safe.encode("utf-16-le")) <= 2 * _LONGEST:
        return safe
    return f"{safe[:_HEAD]}%{hashlib.sha256(token.encode()).hexdigest()}"


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):04x}"
