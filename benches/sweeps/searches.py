"""Dimensions of searches: filters, limits and queries."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import count, cycle, islice
from typing import Any

import hedgerow as hr

from .base import Base, Dimension, Probe, powers

_SCORES = {"matching": "extended", "fusion": "score"}
_OTHERS = 20


def selectivity(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a fixed filter that `size` chunks pass."""
    index = base.opened(stack)
    kept = {"stamp": {"$lt": size}}
    vectors = base.corpus.question_vectors
    numbers = count()

    def nearest() -> object:
        return index.search_vector(vectors[next(numbers) % len(vectors)], 60, filters=kept)

    return {
        "keywords": Probe(base.search(index, mode="bm25", filters=kept)),
        "vectors": Probe(nearest),
        "hybrid": Probe(base.search(index, filters=kept)),
        "hybrid, grouped by score": Probe(
            base.search(index, retrieve=_SCORES, filters=kept, group_by="path")
        ),
        "hybrid, after a write": Probe(
            base.search(index, filters=kept), base.writing(index, base.corpus, 1)
        ),
    }


def distinct(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe `size` filters in rotation. Each has been used before."""
    made = {}
    for what, key in {"declared": "stamp", "not declared": "level"}.items():
        index = base.opened(stack, small=True)
        retriever = base.retriever(index)
        number = count()

        def search(
            retriever: hr.Retriever = retriever, key: str = key, number: count[int] = number
        ) -> object:
            bound = -1 - next(number) % size / size
            return retriever.search(base.corpus.questions[0], filters={key: {"$gt": bound}})

        for _ in range(size):
            search()
        made[f"search, {what}, each of {_OTHERS}"] = Probe(
            lambda search=search: [search() for _ in range(_OTHERS)],
            growth="constant",
            each=_OTHERS,
        )
    return made


def conditions(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a new filter with `size` alternatives in each search."""
    index = base.opened(stack, small=True)
    numbers = count(1)
    step = len(base.small) / size

    def alternatives(key: str) -> dict[str, Any]:
        shift = 1 / (next(numbers) + 1)
        return {
            "$or": [
                {key: {"$gt": place * step - shift, "$lt": (place + 0.5) * step}}
                for place in range(size)
            ]
        }

    def values(key: str, prefix: str = "") -> dict[str, Any]:
        first = next(numbers) * size
        listed = range(first, first + size)
        return {key: {"$in": [f"{prefix}{one}" if prefix else one for one in listed]}}

    def searching(make: Callable[[], dict[str, Any]]) -> Callable[[], object]:
        retriever = base.retriever(index)
        return lambda: retriever.search(base.corpus.questions[0], filters=make())

    return {
        "$or on a declared key": Probe(searching(lambda: alternatives("stamp"))),
        "$or on a key not declared": Probe(searching(lambda: alternatives("level"))),
        "$in on a declared key": Probe(searching(lambda: values("stamp"))),
        "$in on a key not declared": Probe(searching(lambda: values("author", "author "))),
    }


def limit(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe searches for `size` hits from as many candidates."""
    index = base.opened(stack)
    options: dict[str, Any] = {"limit": size, "candidates": size}
    candidates: dict[str, Any] = {"limit": 10, "candidates": size}
    fast = base.opened(stack, path=index.path, vectors="fast")
    few = min(size, 10)
    return {
        "keywords": Probe(base.search(index, mode="bm25", **options)),
        "vectors": Probe(base.search(index, mode="semantic", **options)),
        "vectors, fast": Probe(base.search(fast, mode="semantic", **options)),
        "hybrid": Probe(base.search(index, **options)),
        "hybrid, 10 hits": Probe(base.search(index, **{**candidates, "limit": few})),
        "hybrid, grouped": Probe(base.search(index, group_by="path", **options)),
        "hybrid, grouped by score": Probe(
            base.search(index, retrieve=_SCORES, group_by="path", **options)
        ),
    }


def words(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe queries of `size` words."""
    index = base.opened(stack)
    ranked = base.opened(stack, path=index.path, ranking="fts5")
    dice = random.Random(size)
    vocabulary = sorted(_frequencies(base))
    queries = [" ".join(dice.choices(vocabulary, k=size)) for _ in range(20)]
    all_of_them = [" AND ".join(query.split()) for query in queries]
    phrases = [f'"{query}"' for query in queries]

    def asking(index: hr.Index, queries: Sequence[str], **options: Any) -> Callable[[], object]:
        retriever = base.retriever(index, **options.pop("retrieve", {}))
        numbers = count()
        return lambda: retriever.search(queries[next(numbers) % len(queries)], **options)

    return {
        "keywords": Probe(asking(index, queries, mode="bm25")),
        "keywords, ranked by FTS5": Probe(asking(ranked, queries, mode="bm25")),
        "keywords, grouped": Probe(asking(index, queries, mode="bm25", group_by="path")),
        "keywords, extended": Probe(
            asking(index, queries, mode="bm25", retrieve={"matching": "extended"})
        ),
        "hybrid by score": Probe(asking(index, queries, retrieve=_SCORES)),
        "joined by AND": Probe(asking(index, all_of_them, mode="bm25")),
        "a phrase": Probe(asking(index, phrases, mode="bm25")),
    }


@cache
def _frequencies(base: Base) -> Counter[str]:
    return Counter(word for text in base.corpus.texts for word in text.content.split())


@cache
def _prefixes(base: Base) -> dict[int, str]:
    """Return prefixes by the number of words that begin with them, at most one of each length."""
    found: dict[int, str] = {}
    for length in range(1, 7):
        counted = Counter(word[:length] for word in _frequencies(base))
        prefix, words = min(counted.items(), key=lambda item: (item[1], item[0]))
        found.setdefault(words, prefix)
    return found


def prefix(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a prefix that `size` words of the index begin with."""
    query = f"{_prefixes(base)[size]}*"
    index = base.opened(stack)
    ranked = base.opened(stack, path=index.path, ranking="fts5")

    def asking(index: hr.Index, **options: Any) -> Callable[[], object]:
        retriever = base.retriever(index)
        return lambda: retriever.search(query, mode="bm25", **options)

    return {
        "keywords": Probe(asking(index)),
        "keywords, ranked by FTS5": Probe(asking(ranked)),
        "keywords, grouped": Probe(asking(index, group_by="path")),
        "keywords, after a write": Probe(asking(index), base.writing(index, base.corpus, 1)),
    }


def queries(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe `size` queries in one call, on one thread."""
    index = base.opened(stack)
    retriever = base.retriever(index)
    questions = cycle(base.corpus.questions)

    def batch(**options: Any) -> Callable[[], object]:
        return lambda: retriever.search_many(list(islice(questions, size)), threads=1, **options)

    return {
        "hybrid, each query": Probe(batch(), growth="constant", each=size),
        "keywords, each query": Probe(batch(mode="bm25"), growth="constant", each=size),
        "grouped, each query": Probe(batch(group_by="path"), growth="constant", each=size),
    }


DIMENSIONS = [
    Dimension("selectivity", lambda base: powers(base.chunks), selectivity),
    Dimension("filters", lambda _: [1, 16, 256, 1_024, 1_025], distinct),
    Dimension("conditions", lambda _: powers(900), conditions),
    Dimension("limit", lambda base: powers(min(base.chunks, 4_096)), limit),
    Dimension("words", lambda _: powers(1_024), words),
    Dimension("prefix", lambda base: sorted(_prefixes(base)), prefix),
    Dimension("queries", lambda _: [1, 4, 16, 32, 33, 64, 256], queries),
]
