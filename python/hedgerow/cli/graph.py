"""`hedgerow graph`: the links between the nodes of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow._graph.figures import Neighborhood, figures_of, neighborhood_of

from .output import write_json
from .params import TEXT, Command
from .roots import json_option, scope
from .stores import OpenStore, open_store, server_of, store_options

if TYPE_CHECKING:
    from collections.abc import Mapping

_LISTED = 1000


@click.command("graph", cls=Command, short_help="Show how memories are linked, or draw it.")
@click.argument("key", type=TEXT, required=False)
@click.option("--svg", metavar="FILE", type=TEXT, help="Draw the neighborhood of KEY.")
@click.option(
    "--hops",
    type=click.IntRange(1, 10),
    help="How far from KEY.  [default: 1; with --svg 2]",
)
@store_options
@json_option
def command(
    *, key: str | None, svg: str | None, hops: int | None, as_json: bool, **where: Any
) -> None:
    """Count nodes, links and communities; with KEY, show what a memory is linked to.

    \b
      hedgerow graph
      hedgerow graph findings/slugs.md --hops 2
      hedgerow graph slugs --svg slugs.svg --root memory
      hedgerow graph --db memory.db --json

    In a root, KEY is a path, a file name or a title; links that lead to no memory are listed, as
    are memories that no longer hold or are in doubt. Drawing needs: pip install "hedgerow[graph]".
    """
    if key is None and (svg or hops):
        raise click.UsageError("Pass a KEY: --svg and --hops show its neighborhood.")
    if svg and Path(svg).suffix.lower() != ".svg":
        raise click.UsageError(f"--svg writes SVG; give a file that ends in .svg, not {svg}.")
    if server := server_of(**where):
        if key is None or svg is not None:
            raise click.UsageError("A server shows the links of one KEY, without --svg.")
        found = server.links(key, hops=hops or 1, limit=_LISTED)
        _tell_part(found.to_dict(), as_json=as_json)
        return
    if scope() is not None and (key is None or svg):
        raise click.UsageError("--scope goes with a KEY, without --svg.")
    with open_store(**where, reads=True) as opened:
        if key is None:
            _show_figures(opened, as_json=as_json)
            return
        name = opened.key(key)
        if svg is not None:
            _draw(opened, name, svg, hops or 2, as_json=as_json)
            return
        _show_part(opened, name, hops or 1, as_json=as_json)


def _show_figures(opened: OpenStore, *, as_json: bool) -> None:
    figures = figures_of(opened.store)
    graph = None if opened.root is None else opened.root.graph()
    if as_json:
        value = {
            **opened.source,
            "nodes": figures.nodes,
            "edges": figures.edges,
            "types": figures.types,
            "relations": figures.relations,
            "alone": figures.alone,
            "meanDegree": round(figures.mean_degree, 4),
            "components": figures.components,
            "communities": [community._asdict() for community in figures.communities],
            "mostLinked": [{"key": key, "degree": n} for key, n in figures.most_linked],
            "stale": figures.stale,
        }
        if graph is not None:
            value["unresolved"] = [{"file": file, "link": to} for file, to in graph.unresolved]
            value["skipped"] = [skip.to_dict() for skip in graph.skips]
        write_json(value)
        return
    from .graph_text import show_figures  # noqa: PLC0415 - brings rich, which --json does without

    show_figures(opened.name, figures, graph)


def _show_part(opened: OpenStore, key: str, hops: int, *, as_json: bool) -> None:
    if opened.root is None:
        part = neighborhood_of(opened.store, key, hops=hops, most=_LISTED)
        answer = {**opened.source, **part.to_dict(), "unresolved": []}
    else:
        answer = opened.root.links(key, hops=hops, limit=_LISTED).to_dict()
    _tell_part(answer, as_json=as_json)


def _tell_part(answer: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        write_json(answer)
        return
    from .graph_text import show_part  # noqa: PLC0415 - brings rich

    part = Neighborhood.from_dict(answer)
    show_part(part, answer["unresolved"], answer.get("validities", {}))


def _draw(opened: OpenStore, key: str, file: str, hops: int, *, as_json: bool) -> None:
    from hedgerow._graph.svg import MOST_DRAWN, draw  # noqa: PLC0415 - needs an extra

    part = neighborhood_of(opened.store, key, hops=hops, most=MOST_DRAWN)
    rows = opened.store.query("all | select:key,type,weight").rows or []
    facts = {str(row[0]): (str(row[1]), float(row[2])) for row in rows}
    Path(file).write_text(draw(part, facts), encoding="utf-8", newline="\n")
    if as_json:
        fields = {"key": key, "svg": file, "nodes": len(part.hops), "leftOut": part.left_out}
        write_json({**opened.source, **fields})
        return
    from .graph_text import show_drawn  # noqa: PLC0415 - brings rich

    show_drawn(part, file)
