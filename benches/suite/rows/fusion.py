"""The cost of the ranking "best" compared with that of the specification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN, TOP
from suite.results import Row, times_at_most
from suite.timing import by_turns

_RANKINGS: dict[str, dict[str, Any]] = {
    "hedgerow, by scores": hr.Ranking("spec", matching="extended", fusion="score"),
    "hedgerow, by ranks": hr.Ranking("spec"),
}


def measure(bench: Bench) -> Iterator[Row]:
    """Measure ungrouped searches, and searches grouped by path."""
    yield _fused(bench, "fusion", {})
    yield _fused(bench, "fusion-grouped", {"group_by": "path"})


def _fused(bench: Bench, key: str, options: dict[str, Any]) -> Row:
    """Measure the same questions with both rankings.

    At any size, "best" may cost only a little more.
    """
    ours = bench.present["hedgerow"]
    retrievers = {
        name: hr.Retriever(ours.index, embedder=ours.ready, ranking=ranking)
        for name, ranking in _RANKINGS.items()
    }
    calls = {
        name: lambda question, retriever=retriever: retriever.search(
            question, limit=SHOWN, candidates=TOP, **options
        )
        for name, retriever in retrievers.items()
    }
    figures = by_turns(calls, bench.corpus.questions, bench.budget)
    scores, ranks = (times.p50 for times in figures.values())
    what = f"hybrid, top {SHOWN}: extended matching and score fusion, beside the specification's"
    grouped = ", the best of each path" if options else ""
    target = times_at_most("by scores", 1.15, "by ranks", scores / ranks)
    return bench.row(key, what + grouped, "ms", figures, targets=(target,))
