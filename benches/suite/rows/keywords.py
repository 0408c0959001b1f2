"""BM25: the same ranking as FTS5, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import quantiles
from typing import Any

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import TOP
from suite.results import Row, Target, agreement, part_of
from suite.timing import Times, by_turns

_KINDS = {
    "OR": ("words", f"BM25, words joined by OR, top {TOP}"),
    "new": ("words", f"BM25, OR, each question asked for the first time, top {TOP}"),
    "prefix": ("prefixes", f"BM25, one word a prefix, top {TOP}"),
    "phrase": ("operators", f"BM25, a phrase, top {TOP}"),
    "AND": ("operators", f"BM25, two words joined by AND, top {TOP}"),
    "NOT": ("operators", f"BM25, a word NOT another, top {TOP}"),
}


def measure(bench: Bench) -> Iterator[Row]:
    """Measure every kind of query."""
    asked = {"OR": bench.corpus.questions, **bench.corpus.asked}
    for kind, (method, what) in _KINDS.items():
        texts = asked[kind]
        if not texts:
            continue
        calls = bench.calls(method)
        warm = asked["OR"] if kind == "new" else texts
        bench.read_files()
        figures = by_turns(calls, texts, bench.budget, warm=warm)
        checks = [_same(bench, texts)] if "FTS5" in calls else []
        if kind == "OR" and "FTS5" in calls:
            checks.append(_matched(bench, texts))
        yield bench.row(
            f"bm25-{kind}",
            what,
            "ms",
            figures,
            targets=tuple(_targets(bench, kind, figures)) if bench.large else (),
            checks=tuple(checks),
            absent=bench.missing(method),
        )


def _targets(bench: Bench, kind: str, figures: dict[str, Times]) -> Iterator[Target]:
    if kind in {"OR", "new", "prefix"}:
        yield part_of("FTS5", 1 / 30 if bench.million else 1 / 15, figures)
    else:
        yield part_of("FTS5", 1, figures)
        yield part_of("FTS5", 1 / 3, figures)
    if kind in {"OR", "new"}:
        yield part_of("tantivy", 1.2, figures)


def _same(bench: Bench, texts: list[str]) -> str:
    """Check that every row, position and score equals that of FTS5."""
    index: hr.Index = bench.present["hedgerow"].index
    bare = bench.present["FTS5"]

    def agrees(place: int) -> bool:
        ours = [(int(hit.id), hit.score) for hit in index.search_bm25(texts[place], TOP)]
        theirs: list[Any] = bare.words(texts[place])
        return ours == [(row, -score) for row, score in theirs]

    return agreement("ids, order and scores identical to FTS5", len(texts), agrees)


def _matched(bench: Bench, texts: list[str]) -> str:
    """Return the share of the corpus that a question matches, as text."""
    bare = bench.present["FTS5"]
    count = "SELECT count(*) FROM fts WHERE fts MATCH ?"
    matches = filter(None, (bare.matches[text] for text in texts))
    shares = [
        bare.connection.execute(count, (match,)).fetchone()[0] / len(bench.corpus)
        for match in matches
    ]
    cuts = quantiles(shares, n=20)
    return f"a question matches {cuts[9]:.1%} of the chunks, one in 20 {cuts[18]:.0%} or more"
