"""The leg of sparse vectors compared with a brute force, on synthetic vectors of the size of SPLADE's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr
from suite.bench import LARGE, Bench
from suite.contenders import SHOWN, TOP
from suite.results import Row, agreement, times_at_most
from suite.timing import by_turns

_VOCABULARY = 30_000
_OF_CHUNK, _OF_QUERY = 120, 30
_QUERIES = 100
_BRUTE_FORCE = "numpy, every product"


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The distinct tokens of each vector and their weights, one vector after the other."""

    tokens: NDArray[np.int64]
    weights: NDArray[np.float32]
    starts: NDArray[np.int64]

    def mappings(self) -> Iterator[dict[str, float]]:
        ends = [*self.starts[1:].tolist(), len(self.tokens)]
        for start, end in zip(self.starts.tolist(), ends, strict=True):
            names = map(str, self.tokens[start:end].tolist())
            yield dict(zip(names, self.weights[start:end].tolist(), strict=True))


class _Made:
    """A sparse embedder that knows the vectors of its queries."""

    def __init__(self, vectors: dict[str, dict[str, float]]) -> None:
        self._vectors = vectors

    def sparse_queries(self, texts: Sequence[str], /) -> list[dict[str, float]]:
        return [self._vectors[text] for text in texts]


def measure(bench: Bench) -> Iterator[Row]:
    """The best of all chunks, and of a tenth of them."""
    count = len(bench.corpus)
    if count > LARGE:
        return
    chunks, queries = _made_up(count, _OF_CHUNK, 11), _made_up(_QUERIES, _OF_QUERY, 12)
    names = [f"question {n}" for n in range(_QUERIES)]
    encoder = _Made(dict(zip(names, queries.mappings(), strict=True)))
    with hr.Index.in_memory() as index:
        index.upsert(
            hr.Chunk(str(row), f"{row % 10}.md", "text", sparse=sparse)
            for row, sparse in enumerate(chunks.mappings())
        )
        ranking = hr.Ranking("best", neighbors=False, speakers=False, dates=False)
        retriever = hr.Retriever(index, sparse=encoder, ranking=ranking)

        def search(name: str, **options: Any) -> hr.Response:
            return retriever.search(
                name,
                mode="semantic",
                limit=SHOWN,
                candidates=TOP,
                skip_retry_ladder=True,
                **options,
            )

        brute_force = _brute_force(chunks, queries)
        calls: dict[str, Callable[[str], Any]] = {
            "hedgerow": search,
            "hedgerow, a filter that keeps 10 %": lambda name: search(
                name, filters={"path": "3.md"}
            ),
            _BRUTE_FORCE: lambda name: brute_force(names.index(name)),
        }
        figures = by_turns(calls, names, bench.budget)

        def agrees(place: int) -> bool:
            found = search(names[place])
            ours = [(hit.explanation or {})["sparse"]["score"] for hit in found]
            return bool(np.allclose(ours, brute_force(place)[:SHOWN], rtol=1e-5))

        part = figures["hedgerow"].p50 / figures[_BRUTE_FORCE].p50
        checks = (
            agreement("scores as computed one by one", 10, agrees),
            f"{index.stats().sparse_bytes / 1e6:.0f} MB in memory",
        )
    yield bench.row(
        "sparse",
        f"sparse vectors of {_OF_CHUNK} tokens, a search for {_OF_QUERY}, top {TOP}",
        "ms",
        figures,
        targets=(times_at_most("hedgerow", 0.2, _BRUTE_FORCE, part),) if bench.large else (),
        checks=checks,
    )


def _made_up(count: int, tokens: int, seed: int) -> _Vectors:
    """Vectors whose tokens are as frequent as words, most of them rare."""
    dice = np.random.default_rng(seed)
    drawn = (_VOCABULARY ** dice.random((count, tokens))).astype(np.int64) - 1
    rows = np.repeat(np.arange(count), tokens)
    distinct = np.unique(rows * _VOCABULARY + drawn.ravel())
    rows, found = np.divmod(distinct, _VOCABULARY)
    weights = (dice.random(len(found)) * 2 + 0.01).astype(np.float32)
    return _Vectors(found, weights, np.searchsorted(rows, np.arange(count)))


def _brute_force(chunks: _Vectors, queries: _Vectors) -> Callable[[int], NDArray[np.float64]]:
    """Compute every score, and return the best."""
    ends = [*queries.starts[1:].tolist(), len(queries.tokens)]

    def best(place: int) -> NDArray[np.float64]:
        own = slice(int(queries.starts[place]), ends[place])
        dense = np.zeros(_VOCABULARY, dtype=np.float32)
        dense[queries.tokens[own]] = queries.weights[own]
        scores = np.add.reduceat(chunks.weights * dense[chunks.tokens], chunks.starts)
        least = max(len(scores) - TOP, 0)
        return np.sort(np.partition(scores, least)[least:])[::-1].astype(np.float64)

    return best
