"""Synthetic vectors: in loose clusters, in tight clusters, and perturbed copies of a model's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
_CLUSTERS = 200
_TIGHT = 500
# The cosine of a member of a tight cluster with its center is 0.8, and that of two members 0.64. A
# question is so close to a center that it is about equally far from all members.
_RADIUS = 0.75
_ASIDE = 0.05
_COPIED = 0.25
_BLOCK = 1 << 16

Vectors = NDArray[np.float32]


def loose(dice: np.random.Generator, count: int) -> Vectors:
    """Return vectors like those of models: in clusters, with most variance in a few directions."""
    centers = noise(dice, _CLUSTERS)
    members = dice.integers(0, _CLUSTERS, count)
    vectors = np.empty((count, DIMENSIONS), dtype=np.float32)
    for block in blocks(count):
        part = centers[members[block]]
        vectors[block] = unit(part + noise(dice, len(part)))
    return vectors


def tight(count: int, questions: int) -> tuple[Vectors, Vectors]:
    """Return clusters of 500 vectors equally far from their center, and questions near a center.

    All vectors of a cluster are about equally similar to a question, so finding the nearest takes
    precision.
    """
    dice = np.random.default_rng(19)
    centers = unit(noise(dice, max(1, count // _TIGHT)))
    vectors = np.empty((count, DIMENSIONS), dtype=np.float32)
    for block in blocks(count):
        # Members of a cluster are not adjacent in memory.
        center = centers[np.arange(block.start, block.stop) % len(centers)]
        vectors[block] = unit(center + _across(dice, center) * np.float32(_RADIUS))
    center = centers[dice.integers(0, len(centers), questions)]
    return vectors, unit(center + _across(dice, center) * np.float32(_ASIDE))


def tiled(vectors: Vectors, count: int) -> Vectors:
    """Return `count` vectors: the given ones, then copies, each moved a little."""
    dice = np.random.default_rng(23)
    made = np.empty((count, vectors.shape[1]), dtype=np.float32)
    for block in blocks(count):
        part = vectors[np.arange(block.start, block.stop) % len(vectors)]
        copies = max(0, len(vectors) - block.start)
        part[copies:] = nearby(dice, part[copies:], _COPIED)
        made[block] = part
    return made


def nearby(dice: np.random.Generator, vectors: Vectors, distance: float) -> Vectors:
    """Return each vector moved by about `distance` in a random direction."""
    step = dice.standard_normal(vectors.shape, dtype=np.float32)
    return unit(vectors + step * np.float32(distance / np.sqrt(vectors.shape[1])))


def noise(dice: np.random.Generator, count: int) -> Vectors:
    """Return vectors around zero with most variance in the first directions."""
    scale = (np.arange(1, DIMENSIONS + 1) ** -0.5).astype(np.float32)
    drawn: Vectors = dice.standard_normal((count, DIMENSIONS), dtype=np.float32) * scale
    return drawn


def unit(vectors: Vectors) -> Vectors:
    """Return the vectors scaled to length 1."""
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(scaled, dtype=np.float32)


def blocks(count: int) -> Iterator[slice]:
    """Yield slices of rows, so that intermediate results are never all in memory."""
    return (slice(first, min(first + _BLOCK, count)) for first in range(0, count, _BLOCK))


def _across(dice: np.random.Generator, centers: Vectors) -> Vectors:
    """Return for each center a random direction perpendicular to it."""
    drawn = dice.standard_normal(centers.shape, dtype=np.float32)
    along = np.sum(drawn * centers, axis=1, keepdims=True)
    return unit(drawn - along * centers)
