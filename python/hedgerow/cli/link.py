"""`hedgerow link` and `hedgerow visit`: edges between nodes, and visits of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .output import echo, plural, visible, write_json
from .params import TEXT, Command
from .roots import json_option
from .stores import OpenStore, open_store, store_options, time_option

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command("link", cls=Command, short_help="Link two memories, or unlink them.")
@click.argument("a", type=TEXT)
@click.argument("b", type=TEXT)
@click.option(
    "--strength",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="How strong the link is, above 0.",
)
@click.option(
    "--rel", metavar="NAME", type=TEXT, help="The relation.  [default: related; with --db: link]"
)
@click.option("--remove", is_flag=True, help="Remove the link of this relation.")
@store_options
@json_option
def link(  # noqa: PLR0913 - one argument for each option
    *,
    a: str,
    b: str,
    strength: float,
    rel: str | None,
    remove: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """Link A to B: in a root by a line in the front matter of A, with --db by an edge.

    \b
      hedgerow link findings/slugs.md decisions/2025-02-no-pellets.md
      hedgerow link slugs "No pellets" --rel supersedes --strength 0.8
      hedgerow link slugs compost --remove
      hedgerow link btree lock --strength 0.5 --db memory.db

    In a root, A and B are paths, names of files, or titles, as in [[name]], and nothing else
    in the file of A changes. A link of the same relation is replaced.
    """
    with open_store(**where) as opened:
        relation = rel or ("link" if opened.root is None else "related")
        ends = opened.key(a), opened.key(b)
        changed = (
            _remove(opened, *ends, relation)
            if remove
            else _put(opened, *ends, strength, rel=relation)
        )
        fields = {"a": ends[0], "b": ends[1], "rel": relation}
        if as_json:
            act = {"removed": changed} if remove else {"strength": strength}
            write_json({**opened.source, **fields, **act})
            return
        names = f"{visible(ends[0])} to {visible(ends[1])} ({visible(relation)})"
        if remove:
            echo(f"Unlinked {names}." if changed else f"There was no link {names}.")
            return
        echo(f"Linked {names}, strength {strength:g}.")


def _put(opened: OpenStore, a: str, b: str, strength: float, *, rel: str) -> bool:
    (opened.root or opened.store).link(a, b, strength, rel)
    return True


def _remove(opened: OpenStore, a: str, b: str, rel: str) -> bool:
    return (opened.root or opened.store).unlink(a, b, rel)


@click.command("visit", cls=Command, short_help="Record that an agent visited memories.")
@click.argument("agent", type=TEXT)
@click.argument("keys", metavar="KEY...", type=TEXT, nargs=-1, required=True)
@time_option("--at", "When it was there")
@click.option(
    "--outcome",
    type=click.Choice(["processed", "modified", "skipped", "failed"]),
    default="processed",
    show_default=True,
    help="The outcome; filters ignore failed visits.",
)
@store_options
@json_option
def visit(
    *, agent: str, keys: Sequence[str], at: int, outcome: Any, as_json: bool, **where: Any
) -> None:
    """Record that AGENT visited each KEY, for `visited:`, `not-visited:` and `recency`.

    \b
      hedgerow visit linker findings/slugs.md compost
      hedgerow visit linker btree --at 2026-04-18T09:30Z --db memory.db
      hedgerow visit linker $(hedgerow query not-visited:linker,7d --keys)

    All of them are recorded, or none. In a root, a KEY is a path, the name of a file or a title;
    visits are not in the files, and deleting `.hedgerow/` forgets them.
    """
    if not agent.strip():
        raise click.UsageError("AGENT must not be empty; name an agent.")
    with open_store(**where) as opened:
        visited = [opened.key(key) for key in keys]
        opened.store.visit_many((agent, key, at, outcome) for key in visited)
        if as_json:
            fields = {"agent": agent, "at": at, "outcome": outcome, "keys": visited}
            write_json({**opened.source, **fields})
            return
        echo(f"Noted {plural(len(visited), 'visit')} of {visible(agent)}.")
