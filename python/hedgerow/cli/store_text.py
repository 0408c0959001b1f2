"""The graph of a store, and the nodes that a pipeline selected, for a person to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from .output import echo, make_console, plural, visible

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow import QueryResult, QueryStage
    from hedgerow._graph.figures import GraphFigures, Neighborhood
    from hedgerow.memory.results import RootGraph


_SHOWN = 10


def show_figures(name: str, figures: GraphFigures, graph: RootGraph | None) -> None:
    """Print what there is in a graph, its communities and its most linked nodes."""
    console = make_console()
    nodes, edges = plural(figures.nodes, "node"), plural(figures.edges, "link")
    console.print(Text(f"{nodes} and {edges} in {visible(name)}."))
    if not figures.nodes:
        return
    _show_facts(console, figures)
    if figures.stale:
        echo("Warning: communities are of earlier links; run it again", err=True)
    if figures.communities:
        _show_communities(console, figures)
    if figures.most_linked:
        table = _table("most linked", numbers=["links"])
        for one in figures.most_linked:
            table.add_row(Text(visible(one.key), style="cyan"), Text(f"{one.degree:,}"))
        console.print()
        console.print(table)
    if graph is not None:
        _show_problems(console, graph)


def _show_facts(console: Console, figures: GraphFigures) -> None:
    parts = figures.components
    connected = f"{plural(len(parts), 'part')}, the largest of {parts[0]:,}" if parts else "none"
    for name, value in [
        ("types", _listed(figures.types)),
        ("relations", _listed(figures.relations)),
        ("per node", f"{figures.mean_degree:.1f} links on average"),
        ("alone", plural(figures.alone, "node") + " without links"),
        ("connected", connected),
    ]:
        console.print(Text.assemble((f"{name:<9}  ", "dim"), value))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{visible(word)} {count:,}" for word, count in counts.items()) or "none"


def _show_communities(console: Console, figures: GraphFigures) -> None:
    table = _table("community around", numbers=["nodes", "isolation"])
    for one in figures.communities:
        cells = Text(f"{one.nodes:,}"), Text(f"{one.isolation:.2f}")
        table.add_row(Text(visible(one.node), style="cyan"), *cells)
    console.print()
    console.print(table)
    more = figures.grouped - len(figures.communities)
    if more:
        console.print(Text(f"and {plural(more, 'smaller one')}", style="dim"))


def _show_problems(console: Console, graph: RootGraph) -> None:
    if graph.unresolved:
        lines = [f"{file}: {target}" for file, target in graph.unresolved]
        _show_list(console, f"{plural(len(lines), 'link')} to no memory:", lines)
    if graph.skips:
        lines = [str(skip) for skip in graph.skips]
        _show_list(console, f"{plural(len(lines), 'problem')} in what was read:", lines)


def _show_list(console: Console, heading: str, lines: Sequence[str]) -> None:
    console.print()
    console.print(Text(heading))
    for line in lines[:_SHOWN]:
        console.print(Text(f"  {visible(line)}"))
    if len(lines) > _SHOWN:
        console.print(Text(f"  and {len(lines) - _SHOWN:,} more; --json has all", style="dim"))


def show_part(
    part: Neighborhood, unresolved: Sequence[str], validities: Mapping[str, Mapping[str, Any]]
) -> None:
    """Print the links of a node and of its surroundings, and which of these no longer hold."""
    console = make_console()
    others = plural(len(part.hops) - 1, "node")
    console.print(Text.assemble((visible(part.center), "cyan"), f": {others} around it."))
    if part.edges:
        table = _table("from", "to", "relation", numbers=["strength"])
        for source, target, relation, strength in part.edges:
            texts = [Text(visible(text)) for text in (source, target, relation)]
            table.add_row(*texts, Text(f"{strength:g}"))
        console.print(table)
    if part.left_out:
        console.print(Text(f"{plural(part.left_out, 'node')} left out.", style="dim"))
    if unresolved:
        _show_list(console, f"{plural(len(unresolved), 'link')} to no memory:", unresolved)
    if validities:
        from hedgerow.memory import Validity  # noqa: PLC0415 - of roots alone

        said = [f"{key}: {Validity.from_dict(one)}" for key, one in validities.items()]
        _show_list(console, "Not to be relied on as it is:", said)


def show_drawn(part: Neighborhood, file: str) -> None:
    """Report the drawing."""
    left_out = f", {part.left_out:,} further ones left out" if part.left_out else ""
    echo(f"Drew {plural(len(part.hops), 'node')} into {visible(file)}{left_out}.")


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
    table = _table("stage", numbers=["in", "out", "looked at", "ms"])
    for stage in stages:
        counts = (stage.rows_in, stage.rows_out, stage.candidates)
        cells = [Text(f"{count:,}") for count in counts]
        table.add_row(Text(visible(stage.name)), *cells, Text(f"{stage.ms:.2f}"))
    console.print()
    console.print(table)


def _table(*headings: str, numbers: Sequence[str] = ()) -> Table:
    """Make a table without lines, whose last columns have numbers."""
    table = Table(*headings, box=None, pad_edge=False, header_style="dim")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


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
