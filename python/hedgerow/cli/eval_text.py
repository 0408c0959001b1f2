"""The figures of an evaluation for a person to read: tables, notes and a chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from hedgerow.evaluation import MEASURES

from .output import make_console, plural, visible

if TYPE_CHECKING:
    from hedgerow.evaluation import Outcome, Task


_EXAMPLES = 3


def show(evaluations: Sequence[tuple[str, int, Task, Sequence[Outcome]]]) -> None:
    """Print the measurements, each on an index with a name and a number of chunks.

    One table has all evaluations. The best figure of each column, in each evaluation, is in bold.
    """
    console = make_console()
    for name, chunks, task, outcomes in evaluations:
        queries = plural(len(task.queries), "judged query", "judged queries")
        index = f"{visible(name)} ({plural(chunks, 'chunk')})"
        judgements = plural(task.judged, "judgement")
        console.print(Text(f"{queries} on {index}; {judgements} by {task.by}."))
        for note in _notes(task, outcomes):
            console.print(Text(visible(note)))
    console.print()
    console.print(_table([(name, outcomes) for name, _, _, outcomes in evaluations]))


def _table(evaluations: Sequence[tuple[str, Sequence[Outcome]]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    ways = [outcome.combination.parts for _, outcomes in evaluations for outcome in outcomes]
    # A column that no row has is left out, except the first three.
    columns = [(name, at) for at, name in enumerate(("matching", "mode", "fusion"))]
    columns += [
        (name, at)
        for at, name in enumerate(("neighbors", "reweight", "adds"), start=len(columns))
        if any(way[at] for way in ways)
    ]
    is_one = len(evaluations) == 1
    for column in [*([] if is_one else ["folder"]), *(name for name, _ in columns)]:
        table.add_column(column)
    for name in (*MEASURES, "seconds"):
        table.add_column(name, justify="right")
    for name, outcomes in evaluations:
        folder = [] if is_one else [visible(Path(name).parent.name)]
        best = {
            name: max(f"{outcome.measures[name]:.4f}" for outcome in outcomes) for name in MEASURES
        }
        for outcome in outcomes:
            figures = {name: f"{outcome.measures[name]:.4f}" for name in MEASURES}
            table.add_row(
                *folder,
                *(outcome.combination.parts[at] for _, at in columns),
                *(
                    Text(figure, style="bold" if figure == best[name] else "")
                    for name, figure in figures.items()
                ),
                f"{outcome.seconds:.2f}",
            )
    return table


def _notes(task: Task, outcomes: Sequence[Outcome]) -> list[str]:
    """List the omissions and the causes of lower figures, with the first few of each."""
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
            way = str(outcome.combination)
            answered = plural(outcome.degraded, "query", "queries")
            notes.append(f"{way}: {answered} without a vector, or with a leg that failed.")
    return notes


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_EXAMPLES])
    return shown if len(names) <= _EXAMPLES else f"{shown}, ..."


# Colors that are distinct in print and to the color-blind.
_COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")


def draw(outcomes: Sequence[Outcome], file: str) -> None:
    """Draw a group of bars for each measure, a bar for each combination, as SVG or PNG.

    Equal figures give equal SVG. Nothing is displayed. This needs the extra "eval".
    """
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    kind = Path(file).suffix.lower().removeprefix(".")
    with rc_context({"svg.hashsalt": "hedgerow", "svg.fonttype": "none"}):
        figure = Figure(figsize=(10, 5), layout="constrained")
        axes = figure.add_subplot()
        width = 0.84 / len(outcomes)
        for i, outcome in enumerate(outcomes):
            shift = (i - (len(outcomes) - 1) / 2) * width
            bars = axes.bar(
                [group + shift for group in range(len(MEASURES))],
                [outcome.measures[name] for name in MEASURES],
                width * 0.92,
                color=_COLORS[i % len(_COLORS)],
                label=str(outcome.combination),
            )
            axes.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
        axes.set_title("Quality of each way of searching: 1 is the best there can be")
        axes.set_xticks(range(len(MEASURES)), MEASURES)
        axes.set_ylim(0, 1.05)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=min(4, len(outcomes)), frameon=False)
        figure.savefig(file, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {})
