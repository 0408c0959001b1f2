"""Filters: the cost of searching part of the chunks against searching all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN, TOP
from suite.contenders.ours import Ready, write
from suite.corpus import Corpus, group
from suite.results import Row, Target, agreement, shown, times_at_most, usage
from suite.timing import by_turns
from suite.truth import Truth

_SHARES = (1, 10, 50)
_MOST = 1.5
_CONDITIONS = 200
# One more than the number of filters that a handle caches.
_TURNS = 1_025
_ASKED = 100
_WAYS = {
    "keywords": f"BM25, top {TOP}",
    "vectors": f"vectors, top {TOP}",
    "hybrid": f"hybrid, top {SHOWN}",
}
_DECLARED: dict[str, list[str]] = {"a key that is not declared": [], "a declared key": ["stamp"]}
# The name of each row, by the key and whether each search has a new filter.
_KINDS = {
    ("a key that is not declared", False): "same",
    ("a key that is not declared", True): "undeclared",
    ("a declared key", False): "declared",
    ("a declared key", True): "new",
}


def measure(bench: Bench) -> Iterator[Row]:
    """Measure each way to search without a filter, and with filters that keep some chunks."""
    for key, declared in _DECLARED.items():
        path = bench.folder / f"filters-{len(declared)}.db"
        with hr.Index.open(path, ranking="memory", metadata_index=declared) as index:
            write(index, bench.corpus.chunks(with_vectors=True, stamped=True))
            for is_new in (False, True):
                kind = _KINDS[key, is_new]
                what = f"with {'another filter each time, on' if is_new else 'a filter on'} {key}"
                searching = _Searching(index, bench.corpus, is_new=is_new)
                for way, searched in _WAYS.items():
                    name = f"filters-{kind}-{way}"
                    yield _row(bench, searching, name, way, f"{searched}, {what}")
            yield _alternatives(bench, searching, f"filters-or-{_KINDS[key, False]}", key)
            if not declared:
                yield _fields(bench, searching)
                yield _beside(bench, index)
        path.unlink()


class _Searching:
    """One index with all ways to search it."""

    def __init__(self, index: hr.Index, corpus: Corpus, *, is_new: bool) -> None:
        self.index = index
        self.corpus = corpus
        self.embedder = Ready(corpus.questions, corpus.question_vectors)
        self.retriever = hr.Retriever(index, embedder=self.embedder)
        self._new = itertools.count(1) if is_new else itertools.repeat(1)

    def filters(self, share: int) -> dict[str, Any] | None:
        """Return a filter that keeps `share` percent of the chunks, None for all."""
        if share == 100:
            return None
        most = len(self.corpus) * share // 100
        return {"stamp": {"$lt": most, "$gt": -next(self._new)}}

    def alternatives(self) -> dict[str, Any]:
        """Return a new filter with many alternatives, which half of the chunks pass."""
        step = len(self.corpus) / _CONDITIONS
        least = -1 / (next(self._new) + 1)  # below the first stamp, and different each time
        return {
            "$or": [
                {"stamp": {"$gt": place * step + least, "$lt": (place + 0.5) * step}}
                for place in range(_CONDITIONS)
            ]
        }

    def search(self, way: str, share: int) -> Callable[[int], Any]:
        """Return a function that searches for a question by its number."""
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
            questions[place], limit=SHOWN, candidates=TOP, filters=self.filters(share)
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


def _alternatives(bench: Bench, searching: _Searching, key: str, on: str) -> Row:
    """Compare a filter with 200 alternatives with no filter and with a single condition."""
    retriever, questions = searching.retriever, bench.corpus.questions
    name = f"hedgerow, {_CONDITIONS} conditions"
    filters: dict[str, Callable[[], dict[str, Any] | None]] = {
        "hedgerow": lambda: None,
        "hedgerow, 1 condition": lambda: searching.filters(50),
        name: searching.alternatives,
    }
    calls = {
        who: lambda question, made=made: retriever.search(
            question, limit=SHOWN, candidates=TOP, filters=made()
        )
        for who, made in filters.items()
    }
    figures = by_turns(calls, questions, bench.budget)
    there = bench.large and not bench.million
    reached = figures[name].p50
    aim = Target(f"{_CONDITIONS} conditions: at most 10 ms", shown(reached, "ms"), reached <= 10e-3)
    return bench.row(
        key,
        f"hybrid, top {SHOWN}, with a filter of {_CONDITIONS} alternatives, on {on}",
        "ms",
        figures,
        targets=(aim,) if there else (),
        checks=tuple(usage(figures, "ms")),
    )


def _fields(bench: Bench, searching: _Searching) -> Row:
    """Compare new filters on tags and paths, and many filters in rotation, with no filter."""
    retriever, questions = searching.retriever, bench.corpus.questions
    numbers, turns = itertools.count(1), itertools.cycle(range(_TURNS))

    def of_another(**arguments: Any) -> hr.Filters:
        return hr.Filters(where={"stamp": {"$gt": -next(numbers)}}, **arguments)

    filters: dict[str, Callable[[], hr.Filters | None]] = {
        "hedgerow": lambda: None,
        "hedgerow, a tag": lambda: of_another(tags=[group(next(numbers))]),
        "hedgerow, a path prefix": lambda: of_another(path_prefix=f"notes/{next(numbers) % 9 + 1}"),
        f"hedgerow, {_TURNS:,} in turn": lambda: hr.Filters(where={"level": {"$gte": next(turns)}}),
    }
    calls = {
        who: lambda question, made=made: retriever.search(
            question, limit=SHOWN, candidates=TOP, filters=made()
        )
        for who, made in filters.items()
    }
    for _ in range(_TURNS):
        calls[f"hedgerow, {_TURNS:,} in turn"](questions[0])
    figures = by_turns(calls, questions, bench.budget)
    all_of_them = figures["hedgerow"].p50
    targets = [
        times_at_most(
            who.removeprefix("hedgerow, "), _MOST, "no filter", figures[who].p50 / all_of_them
        )
        for who in filters
        if who != "hedgerow"
    ]
    return bench.row(
        "filters-fields",
        f"hybrid, top {SHOWN}, with filters on tags, paths and {_TURNS:,} numbers in turn",
        "ms",
        figures,
        targets=tuple(targets) if bench.large else (),
        checks=tuple(usage(figures, "ms")),
    )


def _beside(bench: Bench, index: hr.Index) -> Row:
    """Compare all contenders that filter vectors, and their recall among the chunks that pass."""
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
    """Check that the hits are the passing hits of the full ranking."""
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
