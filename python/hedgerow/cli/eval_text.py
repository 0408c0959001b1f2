"""The figures of an evaluation for a person to read: a table, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from hedgerow.evaluation import MEASURES

from .output import make_console, plural, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.evaluation import Outcome, Task

    from .eval_run import Evaluation

_EXAMPLES = 3


def show(found: Evaluation) -> None:
    """Print what was measured, the best figure of each column in bold."""
    console = make_console()
    queries = plural(len(found.task.queries), "judged query", "judged queries")
    judgements = plural(found.task.judged, "judgement")
    chunks = plural(found.chunks, "chunk")
    console.print(Text(f"{queries} on {found.db} ({chunks}); {judgements} by {found.task.by}."))
    for note in _notes(found.task, found.outcomes):
        console.print(Text(visible(note)))
    console.print()
    console.print(_table(found.outcomes))


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("matching", "mode", "fusion"):
        table.add_column(name)
    for name in (*MEASURES, "seconds"):
        table.add_column(name, justify="right")
    best = {name: max(f"{outcome.measures[name]:.4f}" for outcome in outcomes) for name in MEASURES}
    for outcome in outcomes:
        figures = {name: f"{outcome.measures[name]:.4f}" for name in MEASURES}
        table.add_row(
            *(part or "" for part in outcome.combination),
            *(
                Text(figure, style="bold" if figure == best[name] else "")
                for name, figure in figures.items()
            ),
            f"{outcome.seconds:.2f}",
        )
    return table


def _notes(task: Task, outcomes: Sequence[Outcome]) -> list[str]:
    """Say what was left out or counts against the figures, with the first few of each."""
    query, document = ("judged query", "judged queries"), ("judged document", "judged documents")
    reasons = [
        (task.unasked, query, "not among the queries and left out"),
        (task.unjudged, ("query", "queries"), "without a judgement and left out"),
        (task.without_relevant, query, "without a relevant document and left out"),
        (task.unknown, document, "not in the index and so not found"),
    ]
    notes = [
        f"{plural(len(names), *noun)} {reason} ({_some(names)})."
        for names, noun, reason in reasons
        if names
    ]
    for outcome in outcomes:
        if outcome.degraded:
            way = " ".join(part for part in outcome.combination if part)
            answered = plural(outcome.degraded, "query", "queries")
            notes.append(f"{way}: {answered} without a vector, or with a leg that failed.")
    return notes


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_EXAMPLES])
    return shown if len(names) <= _EXAMPLES else f"{shown}, ..."
