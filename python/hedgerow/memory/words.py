"""The words of queries and topics, and the part of a passage that has most of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from hedgerow._engine import EN_STOPWORDS, NL_STOPWORDS

SNIPPET_LIMIT = 500
"""The most characters of a snippet, without its ellipses."""

_BETWEEN_TOKENS = re.compile(r"[^\w./-]+")
_WORD = re.compile(r"[^\W_]+")
_LONG = 3
_MOST_WORDS = 32
"""The most words of a topic, which each memory is searched for."""

_LEAD = 60
_STEM = 4
_MOST_FOUND = 50

STOP_WORDS = EN_STOPWORDS | NL_STOPWORDS


def recall_terms(query: str) -> list[str]:
    """Return the distinct lower-case tokens of a query, without stop words and single letters."""
    tokens = (part.strip("._/-") for part in _BETWEEN_TOKENS.split(query.lower()))
    kept = (token for token in tokens if len(token) > 1 and token not in STOP_WORDS)
    return list(dict.fromkeys(kept))


def topic_tokens(topic: str) -> list[str]:
    """Return the words of a topic of three characters or more; all words, where none is so long.

    At most 32, the first.
    """
    words = list(dict.fromkeys(_WORD.findall(topic.casefold())))
    return ([word for word in words if len(word) >= _LONG] or words)[:_MOST_WORDS]


def cut_snippet(content: str, tokens: Sequence[str]) -> str:
    """Put a passage on one line, cut to the part that has most of the tokens."""
    text = " ".join(content.split())
    if len(text) <= SNIPPET_LIMIT:
        return text
    start = _best_start(text.lower(), tokens)
    if start + SNIPPET_LIMIT >= len(text):
        start = len(text) - SNIPPET_LIMIT + 1
    lead = "…" if start else ""
    end = start + SNIPPET_LIMIT - len(lead)
    return f"{lead}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def _best_start(text: str, tokens: Sequence[str]) -> int:
    """Return the offset of the first window with the most different tokens."""
    found = sorted(
        (offset, token)
        for token in tokens
        for offset in _offsets(text, token[: max(_STEM, len(token) - 3)])
    )
    best, most = 0, 0
    within: Counter[str] = Counter()
    end = 0
    for offset, token in found:
        while end < len(found) and found[end][0] < offset + SNIPPET_LIMIT - _LEAD:
            within[found[end][1]] += 1
            end += 1
        if len(within) > most:
            best, most = offset, len(within)
        within[token] -= 1
        if not within[token]:
            del within[token]
    if best < _LEAD:
        return 0
    space = text.find(" ", best - _LEAD, best)
    return space + 1 if space >= 0 else best


def _offsets(text: str, part: str) -> list[int]:
    found: list[int] = []
    offset = text.find(part)
    while offset >= 0 and len(found) < _MOST_FOUND:
        found.append(offset)
        offset = text.find(part, offset + 1)
    return found
