"""Measures of the evidence, by type of question, with intervals.

`Recall@k` is the share of the evidence among the first k results. `All@k` is 1 if they contain all of it, and `Any@k` is 1 if
they contain some. A question that needs all evidence is not answered by part of it.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow._engine import Index
from hedgerow._judged import wrong
from hedgerow.embedders.base import AnyEmbedder
from hedgerow.errors import InvalidInputError
from hedgerow.ranking import Ranking
from hedgerow.retriever import Retriever
from hedgerow.typing import JudgedBy, JudgedMode

from .readers import Conversation

RESAMPLES = 1_000
"""The number of bootstrap samples. More change the bounds of a 95 % interval by less than its third digit."""

_SEED = 36
_COLUMNS = ("conversation", "question", "type", "mode", "by")


@dataclass(frozen=True, slots=True)
class QuestionMeasures:
    """A question, its mode and kind of evidence, and its measures by name."""

    conversation: str
    question: str
    type: str
    mode: str
    by: str
    values: Mapping[str, float]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of the question, which is equal in all runs."""
        return (self.conversation, self.question, self.mode, self.by)


class Figure(NamedTuple):
    """A mean, with the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float


class Row(NamedTuple):
    """The figures of one type of question in one mode. `type` is None for all questions."""

    mode: str
    type: str | None
    questions: int
    figures: Mapping[str, Figure]


def names_of(depth: int) -> tuple[str, ...]:
    """Return the names of the measures at a depth."""
    return tuple(f"{name}@{depth}" for name in ("Recall", "All", "Any", "MRR", "nDCG"))


def ask(
    conversation: Conversation,
    modes: Sequence[JudgedMode],
    *,
    by: JudgedBy = "id",
    depth: int = 10,
    embedder: AnyEmbedder | None = None,
) -> Iterator[QuestionMeasures]:
    """Search a conversation for each of its questions, in each mode, with the profile "best".

    The index contains only this conversation. `by` is "id" for evidence as turns and "path" for
    sessions, which are ranked by their best turn. Questions without evidence of that kind are
    skipped. Raises the errors of the embedder.
    """
    asked = [one for one in conversation.questions if (one.turns if by == "id" else one.sessions)]
    if not asked:
        return
    index = Index.in_memory()
    retriever = Retriever(index, embedder=embedder, ranking=Ranking("best"))
    retriever.upsert(conversation.chunks)
    for mode in modes:
        responses = retriever.search_many(
            [question.text for question in asked],
            question_date=[question.date for question in asked],
            mode=mode,
            limit=depth,
            group_by="path" if by == "path" else None,
        )
        for question, response in zip(asked, responses, strict=True):
            evidence = question.turns if by == "id" else question.sessions
            values = measures([getattr(hit, by) for hit in response], evidence, depth)
            yield QuestionMeasures(conversation.id, question.id, question.type, mode, by, values)


def measures(ranking: Sequence[str], evidence: Sequence[str], depth: int) -> dict[str, float]:
    """Return the measures of a ranking, best first. Each piece of evidence counts once."""
    wanted = set(evidence)
    ranks = [rank for rank, name in enumerate(ranking[:depth]) if name in wanted]
    gains = [1 / math.log2(rank + 2) for rank in range(min(depth, len(wanted)))]
    values = (
        len(ranks) / len(wanted),
        float(len(ranks) == len(wanted)),
        float(bool(ranks)),
        1 / (ranks[0] + 1) if ranks else 0.0,
        sum(1 / math.log2(rank + 2) for rank in ranks) / sum(gains),
    )
    return dict(zip(names_of(depth), values, strict=True))


def summarize(measured: Sequence[QuestionMeasures]) -> list[Row]:
    """Return the means of each mode: those of each type by name, then of all questions."""
    return [
        Row(mode, kind, len(of_type), _figures([one.values for one in of_type]))
        for mode, kind, of_type in _groups(measured)
    ]


def compare(measured: Sequence[QuestionMeasures], former: Sequence[QuestionMeasures]) -> list[Row]:
    """Return the mean differences to a former run over the questions of both runs.

    Raises InvalidInputError if the runs have no question in common, or other measures.
    """
    before = {one.key: one for one in former}
    pairs = [(one, before[one.key]) for one in measured if one.key in before]
    if not pairs:
        raise wrong(
            "the two runs have no question in common; compare runs of the same conversations, modes and grouping"
        )
    if pairs[0][0].values.keys() != pairs[0][1].values.keys():
        raise wrong("the two runs have other measures; compare runs of the same depth")
    differences = [
        QuestionMeasures(
            one.conversation,
            one.question,
            one.type,
            one.mode,
            one.by,
            {name: value - other.values[name] for name, value in one.values.items()},
        )
        for one, other in pairs
    ]
    return summarize(differences)


def write(measured: Iterable[QuestionMeasures], file: str, depth: int) -> None:
    """Write a tab-separated line for each question and mode."""
    with Path(file).open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, "excel-tab", lineterminator="\n")
        rows.writerow([*_COLUMNS, *names_of(depth)])
        for one in measured:
            figures = [f"{value:.6f}" for value in one.values.values()]
            rows.writerow([*(getattr(one, name) for name in _COLUMNS), *figures])


def read(file: str) -> list[QuestionMeasures]:
    """Return the questions of a file that `write` made.

    Raises InvalidInputError for any other file, naming the line.
    """
    if not Path(file).is_file():
        raise InvalidInputError(f"{file}: no such file", code="path_not_found")
    with Path(file).open(encoding="utf-8", newline="") as stream:
        try:
            rows = csv.reader(stream, "excel-tab")
            header = next(rows, [])
            if tuple(header[: len(_COLUMNS)]) != _COLUMNS:
                raise wrong(
                    f"{file} is no run of an evaluation of conversations with a line for each question"
                )
            names = header[len(_COLUMNS) :]
            found = [
                _measured(file, number, names, row) for number, row in enumerate(rows, start=2)
            ]
        except (UnicodeDecodeError, csv.Error) as error:
            raise wrong(f"{file} is no run ({error})") from error
    return found


def _measured(file: str, number: int, names: Sequence[str], row: Sequence[str]) -> QuestionMeasures:
    try:
        conversation, question, kind, mode, by, *figures = row
        values = dict(zip(names, map(float, figures), strict=True))
    except ValueError as error:
        raise wrong(f"{file}:{number}: not a line of a run ({error})") from error
    return QuestionMeasures(conversation, question, kind, mode, by, values)


def to_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the rows in the format of `hedgerow eval --json`."""
    return [
        {
            "mode": row.mode,
            "type": row.type,
            "questions": row.questions,
            "measures": {name: figure._asdict() for name, figure in row.figures.items()},
        }
        for row in rows
    ]


def _groups(
    measured: Sequence[QuestionMeasures],
) -> Iterator[tuple[str, str | None, list[QuestionMeasures]]]:
    for mode in dict.fromkeys(one.mode for one in measured):
        of_mode = [one for one in measured if one.mode == mode]
        types = sorted({one.type for one in of_mode})
        for kind in types if len(types) > 1 else ():
            yield mode, kind, [one for one in of_mode if one.type == kind]
        yield mode, None, of_mode


def _figures(values: Sequence[Mapping[str, float]]) -> dict[str, Figure]:
    """Return the mean of each measure with its 95 % interval, by the percentile bootstrap.

    The bootstrap resamples questions. The samples are equal for all measures and runs.
    """
    size = len(values)
    chance = random.Random(_SEED)
    samples = [chance.choices(range(size), k=size) for _ in range(RESAMPLES)]
    found = {}
    for name in values[0]:
        column = [one[name] for one in values]
        pick: Callable[[int], float] = column.__getitem__
        means = sorted(sum(map(pick, sample)) / size for sample in samples)
        low, high = means[RESAMPLES // 40], means[-RESAMPLES // 40 - 1]
        found[name] = Figure(sum(column) / size, low, high)
    return found
