"""The cost of grouping by path, for short paths and for few long ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import ceil
from typing import Any

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN, TOP
from suite.contenders.ours import Ready, write
from suite.corpus import CHUNKS_PER_PATH, Corpus
from suite.results import Row, Target, agreement, shown, times_at_most, usage
from suite.timing import Times, by_turns
from suite.writes import changes, never

_FEW_PATHS = 50
_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "scores": (f"hybrid by score fusion, top {SHOWN}", {}),
    "keywords": (f"BM25 alone, top {SHOWN}", {"mode": "bm25"}),
}
_ALONE = "not grouped"
_FILTERED = "filtered"
_WRITTEN = "after a write"
_CHECKED = 3


def measure(bench: Bench) -> Iterator[Row]:
    """Measure score fusion and keywords over paths of ten chunks, and over fifty paths in all."""
    few = ceil(len(bench.corpus) / _FEW_PATHS)
    layouts = {
        str(CHUNKS_PER_PATH): (f"{CHUNKS_PER_PATH} chunks a path", CHUNKS_PER_PATH),
        str(_FEW_PATHS): (f"{_FEW_PATHS} paths in all", few),
    }
    for name, (layout, chunks_per_path) in layouts.items():
        corpus = bench.corpus.with_chunks_per_path(chunks_per_path)
        path = bench.folder / f"grouped-{name}.db"
        with hr.Index.open(path, ranking="memory", metadata_index=["stamp"]) as index:
            write(index, corpus.chunks(with_vectors=True, stamped=True))
            made = _Layout(name, layout, corpus, index)
            for way in _WAYS:
                yield _row(bench, made, way)
        path.unlink()


@dataclass(frozen=True, slots=True)
class _Layout:
    """An index of a corpus with a given path length."""

    name: str
    what: str
    corpus: Corpus
    index: hr.Index


def _row(bench: Bench, layout: _Layout, way: str) -> Row:
    key = f"grouped-{layout.name}-{way}"
    what, options = _WAYS[way]
    corpus, index = layout.corpus, layout.index
    retriever = hr.Retriever(
        index,
        embedder=Ready(corpus.questions, corpus.question_vectors),
        ranking=hr.Ranking("spec", matching="extended", fusion="score"),
    )
    numbers = count()

    def write_one() -> None:
        seed = f"{key}-{next(numbers)}"
        index.upsert(changes(corpus, seed, 1, is_new=never))

    calls: dict[str, Callable[[str], Any]] = {}
    before: dict[str, Callable[[], object]] = {}
    for situation, more in {
        "": {},
        _FILTERED: {"filters": {"stamp": {"$lt": corpus.kept}}},
        _WRITTEN: {},
    }.items():
        for grouping in ("path", None):
            name = _name(situation, "" if grouping else _ALONE)
            calls[name] = partial(_search, retriever, group_by=grouping, **options, **more)
            if situation == _WRITTEN:
                before[name] = write_one
    check = _checked(retriever, corpus, options)
    figures = by_turns(calls, corpus.questions, bench.budget, before=before)
    return bench.row(
        key,
        f"{what}, the best of each path; {layout.what}",
        "ms",
        figures,
        targets=tuple(_targets(bench, way, figures, layout.name)) if bench.large else (),
        checks=(check, *usage(figures, "ms")),
    )


def _search(retriever: hr.Retriever, question: str, **options: Any) -> hr.Response:
    return retriever.search(question, limit=SHOWN, candidates=TOP, **options)


def _name(*parts: str) -> str:
    return ", ".join(["hedgerow", *filter(None, parts)])


def _targets(bench: Bench, way: str, figures: dict[str, Times], layout: str) -> Iterator[Target]:
    """Yield the targets. Those in milliseconds apply below a million chunks."""
    grouped, alone = (figures[name] for name in (_name(), _name(_ALONE)))
    there = not bench.million
    if way == "scores":
        yield times_at_most("grouped", 1.4, "not grouped", grouped.p50 / alone.p50)
        if there and layout == str(_FEW_PATHS):
            yield _limit("grouped", 2.0, grouped.p50)
        for situation in (_FILTERED, _WRITTEN) if there else ():
            yield _limit(f"grouped, {situation}", 2.5, figures[_name(situation)].p50)
    elif there:
        yield _limit("grouped, 95 of 100", 0.6, grouped.p95)


def _limit(what: str, milliseconds: float, reached: float) -> Target:
    aim = f"{what}: at most {milliseconds:g} ms"
    return Target(aim, shown(reached, "ms"), reached <= milliseconds / 1e3)


def _checked(retriever: hr.Retriever, corpus: Corpus, options: dict[str, Any]) -> str:
    """Check that no path occurs twice, and that keyword searches find the same best chunk.

    In a hybrid search each leg has its own best chunk of a path, so the first hit may differ.
    """

    def agrees(place: int) -> bool:
        question = corpus.questions[place]
        hits = list(_search(retriever, question, group_by="path", **options))
        alone = list(_search(retriever, question, **options))
        same = not options or [hit.id for hit in hits[:1]] == [hit.id for hit in alone[:1]]
        return same and len({hit.path for hit in hits}) == len(hits)

    what = "each path once, and the first hit that of the search not grouped"
    return agreement(what if options else "each path once", _CHECKED, agrees)
