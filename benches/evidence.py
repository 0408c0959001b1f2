"""Measure the share of the evidence found for questions about conversations (benches/README.md, "Conversations").

python benches/evidence.py PATH [--by id|path] [--modes MODE ...] [--embedder NAME] [--depth N]
                           [--per-query FILE] [--compare FILE] [--json]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import Any, get_args

from rich import box
from rich.table import Table
from rich.text import Text

from hedgerow.cli.output import echo, make_console, plural, progress_bar, visible, write_json
from hedgerow.embedders import embedder_named
from hedgerow.errors import HedgerowError
from hedgerow.typing import JudgedMode
from talks.measures import (
    QuestionMeasures,
    Row,
    ask,
    compare,
    names_of,
    read,
    summarize,
    to_json,
    write,
)
from talks.readers import read_conversations

_DEEPEST = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Search each conversation for its questions, and show the figures by type of question.

    Return 1 if a file cannot be read, and 2 for options that do not go together.
    """
    parser = _parser()
    asked = parser.parse_args(arguments)
    if not asked.modes:
        asked.modes = ["bm25", "hybrid"] if asked.embedder else ["bm25"]
    if set(asked.modes) != {"bm25"} and not asked.embedder:
        parser.error("semantic and hybrid need --embedder NAME, or give --modes bm25")
    try:
        # A file that cannot be read is an error before anything is searched.
        former = None if asked.compare is None else read(asked.compare)
        found = _search(asked)
        if not found.measured:
            left_out = _left_out(found) or "nothing was left out"
            parser.error(f"{asked.path} has no question with evidence {_AS[asked.by]}; {left_out}")
        changed = None if former is None else compare(found.measured, former)
        if asked.per_query is not None:
            write(found.measured, asked.per_query, asked.depth)
    except (HedgerowError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    if asked.json:
        _write_json(asked, found, changed)
    else:
        _show(asked, found, changed)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Measure the share of the evidence found for questions about conversations."
    )
    parser.add_argument(
        "path",
        help="a file of LoCoMo, REALTALK or LongMemEval, or a folder of REALTALK's or BEAM's",
    )
    parser.add_argument(
        "--by",
        choices=("id", "path"),
        default="id",
        help="evidence as turns (id, the default) or as sessions (path)",
    )
    parser.add_argument(
        "--modes",
        nargs="+",
        choices=get_args(JudgedMode),
        default=(),
        help="without it bm25, and with an embedder hybrid too",
    )
    parser.add_argument(
        "--embedder", metavar="NAME", help="the embedder of turns and questions, such as local"
    )
    parser.add_argument(
        "--depth",
        type=_depth,
        default=10,
        metavar="N",
        help="the number of results that are measured (default: 10)",
    )
    parser.add_argument(
        "--per-query", metavar="FILE", help="write the figures of every question, as TSV"
    )
    parser.add_argument(
        "--compare",
        metavar="FILE",
        help="what --per-query wrote of another run: show the differences",
    )
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")
    return parser


def _depth(text: str) -> int:
    depth = int(text)
    if not 1 <= depth <= _DEEPEST:
        raise argparse.ArgumentTypeError(f"from 1 to {_DEEPEST:,}, not {depth}")
    return depth


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


@dataclass(slots=True)
class _Run:
    """The measured questions, and the counts of omitted ones."""

    conversations: int = 0
    turns: int = 0
    seconds: float = 0.0
    measured: list[QuestionMeasures] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_LEFT_OUT, 0))


def _search(asked: argparse.Namespace) -> _Run:
    found = _Run()
    started = time.monotonic()
    embedder = None if asked.embedder is None else embedder_named(asked.embedder)
    close = getattr(embedder, "close", None)
    with (
        nullcontext() if close is None else closing(embedder),
        progress_bar("Searching") as progress,
    ):
        for one in read_conversations(asked.path):
            found.measured += ask(
                one, asked.modes, by=asked.by, depth=asked.depth, embedder=embedder
            )
            found.conversations += 1
            found.turns += len(one.chunks)
            for name in found.left_out:
                found.left_out[name] += getattr(one, name)
            if progress is not None:
                progress(found.conversations, found.conversations)
    found.seconds = round(time.monotonic() - started, 3)
    return found


def _write_json(asked: argparse.Namespace, found: _Run, changed: Sequence[Row] | None) -> None:
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


def _show(asked: argparse.Namespace, found: _Run, changed: Sequence[Row] | None) -> None:
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
        console.print(Text(visible(f"Difference to {asked.compare}, question by question:")))
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


if __name__ == "__main__":
    sys.exit(main())
