"""Vectors with other distributions: in tight clusters, and from a model."""

from __future__ import annotations

from collections.abc import Iterator

from suite.bench import Bench
from suite.contenders import TOP, Contender, ours
from suite.contenders.faiss_hnsw import Graph
from suite.contenders.reading import Reading
from suite.corpus import QUESTIONS, Corpus, Text, real_vectors
from suite.results import Row
from suite.shapes import Vectors, tight, tiled

from .vectors import nearest

_WHO: list[type[Contender]] = [ours.Hedgerow, Reading, Graph]


def measure(bench: Bench) -> Iterator[Row]:
    """Measure tight clusters, and real vectors if a folder of them was given."""
    count = len(bench.corpus)
    what = f"vectors in tight clusters, top {TOP}"
    yield _row(bench, "vector-tight", what, *tight(count, QUESTIONS))
    if bench.data:
        given, questions = real_vectors(bench.data)
        more = f", {len(given):,} and copies that were moved a little" * (count > len(given))
        what = f"vectors of real texts ({bench.data.name}{more}), top {TOP}"
        yield _row(bench, "vector-real", what, tiled(given, count), questions[:QUESTIONS])


def _row(bench: Bench, key: str, what: str, vectors: Vectors, questions: Vectors) -> Row:
    """Measure an index of vectors with almost no text."""
    texts = [Text(row, f"{row}.md", "", "", "", "") for row in range(1, len(vectors) + 1)]
    asked = [f"question {number}" for number in range(len(questions))]
    corpus = Corpus(bench.corpus.name, texts, vectors, asked, questions, {})
    folder = bench.folder / key
    folder.mkdir()
    made = Bench(corpus, folder, bench.budget, tell=bench.tell, failures=bench.failures)
    made.make(_WHO)
    with ours.variants(made.path, corpus) as variants:
        row = nearest(made, variants, key, what)
    made.close()
    return row
