"""The words of topics."""

from __future__ import annotations

import re

from hedgerow._engine import EN_STOPWORDS, NL_STOPWORDS

_WORD = re.compile(r"[^\W_]+")
_LONG = 3
_MOST_WORDS = 32
"""The most words of a topic, which each memory is searched for."""

STOP_WORDS = EN_STOPWORDS | NL_STOPWORDS


def topic_tokens(topic: str) -> list[str]:
    """Return the words of a topic of three characters or more; all words, where none is so long.

    At most 32, the first.
    """
    words = list(dict.fromkeys(_WORD.findall(topic.casefold())))
    return ([word for word in words if len(word) >= _LONG] or words)[:_MOST_WORDS]
