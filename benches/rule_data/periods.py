"""Measure what a named period gains: nDCG@10 on questions made by rule from LoCoMo's dated turns.

PYTHONPATH=benches python -m rule_data.periods FOLDER

FOLDER has the collection `locomo-turn` (quality_suite.py). A question whose evidence is of one day gets a phrase of a
period with that day in it, in one of the ten languages of the calendar's table, and a question date to which the phrase
is right. Each conversation is an index. `wrong` questions get the phrase of another day of the conversation: they show
what a misread question costs.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import JudgedQuery
from quality_suite import COLLECTIONS, MEASURE, chunks, judgements_of, lines

TABLE = Path(__file__).parents[2] / "rust/engine/src/calendar/names.txt"
TURNS = next(one for one in COLLECTIONS if one.folder == "locomo-turn")
LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "nl", "ru", "zh", "ja")
KINDS = ("day", "weekday", "week", "month", "year")
SEED = 20_260_418


@dataclass(frozen=True, slots=True)
class PeriodQuestion:
    """A question with a phrase appended, and the kind and the language of the phrase."""

    id: str
    scope: str
    text: str
    asked: date
    kind: str
    language: str


def phrases() -> dict[str, dict[str, list[str]]]:
    """Return the phrases of each meaning, by language."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        meaning, *named = line.split("\t")
        of_languages = found.setdefault(meaning, defaultdict(list))
        for language, _, phrase in (one.partition(":") for one in named):
            of_languages[language].append(phrase)
    return found


def questions(data: Path, *, wrong: bool = False) -> list[PeriodQuestion]:
    """Return a question of each kind for each judged question with evidence of one day."""
    corpus = lines(data / TURNS.folder / "corpus.jsonl.gz")
    days = {one["id"]: one["date"] for one in corpus}
    of_scopes: dict[str, set[str]] = defaultdict(set)
    for one in corpus:
        of_scopes[one["scope"]].add(one["date"])
    judged = judgements_of(data, TURNS)
    table, chance = phrases(), random.Random(SEED)
    made = []
    for query in lines(data / TURNS.folder / "queries.jsonl.gz"):
        evidence = {days[name] for name in judged.get(query["id"], ())}
        if len(evidence) != 1:
            continue
        others = sorted(of_scopes[query["scope"]] - evidence)
        day = date.fromisoformat(chance.choice(others) if wrong else evidence.pop())
        for kind in KINDS:
            phrase, asked, language = _phrase(table, kind, day, chance)
            text = f"{query['text']} {phrase}"
            made.append(PeriodQuestion(query["id"], query["scope"], text, asked, kind, language))
    return made


def _phrase(
    table: dict[str, dict[str, list[str]]], kind: str, day: date, chance: random.Random
) -> tuple[str, date, str]:
    """Return a phrase for a period with a day in it, the day on which it is right, and its language."""
    back = chance.randint(1, 3)
    if kind == "day":
        meaning, asked = chance.choice((
            (f"relative day -{min(back, 2)}", day + timedelta(days=min(back, 2))),
            ("past day", day + timedelta(days=back + 1)),
        ))  # fmt: skip
    elif kind == "weekday":
        meaning = f"nearest weekday {day.isoweekday()}"
        asked = day + timedelta(days=chance.randint(1, 7))
    else:
        meaning = chance.choice((f"relative {kind} -1", f"past {kind}"))
        back = 1 if meaning.startswith("relative") else back + 1
        asked = _later(kind, day, back, chance)
    languages = [one for one in LANGUAGES if table[meaning].get(one)]
    language = chance.choice(languages)
    number = back + 1 if kind == "day" else back
    # The plural is the last form of a language that tells the number of its units apart.
    phrase = table[meaning][language][-1 if meaning.startswith("past") else 0]
    return phrase.replace("#", str(number)), asked, language


def _later(kind: str, day: date, back: int, chance: random.Random) -> date:
    if kind == "week":
        monday = day - timedelta(days=day.weekday())
        return monday + timedelta(days=7 * back + chance.randint(0, 6))
    if kind == "year":
        return date(day.year + back, chance.randint(1, 12), chance.randint(1, 28))
    months = day.year * 12 + day.month - 1 + back
    return date(months // 12, months % 12 + 1, chance.randint(1, 28))


def measure(data: Path, *, wrong: bool = False) -> list[tuple[PeriodQuestion, float, float]]:
    """Return each question with its nDCG@10 with the rule and without."""
    made = questions(data, wrong=wrong)
    judged = judgements_of(data, TURNS)
    indexed: dict[str, list[hr.Chunk]] = defaultdict(list)
    for scope, chunk in chunks(data, TURNS):
        indexed[scope].append(chunk)
    values: list[dict[int, float]] = [{}, {}]
    for scope, of_scope in indexed.items():
        index = hr.Index.in_memory()
        index.upsert(of_scope)
        asked = [(at, one) for at, one in enumerate(made) if one.scope == scope]
        queries = [JudgedQuery(str(at), one.text, one.asked.isoformat()) for at, one in asked]
        wanted = {str(at): judged[one.id] for at, one in asked}
        for found, dates in zip(values, (True, False), strict=True):
            found.update(_ndcg(index, queries, wanted, dates=dates))
    return [(one, values[0][at], values[1][at]) for at, one in enumerate(made)]


def _ndcg(
    index: hr.Index,
    queries: Sequence[JudgedQuery],
    judged: dict[str, dict[str, int]],
    *,
    dates: bool,
) -> Iterator[tuple[int, float]]:
    task = evaluation.make_task(index, queries, judged, TURNS.by)
    [way] = evaluation.best_profile(["bm25"])
    outcome = evaluation.outcome_of(index, task, way._replace(dates=dates))
    for name, measures in outcome.per_query.items():
        yield int(name), measures[MEASURE]


if __name__ == "__main__":
    pass
