"""`hedgerow eval --conversations`: measures of the evidence for questions about conversations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from hedgerow._conversations import read_conversations
from hedgerow._evidence import QuestionMeasures, Row, ask, names_of, read, summarize, to_json, write
from hedgerow._evidence import compare as differences
from hedgerow.typing import JudgedBy, JudgedMode

from .failures import interruptible
from .models import EmbedderOptions, embedder_of
from .options import given_options
from .output import echo, make_console, plural, progress_bar, visible, wants_json, write_json

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
    console.print(_table(summarize(found.measured), asked.depth))
    if changed is not None:
        console.print()
        console.print(Text(visible(f"Difference to {asked.compared}, question by question:")))
        console.print()
        console.print(_table(changed, asked.depth, signed=True))
    console.print()
    console.print(Text(_LEGEND))


_LEGEND = (
    "Recall is the share of all evidence among the first results, All whether the whole of it is there, Any whether "
    "some is. Below each mean is its 95 % interval."
)


def _left_out(found: _Run) -> str:
    counts = found.left_out.items()
    return ", ".join(plural(count, *_LEFT_OUT[name]) for name, count in counts if count)


def _table(rows: Sequence[Row], depth: int, *, signed: bool = False) -> Table:
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
