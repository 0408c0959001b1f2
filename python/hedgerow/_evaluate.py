"""`evaluate`: the quality of an index's results for judged queries, as a function."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._checks import checked_callable, checked_flag, checked_path, shown
from ._engine import Index
from ._judged import JudgedQuery, given_judgements, given_queries
from .embedders.base import AnyEmbedder, Embedder
from .errors import InvalidInputError
from .evaluation import (
    MEASURES,
    Combination,
    Outcome,
    ReadyVectors,
    Task,
    combinations,
    embed_once,
    make_task,
    measure,
    outcome_of,
)
from .evaluation import best as best_in
from .rerankers.base import AnyReranker
from .typing import Fusion, JudgedBy, JudgedMode, Judgements, Matching, Progress

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of `evaluate`: an iterable of outcomes, one for each way of searching.

    `task` has the measured queries and judgments, and those that were left out. Each of `outcomes`
    has its `combination`, its `measures` by name (`nDCG@10`, `Recall@10`, `MRR@10`), the measures
    of each query in `per_query`, the `seconds` of the searches, and in `degraded` the number of
    queries with a failed or missing leg. Print it to see a table.
    """

    task: Task
    outcomes: list[Outcome]

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    def __getitem__(self, index: int) -> Outcome:
        return self.outcomes[index]

    def best(self, measure: str = MEASURES[0]) -> Outcome:
        """Return the outcome with the highest mean of a measure. Ties go to the first."""
        _check("measure", [measure], MEASURES)
        return max(self.outcomes, key=lambda outcome: outcome.measures[measure])

    def to_dict(self) -> dict[str, Any]:
        """Return the results in the format of `hedgerow eval --json`."""
        task = self.task
        return {
            "by": task.by,
            "queries": len(task.queries),
            "judgements": task.judged,
            "unasked": task.unasked,
            "unjudged": task.unjudged,
            "withoutRelevant": task.without_relevant,
            "unknown": task.unknown,
            "results": [
                {
                    **outcome.combination._asdict(),
                    **outcome.measures,
                    "degraded": outcome.degraded,
                    "seconds": round(outcome.seconds, 3),
                }
                for outcome in self.outcomes
            ],
        }

    def __str__(self) -> str:
        names = [str(outcome.combination) for outcome in self.outcomes]
        width = max(map(len, names), default=0)
        lines = [" ".join([" " * width, *(f"{name:>9}" for name in MEASURES)])]
        for name, outcome in zip(names, self.outcomes, strict=True):
            figures = (f"{outcome.measures[name]:9.4f}" for name in MEASURES)
            lines.append(" ".join([name.ljust(width), *figures]))
        return "\n".join(lines)


def evaluate(  # noqa: PLR0913 - each has its default
    index: Index | str | os.PathLike[str],
    queries: Mapping[str, str] | Iterable[Mapping[str, Any]] | str | os.PathLike[str],
    judgements: Judgements | str | os.PathLike[str],
    *,
    by: JudgedBy | None = None,
    modes: Sequence[JudgedMode] | None = None,
    matching: Sequence[Matching] = ("spec", "extended"),
    fusion: Sequence[Fusion] = ("rrf", "score"),
    neighbors: Sequence[bool] = (False,),
    reweight: Sequence[bool] = (True,),
    best: bool = True,
    embedder: AnyEmbedder | None = None,
    reranker: AnyReranker | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Search for judged queries in several ways, and measure the first ten results of each.

    This is `hedgerow eval` (docs/cli.md, "eval") as a function. `index` is an open index, or the
    path of a file, which is only read. `queries` is a mapping of ids to texts, an iterable of
    mappings with "id", "text" and optionally "date" and "embedding", or a JSON Lines file of these.
    `judgements` maps the id of each query to a mapping of documents to integers, where values above
    0 mean relevant; or it is a file with lines of query, document and score. Documents are ids of
    chunks, or paths with `by="path"`. Without `by`, the kind that matches more documents is used.

    There is one outcome for each distinct combination of `modes`, `matching`, `fusion`, `neighbors` and
    `reweight`, and one for the profile "best" in each mode, unless `best` is false. Without `modes`
    these are "bm25" and, where queries have vectors, "hybrid". Vectors come from `embedder`, or are in
    the queries. `reranker` reorders the hits of every search. `progress(done, total)` is called with
    numbers of searches.

    Raises MissingExtraError without the extra "eval", InvalidInputError (`invalid_evaluation`) for
    queries and judgements that do not fit each other or the index, and what the embedder raises.
    """
    measure({}, {})  # Report a missing extra before any search.
    asked, judged = given_queries(queries), given_judgements(judgements)
    if by is not None:
        _check("by", [by], ("id", "path"))
    ways = {"modes": modes or (), "matching": matching, "fusion": fusion}
    for option, allowed in _ALLOWED.items():
        _check(option, ways[option], allowed)
    for option, flags in (("neighbors", neighbors), ("reweight", reweight)):
        _check(option, flags, (True, False))
    checked_flag(best, "best")
    if progress is not None:
        checked_callable(progress, "progress")
    opened = (
        index
        if isinstance(index, Index)
        else Index.open(checked_path(index, "index"), read_only=True)
    )
    try:
        searched = _modes(opened, asked, modes, embedder)
        task = make_task(opened, asked, judged, by)
        vectors = _vectors(opened, asked, task, searched, embedder)
        found = combinations(searched, matching, fusion, neighbors, reweight)
        found += best_in(searched) if best else []
        return Evaluation(
            task, _outcomes(opened, task, found, progress, vectors=vectors, reranker=reranker)
        )
    finally:
        if opened is not index:
            opened.close()


_ALLOWED: Mapping[str, Collection[Any]] = {
    "modes": ("bm25", "semantic", "hybrid"),
    "matching": ("spec", "extended"),
    "fusion": ("rrf", "score"),
}


def _check(option: str, values: Iterable[Any], allowed: Collection[Any]) -> None:
    """Raise InvalidInputError unless the value is a sequence of allowed values."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sequence):
        raise InvalidInputError(
            f"{option} must be a list, not {type(values).__name__}", code="invalid_option"
        )
    for value in values:
        if not any(value is one or (value == one and type(value) is type(one)) for one in allowed):
            names = ", ".join(map(repr, allowed))
            raise InvalidInputError(
                f"{option} must be one of {names}, not {shown(value)}", code="invalid_option"
            )
    if not values and option != "modes":
        raise InvalidInputError(f"{option} is empty; give at least one", code="invalid_option")


def _modes(
    index: Index,
    queries: Sequence[JudgedQuery],
    modes: Sequence[JudgedMode] | None,
    embedder: AnyEmbedder | None,
) -> Sequence[JudgedMode]:
    """Return the requested modes, whose vectors must exist, or the default modes."""
    have = embedder is not None or queries[0].vector is not None
    stored = index.stats().vectors > 0
    if not modes:
        return ("bm25", "hybrid") if have and stored else ("bm25",)
    if set(modes) != {"bm25"} and not have:
        raise InvalidInputError(
            "semantic and hybrid need vectors of the queries; give an embedder, put an embedding into "
            'each query, or give modes=["bm25"]',
            code="invalid_evaluation",
        )
    if set(modes) != {"bm25"} and not stored:
        raise InvalidInputError(
            "the index has no vectors to search by meaning; store its chunks with an embedder, or "
            'give modes=["bm25"]',
            code="invalid_evaluation",
        )
    return modes


def _vectors(
    index: Index,
    queries: Sequence[JudgedQuery],
    task: Task,
    modes: Sequence[JudgedMode],
    embedder: AnyEmbedder | None,
) -> Embedder | None:
    """Return the vectors of the queries. None if no mode needs them."""
    if set(modes) == {"bm25"}:
        return None
    if embedder is not None:
        return embed_once(embedder, task.queries, index=index)
    return ReadyVectors(
        [query.text for query in queries], [query.vector or [] for query in queries]
    )


def _outcomes(
    index: Index,
    task: Task,
    found: Iterable[Combination],
    progress: Progress | None,
    **models: Any,
) -> list[Outcome]:
    """Measure each combination; `models` are the embedder and the reranker of `outcome_of`."""
    ways = list(dict.fromkeys(found))
    total = len(task.queries) * len(ways)
    outcomes: list[Outcome] = []

    def step(done: int, of_one: int) -> None:
        if progress is not None:
            progress(len(outcomes) * of_one + done, total)

    for way in ways:
        outcomes.append(  # noqa: PERF401 - `step` reads the length
            outcome_of(index, task, way, progress=step, **models)
        )
    return outcomes
