"""The words of queries and topics, without stop words."""

from __future__ import annotations

import re

from hedgerow._engine import EN_STOPWORDS, NL_STOPWORDS

_BETWEEN_TOKENS = re.compile(r"[^\w./-]+")
_WORD = re.compile(r"[^\W_]+")
_LONG = 3

STOP_WORDS = EN_STOPWORDS | NL_STOPWORDS


def recall_terms(query: str) -> list[str]:
    """Return the distinct lower-case tokens of a query, without stop words and single letters."""
    tokens = (part.strip("._/-") for part in _BETWEEN_TOKENS.split(query.lower()))
    kept = (token for token in tokens if len(token) > 1 and token not in STOP_WORDS)
    return list(dict.fromkeys(kept))


def topic_tokens(topic: str) -> list[str]:
    """Give the words of a topic, of three letters or digits and more; all, where none is so long."""
    words = list(dict.fromkeys(_WORD.findall(topic.casefold())))
    return [word for word in words if len(word) >= _LONG] or words
