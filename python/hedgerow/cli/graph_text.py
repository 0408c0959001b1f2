"""The graph of a store for a person to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from .output import echo, make_console, plural, visible

if TYPE_CHECKING:
    from rich.console import Console

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
        table = _table("most linked", "links")
        for key, degree in figures.most_linked:
            table.add_row(Text(visible(key), style="cyan"), Text(f"{degree:,}"))
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
    table = _table("community around", "nodes", "isolation")
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
        table = Table("from", "to", "relation", box=None, pad_edge=False, header_style="dim")
        table.add_column("strength", justify="right")
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


def _table(heading: str, *numbers: str) -> Table:
    table = Table(heading, box=None, pad_edge=False, header_style="dim")
    for name in numbers:
        table.add_column(name, justify="right")
    return table
