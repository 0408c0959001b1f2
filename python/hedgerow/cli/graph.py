"""`hedgerow graph`, `link` and `visit`: the links between memories or nodes, and visits of agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow._graph.figures import Neighborhood, figures_of, neighborhood_of
from hedgerow.memory.operations import LinkRequest, LinksRequest, VisitRequest

from .options import PATH, TEXT, Command, json_option, option, request_options, sync_option
from .output import echo, plural, visible, wants_json, write_json, wrote_json
from .place import OpenStore, memory_of, open_store, scope, server_of, store_options, time_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LISTED = 1000


@click.command("graph", cls=Command)
@click.argument("key", type=TEXT, required=False)
@option("--svg", metavar="FILE", type=PATH, help="Draw the neighborhood of KEY.")
@request_options(
    LinksRequest,
    "hops",
    hops={"default": None, "help": "How far from KEY.  [default: 1; with --svg 2]"},
)
@sync_option
@store_options
@json_option
def graph(
    *, key: str | None, svg: str | None, hops: int | None, sync: bool, db: str | None
) -> None:
    """Count nodes, links and communities; with KEY, show the links of a memory.

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
    if not sync and db is not None:
        raise click.UsageError("--no-sync goes with --root DIR.")
    if server := server_of(db):
        if not sync:
            raise click.UsageError("--no-sync goes with --root DIR.")
        if key is None or svg is not None:
            raise click.UsageError("A server shows the links of one KEY, without --svg.")
        found = server.links(key, hops=hops or 1, limit=_LISTED)
        _tell_part(found.to_dict())
        return
    if scope() is not None and (key is None or svg):
        raise click.UsageError("--scope goes with a KEY, without --svg.")
    with open_store(db, sync=sync, reads=True) as opened:
        if key is None:
            _show_figures(opened)
            return
        name = opened.key(key)
        if svg is not None:
            _draw(opened, name, svg, hops or 2)
            return
        _show_part(opened, name, hops or 1)


def _show_figures(opened: OpenStore) -> None:
    figures = figures_of(opened.store)
    links = None if opened.root is None else opened.root.graph(sync=opened.sync)
    if wants_json():
        value = opened.source | figures.to_dict()
        value["meanDegree"] = round(figures.mean_degree, 4)
        if links is not None:
            value["unresolved"] = [{"file": file, "link": to} for file, to in links.unresolved]
            value["skipped"] = [skip.to_dict() for skip in links.skips]
        write_json(value)
        return
    from .store_text import show_figures  # noqa: PLC0415 - brings rich, which --json does without

    show_figures(opened.name, figures, links)


def _show_part(opened: OpenStore, key: str, hops: int) -> None:
    if opened.root is None:
        part = neighborhood_of(opened.store, key, hops=hops, most=_LISTED)
        answer = {**opened.source, **part.to_dict(), "unresolved": []}
    else:
        answer = opened.root.links(key, hops=hops, limit=_LISTED, sync=opened.sync).to_dict()
    _tell_part(answer)


def _tell_part(answer: Mapping[str, Any]) -> None:
    if wrote_json(answer):
        return
    from .store_text import show_part  # noqa: PLC0415 - brings rich

    part = Neighborhood.from_dict(answer)
    show_part(part, answer["unresolved"], answer.get("validities", {}))


def _draw(opened: OpenStore, key: str, file: str, hops: int) -> None:
    from hedgerow._graph.svg import MOST_DRAWN, draw  # noqa: PLC0415 - needs an extra

    part = neighborhood_of(opened.store, key, hops=hops, most=MOST_DRAWN)
    rows = opened.store.query("all | select:key,type,weight").rows or []
    facts = {str(row[0]): (str(row[1]), float(row[2])) for row in rows}
    Path(file).write_text(draw(part, facts), encoding="utf-8", newline="\n")
    if wants_json():
        fields = {"key": key, "svg": file, "nodes": len(part.hops), "leftOut": part.left_out}
        write_json({**opened.source, **fields})
        return
    from .store_text import show_drawn  # noqa: PLC0415 - brings rich

    show_drawn(part, file)


@click.command("link", cls=Command)
@click.argument("a", type=TEXT)
@click.argument("b", type=TEXT)
@request_options(
    LinkRequest,
    *("strength", "rel"),
    rel={"default": None, "help": "The relation.  [default: related; with --db: link]"},
)
@option("--remove", is_flag=True, help="Remove the link of this relation.")
@store_options
@json_option
def link(  # noqa: PLR0913 - one argument for each option
    *,
    a: str,
    b: str,
    strength: float,
    rel: str | None,
    remove: bool,
    db: str | None,
) -> None:
    """Link A to B: in a root by a line in the front matter of A, with --db by an edge.

    \b
      hedgerow link findings/slugs.md decisions/2025-02-no-pellets.md
      hedgerow link slugs "No pellets" --rel supersedes --strength 0.8
      hedgerow link slugs compost --remove
      hedgerow link btree lock --strength 0.5 --db memory.db

    In a root, A and B are paths, file names or titles, as in [[name]], and nothing else in the
    file of A changes. An existing link with the same relation is replaced.
    """
    if memory := memory_of(db, writes=True):
        relation = rel or "related"
        done = memory.unlink(a, b, relation) if remove else memory.link(a, b, strength, relation)
        _show_link(done.to_dict())
        return
    with open_store(db) as opened:
        ends = {**opened.source, "a": a, "b": b, "rel": rel or "link"}
        if remove:
            act: dict[str, Any] = {"removed": opened.store.unlink(a, b, ends["rel"])}
        else:
            opened.store.link(a, b, strength, ends["rel"])
            act = {"strength": strength}
        _show_link({**ends, **act})


def _show_link(answer: Mapping[str, Any]) -> None:
    """Report the change of a link, in the fields of the JSON."""
    if wrote_json(answer):
        return
    names = f"{visible(answer['a'])} to {visible(answer['b'])} ({visible(answer['rel'])})"
    if "strength" in answer:
        echo(f"Linked {names}, strength {answer['strength']:g}.")
    elif answer["removed"]:
        echo(f"Unlinked {names}.")
    else:
        echo(f"There was no link {names}.")


@click.command("visit", cls=Command)
@click.argument("agent", type=TEXT)
@click.argument("keys", metavar="KEY...", type=TEXT, nargs=-1, required=True)
@time_option("--at", "The time of the visit")
@request_options(VisitRequest, "outcome")
@store_options
@json_option
def visit(*, agent: str, keys: Sequence[str], at: int, outcome: Any, db: str | None) -> None:
    """Record that AGENT visited each KEY, for `visited:`, `not-visited:` and `recency`.

    \b
      hedgerow visit linker findings/slugs.md compost
      hedgerow visit linker btree --at 2026-04-18T09:30Z --db memory.db
      hedgerow visit linker $(hedgerow query not-visited:linker,7d --keys)

    Either all visits are recorded or none. In a root, a KEY is a path, a file name or a title;
    visits are not stored in the files, so deleting `.hedgerow/` loses them.
    """
    if not agent.strip():
        raise click.UsageError("AGENT must not be empty; name an agent.")
    if memory := memory_of(db, writes=True):
        _show_visits(memory.visit(agent, keys, at, outcome).to_dict())
        return
    with open_store(db) as opened:
        opened.store.visit_many([(agent, key, at, outcome) for key in keys])
        fields = {"agent": agent, "at": at, "outcome": outcome, "keys": list(keys)}
        _show_visits({**opened.source, **fields})


def _show_visits(answer: Mapping[str, Any]) -> None:
    if not wrote_json(answer):
        echo(f"Recorded {plural(len(answer['keys']), 'visit')} of {visible(answer['agent'])}.")
