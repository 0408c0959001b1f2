"""`hedgerow link` and `hedgerow visit`: edges between nodes, and visits of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .output import echo, plural, visible, write_json
from .params import TEXT, Command
from .roots import json_option
from .stores import open_store, server_of, store_options, time_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hedgerow.memory.operations import RootOperations


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

    In a root, A and B are paths, file names or titles, as in [[name]], and nothing else in the
    file of A changes. An existing link with the same relation is replaced.
    """
    if server := server_of(**where, writes=True):
        _tell(_linked(server, a, b, strength, rel, remove=remove), as_json=as_json)
        return
    with open_store(**where) as opened:
        if opened.root is not None:
            _tell(_linked(opened.root, a, b, strength, rel, remove=remove), as_json=as_json)
            return
        ends = {**opened.source, "a": a, "b": b, "rel": rel or "link"}
        if remove:
            act: dict[str, Any] = {"removed": opened.store.unlink(a, b, ends["rel"])}
        else:
            opened.store.link(a, b, strength, ends["rel"])
            act = {"strength": strength}
        _tell({**ends, **act}, as_json=as_json)


def _linked(  # noqa: PLR0913 - what a link has
    root: RootOperations, a: str, b: str, strength: float, rel: str | None, *, remove: bool
) -> dict[str, Any]:
    relation = rel or "related"
    done = root.unlink(a, b, relation) if remove else root.link(a, b, strength, relation)
    return done.to_dict()


def _tell(answer: Mapping[str, Any], *, as_json: bool) -> None:
    """Report what was done, in the fields of the JSON."""
    if as_json:
        write_json(answer)
        return
    names = f"{visible(answer['a'])} to {visible(answer['b'])} ({visible(answer['rel'])})"
    if "strength" in answer:
        echo(f"Linked {names}, strength {answer['strength']:g}.")
    elif answer["removed"]:
        echo(f"Unlinked {names}.")
    else:
        echo(f"There was no link {names}.")


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

    Either all visits are recorded or none. In a root, a KEY is a path, a file name or a title;
    visits are not stored in the files, so deleting `.hedgerow/` loses them.
    """
    if not agent.strip():
        raise click.UsageError("AGENT must not be empty; name an agent.")
    if server := server_of(**where, writes=True):
        _tell_visits(server.visit(agent, keys, at, outcome).to_dict(), as_json=as_json)
        return
    with open_store(**where) as opened:
        if opened.root is not None:
            done = opened.root.visit(agent, keys, at, outcome)
            _tell_visits(done.to_dict(), as_json=as_json)
            return
        opened.store.visit_many([(agent, key, at, outcome) for key in keys])
        fields = {"agent": agent, "at": at, "outcome": outcome, "keys": list(keys)}
        _tell_visits({**opened.source, **fields}, as_json=as_json)


def _tell_visits(answer: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        write_json(answer)
    else:
        echo(f"Noted {plural(len(answer['keys']), 'visit')} of {visible(answer['agent'])}.")
