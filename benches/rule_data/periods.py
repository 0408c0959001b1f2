"""Periods that a question names: nDCG@10 on questions made by rule from LoCoMo's dated turns.

A question whose evidence is of one day gets a phrase of a
period with that day in it, in one of the ten languages of the calendar's table, and a question date that makes the
phrase right. Each conversation is an index. `wrong` questions get the phrase of another day of the conversation: they show
the cost of a misread question.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import JudgedQuery
from quality_suite import COLLECTIONS, MEASURE, chunks, judgements_of, lines
from rule_data import Figure, Without, compared

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


def measure_named_periods(data: Path, without: Without) -> list[Figure]:
    """Return the gain of the boost, by the kind of the period and by language, and its cost for misread questions."""
    return [
        *_by_kind(data, without, "named periods"),
        *_by_language(data, without, "named periods"),
        _of_set(data, without, "named periods", wrong=True),
        _as_asked(data, without, "named periods"),
    ]


def measure_words_of_periods(data: Path, without: Without) -> list[Figure]:
    """Return the gain of not searching for the words of a period."""
    return [
        _of_set(data, without, "words of periods"),
        _of_set(data, without, "words of periods", wrong=True),
        _as_asked(data, without, "words of periods"),
    ]


def measure_period_lists(data: Path, without: Without) -> list[Figure]:
    """Return the gain for queries that are a phrase alone, for which the memories of the period are right.

    Each turn of a conversation is a memory.
    """
    values: list[list[float]] = [[], []]
    table, chance = phrases(), random.Random(SEED)
    talks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in lines(data / TURNS.folder / "corpus.jsonl.gz"):
        talks[one["scope"]].append(one)
    for turns in talks.values():
        with TemporaryDirectory() as folder, _root_of(Path(folder), turns) as root:
            days = sorted({date.fromisoformat(one["date"]) for one in turns})
            asked = [
                (kind, *_phrase(table, kind, day, chance), day) for day in days for kind in KINDS
            ]
            _of_lists(root, turns, asked, values[0])
            with without("period lists"):
                _of_lists(root, turns, asked, values[1])
    return [compared("conversations", f"{MEASURE}, a phrase alone", *values)]


def _root_of(folder: Path, turns: list[dict[str, Any]]) -> hr.MemoryRoot:
    root = hr.MemoryRoot.init(folder)
    for turn in turns:
        file = folder / "notes" / f"{turn['id'].rpartition('/')[2].replace(':', '-')}.md"
        file.write_text(f"---\ndate: {turn['date']}\n---\n\n{turn['content']}\n", encoding="utf-8")
    root.sync()
    return root


def _of_lists(
    root: hr.MemoryRoot,
    turns: list[dict[str, Any]],
    asked: list[tuple[str, str, date, str, date]],
    values: list[float],
) -> None:
    """Add the measure of each phrase: the memories of the days that it means are right."""
    for kind, phrase, when, _, day in asked:
        right = {
            f"notes/{turn['id'].rpartition('/')[2].replace(':', '-')}.md": 1
            for turn in turns
            if _is_same(kind, date.fromisoformat(turn["date"]), day)
        }
        found = root.recall(phrase, limit=10, question_date=when, sync=False)
        measured = evaluation.measure({"": [one.file for one in found]}, {"": right})
        values.append(measured[""][MEASURE])


def _is_same(kind: str, one: date, other: date) -> bool:
    """Whether two days are in the same period."""
    if kind == "week":
        return one.isocalendar()[:2] == other.isocalendar()[:2]
    if kind == "month":
        return (one.year, one.month) == (other.year, other.month)
    return one.year == other.year if kind == "year" else one == other


Pair = tuple[PeriodQuestion, float, float]


def measure(data: Path, without: Without, rule: str, *, wrong: bool = False) -> list[Pair]:
    """Return each question with its nDCG@10 with a rule and without it."""
    made = questions(data, wrong=wrong)
    return list(zip(made, *_searched(data, made, without, rule), strict=True))


def _searched(
    data: Path, made: Sequence[PeriodQuestion], without: Without, rule: str
) -> tuple[list[float], list[float]]:
    judged = judgements_of(data, TURNS)
    indexed: dict[str, list[hr.Chunk]] = defaultdict(list)
    for scope, chunk in chunks(data, TURNS):
        indexed[scope].append(chunk)
    on: dict[int, float] = {}
    off: dict[int, float] = {}
    for scope, of_scope in indexed.items():
        index = hr.Index.in_memory()
        index.upsert(of_scope)
        asked = [(at, one) for at, one in enumerate(made) if one.scope == scope]
        queries = [JudgedQuery(str(at), one.text, one.asked.isoformat()) for at, one in asked]
        task = evaluation.make_task(
            index, queries, {str(at): judged[one.id] for at, one in asked}, TURNS.by
        )
        on.update(_ndcg(index, task))
        with without(rule):
            off.update(_ndcg(index, task))
    return [on[at] for at in range(len(made))], [off[at] for at in range(len(made))]


def _ndcg(index: hr.Index, task: evaluation.Task) -> Iterator[tuple[int, float]]:
    [way] = evaluation.best_profile(["bm25"])
    outcome = evaluation.outcome_of(index, task, way)
    for name, measures in outcome.per_query.items():
        yield int(name), measures[MEASURE]


def _figure(name: str, pairs: Sequence[Pair]) -> Figure:
    measure = f"{MEASURE} keywords, {name}"
    return compared("conversations", measure, [one[1] for one in pairs], [one[2] for one in pairs])


def _by_kind(data: Path, without: Without, rule: str) -> list[Figure]:
    pairs = measure(data, without, rule)
    return [_figure(kind, [one for one in pairs if one[0].kind == kind]) for kind in KINDS]


def _by_language(data: Path, without: Without, rule: str) -> list[Figure]:
    pairs = [one for one in measure(data, without, rule) if one[0].kind != "year"]
    return [_figure(name, [one for one in pairs if one[0].language == name]) for name in LANGUAGES]


def _of_set(data: Path, without: Without, rule: str, *, wrong: bool = False) -> Figure:
    name = "a phrase of another day" if wrong else "a phrase of the day"
    return _figure(name, measure(data, without, rule, wrong=wrong))


def _as_asked(data: Path, without: Without, rule: str) -> Figure:
    """Return the gain for LoCoMo's own questions, which name days and months."""
    judged = judgements_of(data, TURNS)
    queries = lines(data / TURNS.folder / "queries.jsonl.gz")
    made = [
        PeriodQuestion(
            one["id"], one["scope"], one["text"], date.fromisoformat(one["date"]), "", "en"
        )
        for one in queries
        if one["id"] in judged
    ]
    pairs = list(zip(made, *_searched(data, made, without, rule), strict=True))
    return _figure("as asked", pairs)
