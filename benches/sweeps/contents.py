"""Dimensions of the content of an index: chunks, paths, tags, metadata, texts and nodes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus
from suite.writes import always, changes

from .base import Base, Dimension, Probe, nothing, powers

_SCORES = {"matching": "extended", "fusion": "score"}
_OF_TAGS = 1_000
_OF_KEYS = 500
_OF_TEXTS = 24


def chunks(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe an index of `size` chunks, opened in every way."""
    corpus = base.first(size)
    index = base.made(stack, corpus.chunks(with_vectors=True))
    fast = base.opened(stack, path=index.path, vectors="fast")
    codes = base.opened(stack, path=index.path, resident="codes")
    ranked = base.opened(stack, path=index.path, ranking="fts5")
    write = base.writing(index, corpus, 1)

    def reopen() -> None:
        with hr.Index.open(index.path or "", ranking="memory") as other:
            base.search(other)()

    return {
        "keywords": Probe(base.search(index, mode="bm25")),
        "keywords, ranked by FTS5": Probe(base.search(ranked, mode="bm25")),
        "vectors, exact": Probe(base.search(index, mode="semantic")),
        "vectors, fast": Probe(base.search(fast, mode="semantic")),
        "vectors, codes": Probe(base.search(codes, mode="semantic")),
        "hybrid by score": Probe(base.search(index, retrieve=_SCORES)),
        "hybrid by score, grouped": Probe(base.search(index, retrieve=_SCORES, group_by="path")),
        "hybrid with neighbors": Probe(base.search(index, retrieve={"neighbors": True})),
        "write": Probe(write, growth="constant"),
        "first search": Probe(base.search(index), write, growth="constant"),
        "open and search": Probe(reopen),
    }


def _of_paths(base: Base, corpus: Corpus, stack: ExitStack) -> dict[str, Probe]:
    """Probe searches of an index with a given path layout, and writes into its first path."""
    index = base.made(stack, corpus.chunks(with_vectors=True))
    numbers = count()
    first = corpus.texts[0].path

    def write() -> None:
        seed = f"path-{next(numbers)}"
        index.upsert(changes(corpus, seed, 1, is_new=always, path=first))

    scores = base.search(index, retrieve=_SCORES, group_by="path")
    return {
        "hybrid, grouped": Probe(base.search(index, group_by="path"), growth="constant"),
        "hybrid by score, grouped": Probe(scores, growth="constant"),
        "hybrid with neighbors": Probe(
            base.search(index, retrieve={"neighbors": True}), growth="constant"
        ),
        "keywords, grouped": Probe(
            base.search(index, mode="bm25", group_by="path"), growth="constant"
        ),
        "write into the first path": Probe(write, scores, growth="constant"),
        "first search, grouped": Probe(scores, nothing, growth="constant"),
        "search of one path": Probe(
            base.search(index, filters={"paths": [first]}), growth="linear"
        ),
    }


def long_path(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a path of `size` chunks. Every other chunk has its own path."""
    corpus = base.small.with_chunks_per_path(1).with_chunks_per_path(size + 1, rows=size)
    return _of_paths(base, corpus, stack)


def paths(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe `size` paths with equal numbers of chunks."""
    corpus = base.small.with_chunks_per_path(-(-len(base.small) // size))
    return _of_paths(base, corpus, stack)


def tags(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe chunks with `size` tags each."""
    dice = random.Random(3)
    corpus = base.first(min(_OF_TAGS, base.chunks))
    tagged = [
        replace_chunk(chunk, tags=[f"tag{dice.randrange(size * 10)}" for _ in range(size)])
        for chunk in corpus.chunks(with_vectors=True)
    ]
    index = base.made(stack, tagged)
    return {
        "write": Probe(_rewriting(index, tagged)),
        "first search": Probe(base.search(index), nothing),
        "keywords": Probe(base.search(index, mode="bm25")),
        "search with a filter of tags": Probe(
            _with_new(base, index, lambda number: {"tags": [f"tag{number % (size * 10)}"]})
        ),
    }


def keys(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe chunks with `size` keys of metadata each."""
    corpus = base.first(min(_OF_KEYS, base.chunks))
    described = [
        replace_chunk(chunk, metadata={f"key{key}": (place + key) % 100 for key in range(size)})
        for place, chunk in enumerate(corpus.chunks(with_vectors=True))
    ]
    index = base.made(stack, described)
    last = f"key{size - 1}"
    return {
        "write": Probe(_rewriting(index, described)),
        "first search": Probe(base.search(index), nothing),
        "hybrid": Probe(base.search(index)),
        "search with a filter of the last key": Probe(
            _with_new(base, index, lambda number: {last: {"$gt": -1 - number}})
        ),
        "search with a filter of all keys": Probe(
            _with_new(
                base,
                index,
                lambda number: {f"key{key}": {"$gt": -1 - number} for key in range(min(size, 900))},
            )
        ),
    }


def content(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe chunks of `size` words each."""
    dice = random.Random(5)
    corpus = base.first(min(_OF_TEXTS, base.chunks))
    vocabulary = sorted({word for text in corpus.texts for word in text.content.split()})
    long = [
        replace_chunk(chunk, content=" ".join(dice.choices(vocabulary, k=size)))
        for chunk in corpus.chunks(with_vectors=True)
    ]
    index = base.made(stack, long)
    asked = count()

    def keywords() -> object:
        return index.search_bm25(vocabulary[next(asked) % len(vocabulary)])

    return {
        "write": Probe(_rewriting(index, long)),
        "first search": Probe(base.search(index), nothing),
        "keywords": Probe(keywords),
        "hybrid": Probe(base.search(index)),
        "hybrid, reweighted": Probe(base.search(index, retrieve={"reweight": True})),
    }


def nodes(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a store of `size` nodes with four edges each."""
    dice = random.Random(7)
    path = base.new_path()
    store, other = hr.Store.open(path), hr.Store.open(path)
    stack.callback(store.close)
    stack.callback(other.close)
    names = [f"semantic/{number}" for number in range(size)]
    store.upsert(hr.Node(name, content=f"word{dice.randrange(300)}") for name in names)
    ends = [(dice.choice(names), dice.choice(names)) for _ in range(4 * size)]
    store.link_many([(one, other, 0.5) for one, other in ends if one != other])
    selection = hr.parse_pipeline("all | sort:priority | limit:20")
    spread = hr.parse_pipeline(f"seed:{names[0]} | spread | limit:20")
    matching = hr.parse_pipeline("match:word7 | limit:10")
    numbers = count()

    def run(pipeline: hr.Pipeline) -> Callable[[], object]:
        return lambda: store.query(pipeline, now=1_800_000_000)

    def write() -> None:
        store.upsert([hr.Node(dice.choice(names), content=f"other{next(numbers)}")])

    def link(store: hr.Store = store) -> None:
        store.link(names[0], names[1 + next(numbers) % (size - 1)])

    return {
        "sorted by priority": Probe(run(selection)),
        "spread": Probe(run(spread)),
        "match": Probe(run(matching)),
        "write": Probe(write, growth="constant"),
        "first sort after a write": Probe(run(selection), write),
        "link": Probe(link, growth="constant"),
        "first spread after a link": Probe(run(spread), link),
        "first spread after a link of another handle": Probe(run(spread), lambda: link(other)),
    }


def replace_chunk(chunk: hr.Chunk, **fields: Any) -> hr.Chunk:
    """Return a copy of the chunk with some fields replaced."""
    return hr.Chunk.from_dict({**chunk.to_dict(), **fields})


def _rewriting(index: hr.Index, written: list[hr.Chunk]) -> Callable[[], object]:
    """Return a function that rewrites the next stored chunk with a new title in each call."""
    turns: Iterator[int] = count()

    def write() -> None:
        number = next(turns)
        chunk = replace_chunk(written[number % len(written)], title=f"title {number}")
        index.upsert([chunk])

    return write


def _with_new(
    base: Base, index: hr.Index, make: Callable[[int], dict[str, Any]]
) -> Callable[[], object]:
    """Return a function that searches with a new filter in each call."""
    retriever = base.retriever(index)
    turns = count()
    return lambda: retriever.search(base.corpus.questions[0], filters=make(next(turns)))


def _nodes(base: Base) -> list[int]:
    """Return the sizes up to the number of chunks, at least ten each."""
    return [max(10, size) for size in powers(base.chunks, least=64, factor=8)]


DIMENSIONS = [
    Dimension("chunks", lambda base: powers(base.chunks, least=64, pairs=1 << 40), chunks),
    Dimension("long-path", lambda base: powers(len(base.small)), long_path),
    Dimension("paths", lambda base: powers(len(base.small), factor=4, pairs=1 << 40), paths),
    Dimension("tags", lambda _: [1, 10, 100, 1_000], tags),
    Dimension("keys", lambda _: [1, 10, 100, 1_000], keys),
    Dimension("content", lambda base: [10, 100, 1_000, min(10 * base.chunks, 100_000)], content),
    Dimension("nodes", _nodes, nodes),
]
