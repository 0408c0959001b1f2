"""The nodes that a pipeline selected, for a person to read."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from .output import echo, make_console, plural, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from hedgerow import QueryResult, QueryStage

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY
_UNITS = ((_YEAR, "y"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m"))
_TIMES = frozenset({"timestamp", "created"})
_LEFT = frozenset({"key", "type", "category", "provenance", *_TIMES})


def show_notices(result: QueryResult) -> None:
    """Report on stderr the parts that the result lacks."""
    for warning in result.warnings:
        echo(f"Warning: {visible(warning)}", err=True)
    if result.stale:
        echo(
            "Warning: communities or coordinates are of earlier edges; new ones are on their way",
            err=True,
        )


def show_keys(result: QueryResult) -> None:
    """Print the keys, one a line."""
    if result.count is not None:
        raise click.UsageError("--keys has no keys after `count`; leave one of them out.")
    for key in result.keys:
        echo(visible(key))


def show(result: QueryResult, now: int, *, whole: int, shown: bool, explain: bool) -> None:
    """Print a count, or a table of the nodes and of their pairs, and what each stage did."""
    console = make_console()
    if result.count is not None:
        console.print(Text(f"{result.count}"))
    elif not result.keys:
        console.print(Text(f"No nodes, of {whole:,}."))
    else:
        _show_nodes(console, result, now, shown=shown)
    if result.pairs:
        _show_pairs(console, result.pairs)
    if explain:
        _show_stages(console, result.stages[:-1] if shown else result.stages)


def _show_nodes(console: Console, result: QueryResult, now: int, *, shown: bool) -> None:
    """Print a row for each node: what the pipeline selects, or key, score and what is usual."""
    columns, rows = result.columns or [], result.rows or [[] for _ in result.keys]
    if shown or not columns:
        columns = ["key", "score", *("age" if name == "timestamp" else name for name in columns)]
        lead = zip(result.keys, result.scores, strict=True)
        rows = [[*first, *row] for first, row in zip(lead, rows, strict=True)]
    table = _table()
    for name in columns:
        table.add_column(name, justify="left" if name in _LEFT else "right")
    for row in rows:
        table.add_row(*(_cell(name, value, now) for name, value in zip(columns, row, strict=True)))
    console.print(table)
    console.print(Text(f"{plural(len(result), 'node')}.", style="dim"))


def _show_pairs(console: Console, pairs: Sequence[tuple[str, str, float]]) -> None:
    table = _table("pair", "", "similarity")
    for left, right, similarity in pairs:
        table.add_row(Text(visible(left)), Text(visible(right)), Text(f"{similarity:.3f}"))
    console.print()
    console.print(table)


def _show_stages(console: Console, stages: Sequence[QueryStage]) -> None:
    table = _table("stage")
    for name in ("in", "out", "looked at", "ms"):
        table.add_column(name, justify="right")
    for stage in stages:
        counts = (stage.rows_in, stage.rows_out, stage.candidates)
        cells = [Text(f"{count:,}") for count in counts]
        table.add_row(Text(visible(stage.name)), *cells, Text(f"{stage.ms:.2f}"))
    console.print()
    console.print(table)


def _table(*headings: str) -> Table:
    return Table(*headings, box=None, pad_edge=False, header_style="dim")


def _cell(name: str, value: Any, now: int) -> Text:
    if name == "age":
        return Text(age(value, now))
    if name in _TIMES:
        return Text(_date(value))
    if isinstance(value, float):
        return Text(f"{value:.4f}" if name == "score" else f"{value:.4g}")
    return Text(visible(str(value)), style="cyan" if name == "key" else "")


def age(time: int, now: int) -> str:
    """Write how long ago a time was, in its largest unit: `3d`, `2h`; `-3d` for the future."""
    seconds = abs(now - time)
    sign = "-" if time > now else ""
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{sign}{seconds // length}{unit}"
    return f"{sign}{seconds}s"


def _date(seconds: int) -> str:
    """Write a time as ISO 8601, and one beyond the calendar as the seconds it is."""
    try:
        return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M")
    except OverflowError:
        return str(seconds)
