"""Phrase frequencies and BM25, computed slowly from the tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import hedgerow as hr
from hedgerow import _engine

WEIGHTS = (3, 10, 5, 4, 1)
Phrase = tuple[list[str], bool]


@dataclass
class Counted:
    """The tokens of a chunk, by column."""

    chunk: hr.Chunk
    columns: list[list[str]]

    @property
    def length(self) -> int:
        return sum(map(len, self.columns))

    def frequency(self, phrase: Phrase) -> int:
        """Return the number of occurrences of a phrase, weighted by column."""
        return sum(
            weight * sum(_stands_at(column, at, phrase) for at in range(len(column)))
            for column, weight in zip(self.columns, WEIGHTS, strict=True)
        )


def counted(chunks: Sequence[hr.Chunk], tokenizer: str) -> dict[str, Counted]:
    """Return every chunk by id, with its tokens."""
    found = {}
    for chunk in chunks:
        texts = [chunk.path, chunk.title, chunk.summary, " ".join(chunk.tags), chunk.content]
        found[chunk.id] = Counted(chunk, _engine._tokenize(texts, tokenizer))
    return found


def score(one: Counted, search: Mapping[str, Any]) -> float | None:
    """Return the score of a chunk for an expression. None if the chunk does not match."""
    frequencies = [one.frequency(phrase) for phrase in search["phrases"]]
    meets = [
        all(any(frequencies[phrase] for phrase in group) for group in groups)
        for groups in search["any"]
    ]
    if not any(meets) or any(frequencies[phrase] for phrase in search["none"]):
        return None
    least, by_length = search["norm"]
    norm = least + by_length * one.length
    return sum(
        times * search["idf"][phrase] * frequencies[phrase] * 2.2 / (frequencies[phrase] + norm)
        for conjunction, phrase, times in search["addends"]
        if meets[conjunction]
    )


def _stands_at(column: list[str], at: int, phrase: Phrase) -> bool:
    tokens, prefix = phrase
    found = column[at : at + len(tokens)]
    if not tokens or len(found) < len(tokens):
        return False
    if not prefix:
        return found == tokens
    return found[:-1] == tokens[:-1] and found[-1].startswith(tokens[-1])
