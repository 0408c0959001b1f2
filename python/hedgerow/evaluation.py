"""The quality of an index's results for judged queries, for each way of searching.

`hedgerow.evaluate` and `hedgerow eval` (docs/cli.md, "eval") use it. The measures are those of the
package ir-measures at depth 10: nDCG, the share of relevant documents found, and the reciprocal of
the first relevant rank.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from ._checks import checked_callable, checked_flag, checked_path, shown
from ._dual import run
from ._engine import Index
from ._extras import imports_of
from ._judged import JudgedQuery, given_judgements, given_queries
from ._profiles import PROFILES, profile_of
from ._retrieval.embedding import admission, own_admission
from .embedders.base import AnyEmbedder, Embedder, Embeddings
from .errors import InvalidInputError
from .ranking import Ranking
from .rerankers.base import AnyReranker
from .retriever import Retriever
from .typing import Fusion, JudgedBy, JudgedMode, Judgements, Matching, Profile, Progress

__all__ = ["Combination", "JudgedQuery", "Outcome", "Task"]
__dir__ = partial(sorted, __all__)


DEPTH = 10
MEASURES = (f"nDCG@{DEPTH}", f"Recall@{DEPTH}", f"MRR@{DEPTH}")

# The number of queries embedded or searched between two progress updates.
_BLOCK = 256


class Combination(NamedTuple):
    """A way of searching. Fields that its mode does not use are None."""

    matching: Matching | None
    mode: JudgedMode
    fusion: Fusion | None
    neighbors: bool = False
    reweight: bool = True
    speakers: bool = False
    dates: bool = False

    @property
    def profile(self) -> Profile | None:
        """The profile with these options, or None.

        Fusion does not matter for a single leg, nor matching for search by meaning.
        """
        of_best = PROFILES["best"]
        return profile_of(
            matching=self.matching or of_best["matching"],
            fusion=self.fusion or "rrf",
            neighbors=self.neighbors,
            speakers=self.speakers,
            dates=self.dates,
            reweight=self.reweight,
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """The name of each part. "" if it has no meaning or is the specification's default."""
        return (
            self.matching or "",
            self.mode,
            self.fusion or "",
            "neighbors" if self.neighbors else "",
            "" if self.reweight else "not reweighted",
            ", ".join(name for name in ("speakers", "dates") if getattr(self, name)),
        )

    def __str__(self) -> str:
        return " ".join(part for part in self.parts if part)


def combinations(
    modes: Sequence[JudgedMode],
    matchings: Sequence[Matching],
    fusions: Sequence[Fusion],
    neighbors: Sequence[bool] = (False,),
    reweight: Sequence[bool] = (True,),
) -> list[Combination]:
    """Return all distinct combinations. Options that a mode does not use are None.

    A single leg has nothing to fuse, and search by meaning has no words to match. With neighbors,
    scores are added, so a single leg is scored according to `fusion`.
    """
    found = [
        Combination(
            matching if mode != "semantic" else None,
            mode,
            fusion if mode == "hybrid" or beside else None,
            beside,
            multiplied,
        )
        for matching in matchings
        for mode in modes
        for fusion in fusions
        for beside in neighbors
        for multiplied in reweight
    ]
    return list(dict.fromkeys(found))


def best_profile(modes: Sequence[JudgedMode]) -> list[Combination]:
    """Return the profile "best" in each mode."""
    way = PROFILES["best"]
    found = combinations(
        modes, [way["matching"]], [way["fusion"]], [way["neighbors"]], [way["reweight"]]
    )
    return [one._replace(speakers=way["speakers"], dates=way["dates"]) for one in found]


@dataclass(frozen=True, slots=True)
class Task:
    """The measurable queries, their judgments, and everything that was left out.

    `judgements` are those of `queries`, each of which has a relevant document. `unasked` are the
    ids of judged queries without a query text, `unjudged` those of queries without judgments,
    `without_relevant` those of queries without a relevant document. `unknown` are judged documents
    that are not in the index. They count as not found.
    """

    by: JudgedBy
    queries: list[JudgedQuery]
    judgements: Judgements
    unasked: list[str]
    unjudged: list[str]
    without_relevant: list[str]
    unknown: list[str]

    @property
    def judged(self) -> int:
        """The number of judgments."""
        return sum(len(documents) for documents in self.judgements.values())


def make_task(
    index: Index, queries: Sequence[JudgedQuery], judgements: Judgements, by: JudgedBy | None = None
) -> Task:
    """Match queries with judgments, and find the judged documents in the index.

    Documents are ids of chunks, or paths. Without `by`, the kind that matches more of them is used,
    and ids in a tie. Raises InvalidInputError if nothing is left to measure.
    """
    asked = {query.id for query in queries}
    relevant = {
        name for name, documents in judgements.items() if any(n > 0 for n in documents.values())
    }
    kept = [query for query in queries if query.id in relevant]
    if not kept:
        raise InvalidInputError(
            f"none of the {len(queries):,} queries has a relevant document among the judgements of "
            f'{len(judgements):,} queries, the first of which is "{next(iter(judgements), "")}"; '
            "the judgements must name the ids of these queries",
            code="invalid_evaluation",
        )
    of_kept = {query.id: judgements[query.id] for query in kept}
    documents = list(dict.fromkeys(name for found in of_kept.values() for name in found))
    held = _held(index, documents, by)
    best = max(held, key=lambda way: len(held[way]))
    if not held[best]:
        ways = " or the ".join(held)
        raise InvalidInputError(
            f'none of the {len(documents):,} judged documents, such as "{documents[0]}", is the '
            f"{ways} of a chunk in the index; index the judged collection, or name its documents as "
            "the index does",
            code="invalid_evaluation",
        )
    return Task(
        by=best,
        queries=kept,
        judgements=of_kept,
        unasked=[name for name in judgements if name not in asked],
        unjudged=[query.id for query in queries if query.id not in judgements],
        without_relevant=[
            query.id for query in queries if query.id in judgements and query.id not in relevant
        ],
        unknown=[name for name in documents if name not in held[best]],
    )


def _held(index: Index, documents: Sequence[str], by: JudgedBy | None) -> dict[JudgedBy, set[str]]:
    """Return the documents that are in the index, as ids and as paths. Ids come first."""
    held: dict[JudgedBy, set[str]] = {}
    if by != "path":
        held["id"] = {name for name in documents if index.get(name) is not None}
        if len(held["id"]) == len(documents):
            return held
    if by != "id":
        held["path"] = {chunk.path for chunk in index.chunks()} & set(documents)
    return held


class ReadyVectors:
    """An embedder with precomputed vectors. If texts are equal, the first vector is used."""

    def __init__(self, texts: Sequence[str], rows: Embeddings, name: str | None = None) -> None:
        self.name = name
        self._rows: dict[str, Any] = {}
        for text, row in zip(texts, rows, strict=True):
            self._rows.setdefault(text, row)

    def embed(self, texts: Sequence[str], /) -> list[Any]:
        """Return the row of each text. Raises KeyError for an unknown text."""
        return [self._rows[text] for text in texts]


def embed_once(
    embedder: AnyEmbedder,
    queries: Sequence[JudgedQuery],
    progress: Progress | None = None,
    *,
    index: Index | None = None,
) -> ReadyVectors:
    """Embed the queries once, so that every combination searches with equal vectors.

    The embedder is used as for the vectors of `index`. Raises the errors of the embedder, because
    an evaluation without its vectors would measure something else.
    """
    texts = list(dict.fromkeys(query.text for query in queries))
    admitted = own_admission(embedder) if index is None else run(admission(index, embedder))
    rows: list[Any] = []
    for block in _blocks(texts):
        rows.extend(run(admitted.forms.queries.rows(block)))
        if progress is not None:
            progress(len(rows), len(texts))
    return ReadyVectors(texts, rows, admitted.name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of a combination.

    `measures` are means over all queries by the names in `MEASURES`, and `per_query` has the
    measures by query id. `seconds` is the time of the searches without embedding. `degraded` is the
    number of queries without a vector in a mode with vectors, and of queries with a failed leg.
    """

    combination: Combination
    measures: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    seconds: float
    degraded: int


def outcome_of(  # noqa: PLR0913 - each has its default
    index: Index,
    task: Task,
    combination: Combination,
    *,
    vectors: Embedder | None = None,
    reranker: AnyReranker | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Search for every query of the task in one way, and measure the hits.

    `reranker` reorders the hits of every query. `progress(done, total)` is called with numbers of queries. Raises what `search_many` raises.
    """
    retriever = Retriever(
        index,
        embedder=vectors,
        reranker=reranker,
        ranking=Ranking(
            combination.profile or "spec",
            matching=combination.matching or "spec",
            fusion=combination.fusion or "rrf",
            neighbors=combination.neighbors,
            speakers=combination.speakers,
            dates=combination.dates,
            reweight=combination.reweight,
        ),
    )
    rankings: dict[str, list[str]] = {}
    degraded, seconds = 0, 0.0
    for block in _blocks(task.queries):
        started = perf_counter()
        responses = retriever.search_many(
            [query.text for query in block],
            question_date=[query.date for query in block],
            mode=combination.mode,
            limit=DEPTH,
            group_by="path" if task.by == "path" else None,
        )
        seconds += perf_counter() - started
        for query, response in zip(block, responses, strict=True):
            trace = response.trace
            whole = trace.embedder_used or combination.mode == "bm25"
            degraded += not whole or trace.error_stage is not None
            rankings[query.id] = [getattr(hit, task.by) for hit in response]
        if progress is not None:
            progress(len(rankings), len(task.queries))
    per_query = measure(rankings, task.judgements)
    means = {
        name: sum(values[name] for values in per_query.values()) / len(per_query)
        for name in MEASURES
    }
    return Outcome(combination, means, per_query, seconds, degraded)


def measure(
    rankings: Mapping[str, Sequence[str]], judgements: Judgements
) -> dict[str, dict[str, float]]:
    """The measures of each judged query, whose ranking is a list of documents, best first.

    Raises MissingExtraError without the extra "eval".
    """
    with imports_of("eval", needed_by="evaluation"):
        import ir_measures  # noqa: PLC0415 - comes with the extra
    wanted = (ir_measures.nDCG, ir_measures.R, ir_measures.RR)
    kinds = {one @ DEPTH: name for one, name in zip(wanted, MEASURES, strict=True)}
    # Ranks serve as scores, because equal scores would be reordered.
    run = {
        query: {name: float(-rank) for rank, name in enumerate(ranking)}
        for query, ranking in rankings.items()
    }
    found: dict[str, dict[str, float]] = {query: {} for query in judgements}
    for metric in ir_measures.iter_calc(list(kinds), judgements, run):
        found[metric.query_id][kinds[metric.measure]] = float(metric.value)
    return found


def _blocks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _BLOCK):
        yield items[start : start + _BLOCK]


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
        found += best_profile(searched) if best else []
        return Evaluation(
            task, outcomes_of(opened, task, found, progress, vectors=vectors, reranker=reranker)
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


def outcomes_of(
    index: Index,
    task: Task,
    found: Iterable[Combination],
    progress: Progress | None,
    **models: Any,
) -> list[Outcome]:
    """Measure each distinct combination; `models` are the vectors and the reranker of `outcome_of`.

    `progress(done, total)` is called with numbers of searches.
    """
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
