"""Questions of kinds that collections rarely have, made by rule: short names, words with punctuation, another language."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from hedgerow import evaluation
from hedgerow._judged import JudgedQuery, read_queries
from quality_suite import COLLECTIONS, MEASURE, Scoped, scopes
from rule_data import Figure, Without, compared

DOCUMENTS = COLLECTIONS[:5]

SHORT_NAME = re.compile(r"(?<=[a-z] )[A-Z][a-z](?= [a-z])")
"""A word of two letters with a capital one, within a sentence."""

COMPOUND = re.compile(r"(?<!\S)[A-Za-z0-9]+(?:[-./_][A-Za-z0-9]+)+(?=[\s,;)]|\.\s|$)")
"""A word with punctuation inside."""

MOST = 3
"""The most documents with the word of a question: for a frequent word, any document would be an answer."""

EACH = 200
"""The questions of a collection."""


def measure_short_names(data: Path, without: Without) -> list[Figure]:
    """Return the gain of searching names of two letters, together with a frequent word of the document."""
    found = known_items(data, SHORT_NAME, lambda name, common: f"what about {name} and {common}?")
    return both(found, without, "names and short words", "documents, names of two letters")


def measure_compounds(data: Path, without: Without) -> list[Figure]:
    """Return the gain of phrases for words with punctuation inside: documents with exactly this word."""
    found = known_items(data, COMPOUND, lambda compound, _: compound)
    return both(found, without, "phrases of parts", "documents, words with punctuation")


def known_items(
    data: Path, pattern: re.Pattern[str], question: Callable[[str, str], str]
) -> list[Scoped]:
    """Return questions for the documents with a rare match of a pattern, and a frequent word of one of them."""
    found = []
    for scoped in (one for collection in DOCUMENTS for one in scopes(data, collection)):
        holding: dict[str, dict[str, int]] = {}
        words = Counter[str]()
        texts = {chunk.id: chunk.content for chunk in scoped.index.chunks()}
        for name, text in texts.items():
            words.update(set(re.findall(r"[a-z]{5,}", text)))
            for match in set(pattern.findall(text)):
                holding.setdefault(match, {})[name] = 1
        rare = sorted(one for one, names in holding.items() if len(names) <= MOST)
        queries = []
        for match in rare[:: max(1, len(rare) // EACH)]:
            own = re.findall(r"[a-z]{5,}", texts[min(holding[match])])
            common = max(sorted(set(own)), key=words.__getitem__, default="")
            queries.append(JudgedQuery(match, question(match, common)))
        if queries:
            judged = {one.id: holding[one.id] for one in queries}
            task = evaluation.make_task(scoped.index, queries, judged, "id")
            found.append(Scoped(scoped.index, task, None))
    return found


def measure_foreign_questions(data: Path, without: Without) -> list[Figure]:
    """Return the gain of weighing keywords by coverage, for questions in another language.

    A question has its own vector and the text of a German one, as if a multilingual model had embedded it: its
    words match by accident.
    """
    texts = itertools.cycle(one.text for one in read_queries(data / "lang/de/queries.jsonl.gz"))
    found = []
    for collection in DOCUMENTS:
        for scoped in scopes(data, collection):
            foreign = [
                one._replace(text=f"{number} {next(texts)}")
                for number, one in enumerate(scoped.task.queries)
            ]
            vectors = list(scoped.vectors.embed([one.text for one in scoped.task.queries]))
            task = evaluation.make_task(scoped.index, foreign, scoped.task.judgements, "id")
            ready = evaluation.ReadyVectors([one.text for one in foreign], vectors)
            found.append(Scoped(scoped.index, task, ready))
    return both(found, without, "keyword coverage", "documents, German questions", "hybrid")


def both(
    found: Sequence[Scoped], without: Without, rule: str, name: str, mode: str = "bm25"
) -> list[Figure]:
    """Compare the searches with a rule and without it."""
    on = searched(found, mode)
    with without(rule):
        off = searched(found, mode)
    return [compared(name, MEASURE, on, off)]


def searched(found: Sequence[Scoped], mode: str) -> list[float]:
    """Return the measure of each question."""
    [way] = evaluation.best_profile([mode])  # type: ignore[list-item]
    return [
        value[MEASURE]
        for scoped in found
        for value in evaluation.outcome_of(
            scoped.index, scoped.task, way, vectors=scoped.vectors
        ).per_query.values()
    ]
