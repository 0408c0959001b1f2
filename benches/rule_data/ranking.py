"""The rules of ranking, on collections with judgements: documents, conversations, other languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import read_judgements, read_passages, read_queries
from hedgerow.typing import JudgedMode
from quality_suite import COLLECTIONS, MEASURE, Scoped, scopes
from rule_data import Figure, Without, compared

RANKED = frozenset(
    {
        "function words",
        "names and short words",
        "phrases of parts",
        "short texts",
        "keyword coverage",
        "neighbors",
        "speakers",
        "answers",
    }
)
"""The rules that act on searches, so that an index serves for all of them."""

KINDS = {
    "documents": ("scifact", "cranfield", "cacm", "cisi", "npl", "jb-lme-seed"),
    "conversations": ("locomo-turn", "locomo-session"),
    "other languages": ("zh", "ja", "de", "ru"),
}
"""The kinds of collections. The gain of a rule is that of a kind, its cost that of a collection."""


LEGS: dict[JudgedMode, str] = {"bm25": "keywords", "hybrid": "hybrid"}
"""The modes that are measured, with their names in the table."""


@dataclass(slots=True)
class Values:
    """The measures of a collection's questions in a mode, by rule that is off; "" if none is."""

    collection: str
    mode: JudgedMode
    by_rule: dict[str, list[float]]


def measure_ranking(
    data: Path, rules: Sequence[str], without: Without
) -> Iterator[tuple[str, list[Figure]]]:
    """Yield for each rule its gain on each kind of collections, and on the collection with the worst."""
    if not rules:
        return
    measured = [
        values
        for name, modes in modes_of(data)
        for values in searched(data, name, modes, rules, without)
    ]
    for rule in rules:
        yield rule, list(figures(measured, rule))


def modes_of(data: Path) -> Iterator[tuple[str, list[JudgedMode]]]:
    """Yield each collection that the folder has, with its modes: other languages have no vectors."""
    for kind, names in KINDS.items():
        for name in names:
            folder = data / "lang" / name if kind == "other languages" else data / name
            if folder.is_dir():
                yield name, ["bm25"] if kind == "other languages" else ["bm25", "hybrid"]


def searched(
    data: Path, name: str, modes: Sequence[JudgedMode], rules: Sequence[str], without: Without
) -> list[Values]:
    """Search a collection with every rule, and without each."""
    found = {mode: Values(name, mode, {rule: [] for rule in ("", *rules)}) for mode in modes}
    for scoped in scopes_of(data, name):
        for mode, way in zip(modes, evaluation.best_profile(modes), strict=True):

            def values(way: evaluation.Combination = way, scoped: Scoped = scoped) -> list[float]:
                outcome = evaluation.outcome_of(
                    scoped.index, scoped.task, way, vectors=scoped.vectors
                )
                return [outcome.per_query[query.id][MEASURE] for query in scoped.task.queries]

            found[mode].by_rule[""] += values()
            for rule in rules:
                with without(rule):
                    found[mode].by_rule[rule] += values()
    return list(found.values())


def scopes_of(data: Path, name: str) -> Iterator[Scoped]:
    """Yield the indexes of a collection with their questions."""
    collection = next((one for one in COLLECTIONS if one.folder == name), None)
    if collection is not None:
        yield from scopes(data, collection)
        return
    folder = data / "lang" / name
    index = hr.Index.in_memory()
    index.upsert(read_passages(folder / "passages.jsonl.gz"))
    judgements = read_judgements(folder / "qrels.tsv.gz")
    queries = read_queries(folder / "queries.jsonl.gz")
    yield Scoped(index, evaluation.make_task(index, queries, judgements, "id"), None)


def figures(measured: Sequence[Values], rule: str) -> Iterator[Figure]:
    """Yield the gains of a rule on each kind and mode, and on the collection with the least gain."""
    for kind, names in KINDS.items():
        for mode, leg in LEGS.items():
            of_kind = [one for one in measured if one.collection in names and one.mode == mode]
            if of_kind:
                on = [value for one in of_kind for value in one.by_rule[""]]
                off = [value for one in of_kind for value in one.by_rule[rule]]
                yield compared(kind, f"{MEASURE} {leg}", on, off)
    each = [
        compared(one.collection, f"{MEASURE} {LEGS[one.mode]}", one.by_rule[""], one.by_rule[rule])
        for one in measured
    ]
    yield min(each, key=lambda figure: figure.gain)
