"""Running one evaluation for the command line, and all that showing it takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import click

from hedgerow import Embedder, Index, IndexStats
from hedgerow._judged import JudgedQuery, read_judgements, read_queries, read_vectors
from hedgerow.evaluation import (
    By,
    Combination,
    JudgedMode,
    Outcome,
    ReadyVectors,
    Task,
    combinations,
    embed_once,
    evaluate,
    make_task,
)
from hedgerow.retriever import Fusion, Matching

from .failures import InterruptedRunError
from .indexes import check_there_is
from .models import embedder_of
from .progress import progress_bar


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user gave; `modes` is empty where none were named."""

    db: str
    queries: str
    judgements: str
    by: By | None
    modes: Sequence[JudgedMode]
    matchings: Sequence[Matching]
    fusions: Sequence[Fusion]
    embedder: str | None
    query_vectors: str | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was measured, on an index of so many chunks, and in how many seconds."""

    db: str
    chunks: int
    task: Task
    outcomes: list[Outcome]
    seconds: float


def run(asked: Asked) -> Evaluation:
    """Search the index in every way asked for, and measure each."""
    if asked.embedder is not None and asked.query_vectors is not None:
        raise click.UsageError("Give --embedder or --query-vectors, not both.")
    check_there_is(asked.db)
    queries = read_queries(asked.queries)
    judgements = read_judgements(asked.judgements)
    started = time.monotonic()
    try:
        with Index.open(asked.db, read_only=True) as index:
            stats = index.stats()
            modes = _modes(asked, queries, stats)
            task = make_task(index, queries, judgements, asked.by)
            vectors = _vectors(asked, queries, task) if set(modes) - {"bm25"} else None
            ways = combinations(modes, asked.matchings, asked.fusions)
            outcomes = _outcomes(index, task, ways, vectors)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError("interrupted: nothing was written") from stop
    seconds = round(time.monotonic() - started, 3)
    return Evaluation(asked.db, stats.chunks, task, outcomes, seconds)


def _modes(asked: Asked, queries: Sequence[JudgedQuery], stats: IndexStats) -> Sequence[JudgedMode]:
    """Give the modes asked for, if there are vectors for them, or those that there can be."""
    have = (
        asked.embedder is not None
        or asked.query_vectors is not None
        or queries[0].vector is not None
    )
    if not asked.modes:
        return ("bm25", "hybrid") if have and stats.vectors else ("bm25",)
    if set(asked.modes) == {"bm25"}:
        return asked.modes
    if not have:
        raise click.UsageError(
            "semantic and hybrid need vectors of the queries: give --embedder NAME or "
            "--query-vectors FILE.npy, put an embedding into each query, or give --modes bm25."
        )
    if not stats.vectors:
        raise click.UsageError(
            f"{asked.db} has no vectors to search by meaning; make them with: hedgerow reembed "
            f"--db {asked.db} --embedder NAME, or give --modes bm25."
        )
    return asked.modes


def _vectors(asked: Asked, queries: Sequence[JudgedQuery], task: Task) -> Embedder:
    """Give the vectors of the queries: from a model, a file, or the queries themselves."""
    texts = [query.text for query in queries]
    if asked.query_vectors is not None:
        return ReadyVectors(texts, read_vectors(asked.query_vectors, len(texts)))
    with embedder_of(asked.embedder) as model:
        if model is None:
            return ReadyVectors(texts, [query.vector or [] for query in queries])
        with progress_bar("Embedding") as progress:
            return embed_once(model, task.queries, progress)


def _outcomes(
    index: Index, task: Task, ways: Sequence[Combination], vectors: Embedder | None
) -> list[Outcome]:
    total = len(task.queries) * len(ways)
    outcomes: list[Outcome] = []
    with progress_bar("Searching") as progress:

        def step(done: int, of_one: int) -> None:
            if progress is not None:
                progress(len(outcomes) * of_one + done, total)

        for way in ways:
            outcomes.append(evaluate(index, task, way, vectors=vectors, progress=step))  # noqa: PERF401 - `step` looks at it
    return outcomes
