"""Chunks to write into an index of a corpus: new ones, and new texts for stored ones."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

import hedgerow as hr

from .corpus import Corpus
from .shapes import nearby
from .timing import as_many

_WORDS = 80
_DISTANCE = 0.5


def changes(
    corpus: Corpus,
    seed: str,
    count: int,
    *,
    is_new: Callable[[int], bool],
    path: str | None = None,
) -> list[hr.Chunk]:
    """Return `count` chunks with vectors, spread over the corpus.

    `is_new` decides by the position of a chunk whether it gets a new id or replaces a stored chunk.
    If the corpus has fewer chunks than `count`, some are replaced twice. Each chunk has the path of
    a stored one, or `path`. The same seed gives the same chunks.
    """
    dice = random.Random(seed)
    words = [word for text in corpus.texts[:200] for word in text.content.split()]
    stored = as_many(dice.sample(corpus.texts, min(count, len(corpus))), count)
    rows = np.array([text.row - 1 for text in stored])
    vectors = nearby(np.random.default_rng(29), corpus.vectors[rows], _DISTANCE)
    return [
        hr.Chunk(
            f"{seed}-{number}" if is_new(number) else str(text.row),
            path or text.path,
            " ".join(dice.choices(words, k=_WORDS)),
            text.title,
            embedding=vector,
        )
        for number, (text, vector) in enumerate(zip(stored, vectors, strict=True))
    ]


def always(number: int) -> bool:
    """Return True: every chunk is new."""
    del number
    return True


def never(number: int) -> bool:
    """Return False: every chunk replaces a stored one."""
    del number
    return False
