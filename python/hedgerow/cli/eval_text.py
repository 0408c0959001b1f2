"""The figures of an evaluation for a person to read: tables, notes and a chart; and `hedgerow eval --conversations`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from hedgerow._conversations import (
    QuestionMeasures,
    Row,
    ask,
    names_of,
    read,
    read_conversations,
    summarize,
    to_json,
    write,
)
from hedgerow._conversations import compare as differences
from hedgerow.evaluation import MEASURES
from hedgerow.typing import JudgedBy, JudgedMode

from .failures import interruptible
from .options import given_options
from .output import echo, make_console, plural, progress_bar, visible, wants_json, write_json
from .params import EmbedderOptions, embedder_of

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


_OPTIONS = frozenset(
    {
        "conversations",
        "by",
        "modes",
        "depth",
        "embedder",
        "query_prompt",
        "document_prompt",
        "per_query",
        "compare",
        "as_json",
    }
)


_AS = {"id": "as turns", "path": "as sessions"}
_LEFT_OUT: dict[str, tuple[str, str]] = {
    "unanswerable": ("question meant to have no answer", "questions meant to have no answer"),
    "without_evidence": ("question without evidence", "questions without evidence"),
    "unknown": (
        "piece of evidence that is no turn of its conversation",
        "pieces of evidence that are no turn of their conversation",
    ),
}
_JSON = {
    "unanswerable": "unanswerable",
    "without_evidence": "withoutEvidence",
    "unknown": "unknownEvidence",
}


@dataclass(frozen=True, slots=True)
class ConversationArguments:
    """The options of the user; `compared` is the file of a former run."""

    path: str
    by: JudgedBy
    modes: Sequence[JudgedMode]
    depth: int
    embedder: EmbedderOptions
    per_query: str | None
    compared: str | None


@dataclass(slots=True)
class _Run:
    """The measured questions, and the counts of omitted ones."""

    conversations: int = 0
    turns: int = 0
    seconds: float = 0.0
    measured: list[QuestionMeasures] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_LEFT_OUT, 0))


def run(asked: ConversationArguments) -> None:
    """Search each conversation for its questions, and show the figures by type of question."""
    for name, parameter in given_options():
        if name not in _OPTIONS:
            raise click.UsageError(f"{parameter.opts[0]} does not go with --conversations.")
    # A file that cannot be read is an error before anything is searched.
    former = None if asked.compared is None else read(asked.compared)
    with interruptible("interrupted: nothing was written"):
        found = _search(asked)
    if not found.measured:
        raise click.UsageError(
            f"{asked.path} has no question with evidence {_AS[asked.by]}; "
            f"{_left_out(found) or 'nothing was left out'}."
        )
    changed = None if former is None else differences(found.measured, former)
    if asked.per_query is not None:
        write(found.measured, asked.per_query, asked.depth)
    if wants_json():
        _write_json(asked, found, changed)
    else:
        _show(asked, found, changed)


def _search(asked: ConversationArguments) -> _Run:
    modes = asked.modes or (("bm25", "hybrid") if asked.embedder.name else ("bm25",))
    if set(modes) != {"bm25"} and not asked.embedder.name:
        raise click.UsageError("semantic and hybrid need --embedder NAME, or give --modes bm25.")
    found = _Run()
    started = time.monotonic()
    with embedder_of(asked.embedder) as embedder, progress_bar("Searching") as progress:
        for one in read_conversations(asked.path):
            found.measured += ask(one, modes, by=asked.by, depth=asked.depth, embedder=embedder)
            found.conversations += 1
            found.turns += len(one.chunks)
            for name in found.left_out:
                found.left_out[name] += getattr(one, name)
            if progress is not None:
                progress(found.conversations, found.conversations)
    found.seconds = round(time.monotonic() - started, 3)
    return found


def _write_json(asked: ConversationArguments, found: _Run, changed: Sequence[Row] | None) -> None:
    write_json(
        {
            "conversations": found.conversations,
            "turns": found.turns,
            "by": asked.by,
            "leftOut": {_JSON[name]: count for name, count in found.left_out.items()},
            "results": to_json(summarize(found.measured)),
            **({} if changed is None else {"differences": to_json(changed)}),
            "seconds": found.seconds,
        }
    )


def _show(asked: ConversationArguments, found: _Run, changed: Sequence[Row] | None) -> None:
    questions = len({(one.conversation, one.question) for one in found.measured})
    echo(
        f"{plural(questions, 'question')} about {plural(found.conversations, 'conversation')} of "
        f"{plural(found.turns, 'turn')}; evidence {_AS[asked.by]}, ranking best."
    )
    if text := _left_out(found):
        echo(f"Left out: {text}.")
    console = make_console()
    console.print()
    console.print(_evidence_table(summarize(found.measured), asked.depth))
    if changed is not None:
        console.print()
        console.print(Text(visible(f"Difference to {asked.compared}, question by question:")))
        console.print()
        console.print(_evidence_table(changed, asked.depth, signed=True))
    console.print()
    console.print(Text(_LEGEND))


_LEGEND = (
    "Recall is the share of all evidence among the first results, All whether the whole of it is there, Any whether "
    "some is. Below each mean is its 95 % interval."
)


def _left_out(found: _Run) -> str:
    counts = found.left_out.items()
    return ", ".join(plural(count, *_LEFT_OUT[name]) for name, count in counts if count)


def _evidence_table(rows: Sequence[Row], depth: int, *, signed: bool = False) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("mode")
    table.add_column("type")
    for name in ("questions", *names_of(depth)):
        table.add_column(name, justify="right")
    sign = "+" if signed else ""
    for row in rows:
        cells: list[Any] = [row.mode, visible(row.type or "all"), f"{row.questions:,}"]
        for figure in row.figures.values():
            is_sure = signed and (figure.low > 0 or figure.high < 0)
            style = "bold" if row.type is None or is_sure else ""
            mean = Text(f"{figure.mean:{sign}.3f}{'*' if is_sure else ''}", style=style)
            cells.append(mean.append(f"\n{figure.low:{sign}.3f}…{figure.high:{sign}.3f}", "dim"))
        table.add_row(*cells)
    return table
