"""Filters: what searching a part of the chunks costs beside searching all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN, TOP
from suite.contenders.ours import Ready, write
from suite.corpus import Corpus
from suite.results import Row, agreement, times_at_most
from suite.timing import by_turns
from suite.truth import Truth

_SHARES = (1, 10, 50)
_MOST = 1.5
_ASKED = 100
_WAYS = {
    "keywords": f"BM25, top {TOP}",
    "vectors": f"vectors, top {TOP}",
    "hybrid": f"hybrid, top {SHOWN}",
}
_KINDS = {
    "same": ("with a filter on a key that is not declared", [], False),
    "declared": ("with a filter on a declared key", ["stamp"], False),
    "new": ("with another filter each time, on a declared key", ["stamp"], True),
}


def measure(bench: Bench) -> Iterator[Row]:
    """Each way to search without a filter, and with filters that keep some of all chunks."""
    for kind, (what, declared, is_new) in _KINDS.items():
        path = bench.folder / f"filters-{kind}.db"
        with hr.Index.open(path, ranking="memory", metadata_index=declared) as index:
            write(index, _chunks(bench.corpus))
            searching = _Searching(index, bench.corpus, is_new=is_new)
            for way, searched in _WAYS.items():
                yield _row(bench, searching, f"filters-{kind}-{way}", way, f"{searched}, {what}")
            if kind == "same":
                yield _beside(bench, index)
        path.unlink()


def _chunks(corpus: Corpus) -> Iterator[hr.Chunk]:
    """The texts, each with a number of its own, in no order."""
    chunks = corpus.chunks(with_vectors=True)
    for chunk, stamp in zip(chunks, corpus.stamps(), strict=True):
        yield hr.Chunk(
            chunk.id,
            chunk.path,
            chunk.content,
            chunk.title,
            chunk.summary,
            chunk.tags,
            {"stamp": stamp, "author": f"author {stamp % 97}", "draft": stamp % 2 == 0},
            embedding=chunk.embedding,
        )


class _Searching:
    """One index, asked in each way."""

    def __init__(self, index: hr.Index, corpus: Corpus, *, is_new: bool) -> None:
        self.index = index
        self.corpus = corpus
        self.embedder = Ready(corpus.questions, corpus.question_vectors)
        self.retriever = hr.Retriever(index, embedder=self.embedder)
        self._new = itertools.count(1) if is_new else itertools.repeat(1)

    def filters(self, share: int) -> dict[str, Any] | None:
        """One that keeps so many of a hundred; None for all."""
        if share == 100:
            return None
        most = len(self.corpus) * share // 100
        return {"stamp": {"$lt": most, "$gt": -next(self._new)}}

    def search(self, way: str, share: int) -> Callable[[int], Any]:
        """The answer to a question by its number."""
        questions, vectors = self.corpus.questions, self.corpus.question_vectors
        if way == "keywords":
            return lambda place: self.index.search_bm25(
                questions[place], TOP, filters=self.filters(share)
            )
        if way == "vectors":
            return lambda place: self.index.search_vector(
                vectors[place], TOP, filters=self.filters(share)
            )
        return lambda place: self.retriever.search(
            questions[place], top_k=SHOWN, candidate_k=TOP, filters=self.filters(share)
        )


def _row(bench: Bench, searching: _Searching, key: str, way: str, what: str) -> Row:
    calls = {"hedgerow": searching.search(way, 100)}
    calls |= {f"hedgerow, {share} %": searching.search(way, share) for share in _SHARES}
    places = list(range(len(bench.corpus.questions)))
    figures = by_turns(calls, places, bench.budget)
    all_of_them = figures["hedgerow"].p50
    targets = [
        times_at_most(
            f"{share} %", _MOST, "no filter", figures[f"hedgerow, {share} %"].p50 / all_of_them
        )
        for share in _SHARES
    ]
    return bench.row(
        key,
        what,
        "ms",
        figures,
        targets=tuple(targets) if bench.large else (),
        checks=(_same(searching, way),),
    )


def _beside(bench: Bench, index: hr.Index) -> Row:
    """Everybody who filters vectors, and how many of the nearest that pass are found."""
    corpus = bench.corpus
    filters = {"stamp": {"$lt": corpus.kept}}
    ours = {"hedgerow": lambda vector: index.search_vector(vector, TOP, filters=filters)}
    calls = {**ours, **bench.calls("kept")}
    figures = by_turns(calls, list(corpus.question_vectors), bench.budget)
    passing = np.flatnonzero(np.array(corpus.stamps()) < corpus.kept)
    places = {int(row): place for place, row in enumerate(passing + 1, 1)}
    asked = corpus.question_vectors[:_ASKED]
    truth = Truth(corpus.vectors[passing], asked)
    checks = []
    for name, call in calls.items():
        found = [bench.present[name].rows(call(vector)) for vector in asked]
        kept = [[places[row] for row in rows if row in places] for rows in found]
        checks.append(f"recall of {name} {truth.recall(kept):.4f}")
    return bench.row(
        "filters-peers",
        f"vectors, top {TOP}, with a filter that keeps 10 %",
        "ms",
        figures,
        checks=tuple(checks),
        absent=bench.missing("kept"),
    )


def _same(searching: _Searching, way: str) -> str:
    """Whether the hits are those of the full ranking that pass."""
    corpus = searching.corpus
    stamps = {chunk.id: chunk.metadata["stamp"] for chunk in searching.index.chunks()}
    most = len(corpus) // 2

    def agrees(place: int) -> bool:
        filters = searching.filters(50)
        if way == "vectors":
            vector = corpus.question_vectors[place]
            full = searching.index.search_vector(vector, len(corpus))
            found = searching.index.search_vector(vector, TOP, filters=filters)
        else:
            text = corpus.questions[place]
            full = searching.index.search_bm25(text, len(corpus))
            found = searching.index.search_bm25(text, TOP, filters=filters)
        passing = [hit.id for hit in full if stamps[hit.id] < most][:TOP]
        return passing == [hit.id for hit in found]

    return agreement("hits are the full ranking's that pass", 3, agrees)
