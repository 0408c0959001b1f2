"""The words of a query and of a topic that say something."""

from __future__ import annotations

import re

from hedgerow.query import is_stopword

_BETWEEN_TOKENS = re.compile(r"[^\w./-]+")
_WORD = re.compile(r"[^\W_]+")
_LONG = 3


def query_tokens(query: str) -> list[str]:
    """Give the tokens of a query, lower-case and each once: no stop words, no single letters."""
    tokens = (part.strip("._/-") for part in _BETWEEN_TOKENS.split(query.lower()))
    kept = (token for token in tokens if len(token) > 1 and not is_stopword(token))
    return list(dict.fromkeys(kept))


def topic_tokens(topic: str) -> list[str]:
    """Give the words of a topic, of three letters or digits and more; all, where none is so long."""
    words = list(dict.fromkeys(_WORD.findall(topic.casefold())))
    return [word for word in words if len(word) >= _LONG] or words
