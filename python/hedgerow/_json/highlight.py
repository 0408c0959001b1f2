"""Where a hit matched: the words of its text that the query finds, and the best snippet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hedgerow._engine import _marks, _snippets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hedgerow.typing import Tokenizer

_MOST_WANTED = 64
"""The most words and phrases of a query that are marked."""

_WORD = re.compile(r"[^\W_]+")
_EXPRESSION_PART = re.compile(r'"((?:[^"]|"")*)"(?: (\*))?|\bNOT \(')

Span = tuple[int, int]
"""Where something begins and ends, in code points."""

_Wanted = tuple[tuple[str, ...], bool]
"""A phrase of the query: its words, and whether the last is a prefix."""


class Highlighter:
    """Finds what an executed expression matches in texts, as the index's tokenizer does."""

    def __init__(self, match: str, tokenizer: Tokenizer) -> None:
        wanted = dict.fromkeys(wanted for wanted in _wanted(match, tokenizer) if wanted[0])
        self._wanted = list(wanted)[:_MOST_WANTED]
        self._tokenizer = tokenizer

    def spans(self, *texts: str) -> list[list[Span]]:
        """Return for each text the spans that matched, in order and without overlaps."""
        return _marks(texts, self._wanted, self._tokenizer)

    def snippets(
        self, contents: Sequence[str], titles: Sequence[str]
    ) -> list[tuple[str, list[Span]]]:
        """Return for each chunk the part with the most distinct matches, and the spans of these."""
        return _snippets(contents, titles, self._wanted, self._tokenizer)


def _wanted(match: str, tokenizer: Tokenizer) -> Iterable[_Wanted]:
    """Read the positive parts of an executed expression (spec/compile.md)."""
    for part in _EXPRESSION_PART.finditer(match):
        if part[1] is None:
            return
        text = part[1].replace('""', '"')
        # The tokenizer "words" takes a phrase as a whole: marks are part of its words.
        words = (text,) if tokenizer == "words" else tuple(_WORD.findall(text))
        yield words, part[2] is not None
