"""Made-up vectors: in loose clusters, in tight ones, and more of those that a model gave."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
_CLUSTERS = 200
_TIGHT = 500
# A member of a tight cluster stands so far off its center that their cosine is 0.8, and that of two
# members 0.64; a question is so near to a center that it is about as far from all the members.
_RADIUS = 0.75
_ASIDE = 0.05
_COPIED = 0.25
_BLOCK = 1 << 16

Vectors = NDArray[np.float32]


def loose(dice: np.random.Generator, count: int) -> Vectors:
    """Vectors as models give them: in clusters, and with a few directions that say most."""
    centers = noise(dice, _CLUSTERS)
    members = dice.integers(0, _CLUSTERS, count)
    vectors = np.empty((count, DIMENSIONS), dtype=np.float32)
    for block in blocks(count):
        part = centers[members[block]]
        vectors[block] = unit(part + noise(dice, len(part)))
    return vectors


def tight(count: int, questions: int) -> tuple[Vectors, Vectors]:
    """Clusters of 500 that are equally far from their center, and questions from near a center.

    All that a cluster holds is about equally similar to a question, so that it takes precision to
    find the nearest.
    """
    dice = np.random.default_rng(19)
    centers = unit(noise(dice, max(1, count // _TIGHT)))
    vectors = np.empty((count, DIMENSIONS), dtype=np.float32)
    for block in blocks(count):
        # Those of a cluster are not neighbors in memory.
        center = centers[np.arange(block.start, block.stop) % len(centers)]
        vectors[block] = unit(center + _across(dice, center) * np.float32(_RADIUS))
    center = centers[dice.integers(0, len(centers), questions)]
    return vectors, unit(center + _across(dice, center) * np.float32(_ASIDE))


def tiled(vectors: Vectors, count: int) -> Vectors:
    """So many vectors: first the given ones, then copies, each moved a little from the original."""
    dice = np.random.default_rng(23)
    made = np.empty((count, vectors.shape[1]), dtype=np.float32)
    for block in blocks(count):
        part = vectors[np.arange(block.start, block.stop) % len(vectors)]
        copies = max(0, len(vectors) - block.start)
        part[copies:] = nearby(dice, part[copies:], _COPIED)
        made[block] = part
    return made


def nearby(dice: np.random.Generator, vectors: Vectors, distance: float) -> Vectors:
    """Each of the vectors moved by about so much, into any direction."""
    step = dice.standard_normal(vectors.shape, dtype=np.float32)
    return unit(vectors + step * np.float32(distance / np.sqrt(vectors.shape[1])))


def noise(dice: np.random.Generator, count: int) -> Vectors:
    """Vectors around zero, in which the first directions say most."""
    scale = (np.arange(1, DIMENSIONS + 1) ** -0.5).astype(np.float32)
    drawn: Vectors = dice.standard_normal((count, DIMENSIONS), dtype=np.float32) * scale
    return drawn


def unit(vectors: Vectors) -> Vectors:
    """The vectors with length 1."""
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(scaled, dtype=np.float32)


def blocks(count: int) -> Iterator[slice]:
    """Slices of so many rows, so that what is computed from them is never there of all at once."""
    return (slice(first, min(first + _BLOCK, count)) for first in range(0, count, _BLOCK))


def _across(dice: np.random.Generator, centers: Vectors) -> Vectors:
    """For each center a direction at a right angle to it."""
    drawn = dice.standard_normal(centers.shape, dtype=np.float32)
    along = np.sum(drawn * centers, axis=1, keepdims=True)
    return unit(drawn - along * centers)
