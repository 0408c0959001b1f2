"""Speakers: LoCoMo's turns with the speaker in the text, and its questions in the first person."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import JudgedQuery, read_judgements
from quality_suite import COLLECTIONS, MEASURE, chunks, lines
from rule_data import Figure, Without, compared

TURNS = next(one for one in COLLECTIONS if one.folder == "locomo-turn")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a conversation, its questions, and their evidence."""

    turns: list[hr.Chunk]
    questions: list[JudgedQuery]
    judgements: dict[str, dict[str, int]]


def measure_speaker_names(data: Path, without: Without) -> list[Figure]:
    """Return the gain of reading the speaker from the beginning of a turn, where no metadata has it."""

    def named(turn: hr.Chunk) -> hr.Chunk:
        speaker = turn.metadata["speaker"]
        return replaced(turn, content=f"{speaker}: {turn.content}", metadata={})

    talks = [
        Conversation([named(turn) for turn in one.turns], one.questions, one.judgements)
        for one in conversations(data)
    ]
    on = searched(talks, lambda _: None)
    with without("speaker names"):
        off = searched(talks, lambda _: None)
    return [compared("conversations", f"{MEASURE} keywords, names in the text", on, off)]


def measure_first_person(data: Path, without: Without) -> list[Figure]:
    """Return the gain for questions of a speaker: *I* replaces the name."""
    talks, askers = [], {}
    for one in conversations(data):
        speakers = sorted({str(turn.metadata["speaker"]) for turn in one.turns})
        questions = []
        for question in one.questions:
            named = [name for name in speakers if re.search(rf"\b{name}\b", question.text)]
            if len(named) == 1:
                text = re.sub(rf"\b{named[0]}\W?s\b", "my", question.text)
                text = re.sub(rf"\b{named[0]}\b", "I", text)
                questions.append(question._replace(text=text))
                askers[question.id] = named[0]
        talks.append(Conversation(one.turns, questions, one.judgements))
    on = searched(talks, askers.get)
    with without("first person"):
        off = searched(talks, askers.get)
    return [compared("conversations", f"{MEASURE} keywords, asked by a speaker", on, off)]


def conversations(data: Path) -> Iterator[Conversation]:
    """Yield LoCoMo's conversations."""
    turns: dict[str, list[hr.Chunk]] = {}
    for scope, turn in chunks(data, TURNS):
        turns.setdefault(scope, []).append(replaced(turn, embedding=None))
    judgements = read_judgements(data / TURNS.folder / "qrels.tsv.gz")
    queries: dict[str, list[JudgedQuery]] = {}
    for keys in lines(data / TURNS.folder / "queries.jsonl.gz"):
        if keys["id"] in judgements:
            queries.setdefault(keys["scope"], []).append(JudgedQuery(keys["id"], keys["text"]))
    for scope, of_scope in turns.items():
        yield Conversation(of_scope, queries.get(scope, []), judgements)


def replaced(turn: hr.Chunk, **changes: object) -> hr.Chunk:
    """Return a chunk with other values."""
    return hr.Chunk(**{**turn.to_dict(), **changes})


def searched(talks: list[Conversation], asker: Callable[[str], str | None]) -> list[float]:
    """Return the measure of each question by keywords, asked by the speaker that `asker` names."""
    values = []
    for talk in talks:
        index = hr.Index.in_memory()
        index.upsert(talk.turns)
        retriever = hr.Retriever(index, ranking=hr.Ranking("best"))
        rankings = {
            question.id: [
                hit.id
                for hit in retriever.search(
                    question.text, mode="bm25", limit=evaluation.DEPTH, asker=asker(question.id)
                )
            ]
            for question in talk.questions
        }
        judged = {one: talk.judgements[one] for one in rankings}
        measured = evaluation.measure(rankings, judged)
        values += [measured[question.id][MEASURE] for question in talk.questions]
    return values
