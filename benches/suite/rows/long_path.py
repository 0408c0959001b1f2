"""Chunks written into one long path: the search after each write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN, TOP
from suite.contenders.ours import Ready, write
from suite.results import Row, Target, shown, times_at_most, usage
from suite.timing import as_many, by_turns, rounds
from suite.writes import always, changes

_LONGEST = 80_000
_WRITES = 1_000
_ROUNDS = 5
_WARM = 3


def measure(bench: Bench) -> Iterator[Row]:
    """Compare one path with four fifths of the chunks, at most 80,000, with paths of ten chunks."""
    long = min(_LONGEST, len(bench.corpus) * 4 // 5)
    corpus = bench.corpus.with_chunks_per_path(long, rows=long)
    paths = {"": corpus.texts[0].path, "a short path": corpus.texts[-1].path}
    file = bench.folder / "long-path.db"
    with hr.Index.open(file, ranking="memory") as index:
        write(index, corpus.chunks(with_vectors=True))
        retriever = hr.Retriever(index, embedder=Ready(corpus.questions, corpus.question_vectors))
        numbers = count()

        def add(path: str, chunks: int) -> None:
            seed = f"long-path-{next(numbers)}"
            index.upsert(changes(corpus, seed, chunks, is_new=always, path=path))

        def settle(path: str, chunks: int) -> None:
            """Warm up with searches that follow no write, then write."""
            for _ in range(_WARM):
                _search(retriever, corpus.questions[0], group_by="path")
            add(path, chunks)

        grouped = partial(_search, retriever, group_by="path")
        alone = partial(_search, retriever)
        single: dict[str, Callable[[str], Any]] = {
            "hedgerow": grouped,
            "hedgerow, a short path": grouped,
            "hedgerow, not grouped": alone,
            "hedgerow, a short path, not grouped": alone,
            "hedgerow, no write": grouped,
        }
        before: dict[str, Callable[[], object]] = {
            name: partial(add, paths["a short path" if "short" in name else ""], 1)
            for name in single
            if "no write" not in name
        }
        questions = as_many(corpus.questions, _WRITES)
        figures = by_turns(single, questions, bench.budget, before=before)
        batch = f"hedgerow, {_WRITES:,} in one transaction"
        once = {batch: partial(grouped, corpus.questions[0])}
        figures |= rounds(
            once,
            _ROUNDS,
            budget=bench.budget,
            before={batch: partial(settle, paths[""], _WRITES)},
        )
    file.unlink()
    ours, short = figures["hedgerow"], figures["hedgerow, a short path"]
    reached = figures[batch].p50
    targets = [times_at_most("the long path", 1.2, "a short path", ours.p50 / short.p50)]
    if not bench.million:
        aim = f"{_WRITES:,} in one transaction: at most 20 ms"
        targets.append(Target(aim, shown(reached, "ms"), reached <= 20e-3))
    yield bench.row(
        "long-path",
        f"hybrid, the best of each path: the search after a write into a path of {long:,} chunks",
        "ms",
        figures,
        targets=tuple(targets) if bench.large else (),
        checks=(
            f"{ours.calls:,} of {_WRITES:,} chunks written one by one in time",
            *usage(figures, "ms"),
        ),
    )


def _search(retriever: hr.Retriever, question: str, **options: Any) -> hr.Response:
    return retriever.search(question, limit=SHOWN, candidates=TOP, **options)
