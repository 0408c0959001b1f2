"""`hedgerow show` and `delete`: single chunks of an index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from hedgerow import Index, IndexFileError, InvalidInputError, Store
from hedgerow._answers.index import chunk_answer

from .failures import UnfinishedError
from .output import echo, has_terminal, plural, visible, write_json
from .params import TEXT, Command, db_option
from .places import chunks_at
from .roots import json_option, root_option, scope, scope_option
from .stores import check_there_is
from .targets import is_target, target_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow import Chunk


@click.command("show", cls=Command, short_help="Print a memory, or chunks of an index.")
@click.argument("what", metavar="KEY", type=TEXT)
@db_option("The index, in place of --root.")
@root_option
@scope_option
@target_option
@json_option
def show(  # noqa: PLR0913 - one argument for each option
    *,
    what: str,
    db: str | None,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Print the memory KEY: a path, the name of a file, or a title.

    \b
      hedgerow show decisions/2025-02-no-pellets.md
      hedgerow show "No pellets" --json

    With --db, print the chunk with an ID, and everything the index has about it.

    \b
      hedgerow show 'notes/garden/hedgehogs.md#0' --db notes.db
      hedgerow show notes/garden/hedgehogs.md:7 --db notes.db
      hedgerow show notes/garden/hedgehogs.md --db notes.db --json

    If no chunk has that ID, it is read as a location: PATH#N is chunk N of a path, counting from
    0; PATH:LINE is what search results show; PATH is all chunks of a path.
    """
    if db is None:
        from .memory_texts import show_memory  # noqa: PLC0415 - of roots alone

        show_memory(what, root=root, target_url=target_url, remote_url=remote_url, as_json=as_json)
        return
    if root or is_target() or scope() is not None:
        raise click.UsageError("--db and --root exclude each other: an index file, or a root.")
    check_there_is(db)
    with Index.open(db, read_only=True) as index:
        found = chunks_at(index, what)
    if not found:
        raise InvalidInputError(
            f"{db} has no chunk with the id {what}, nor at such a place; `hedgerow search --json` "
            "shows ids",
            code="unknown_chunk",
        )
    if as_json:
        write_json({"db": db, "chunks": [chunk_answer(chunk) for chunk in found]})
        return
    for position, chunk in enumerate(found):
        if position:
            echo()
        _show(chunk)


def _show(chunk: Chunk) -> None:
    vector = "none" if chunk.embedding is None else plural(len(chunk.embedding), "dimension")
    rows = [
        ("id", chunk.id),
        ("path", chunk.path),
        ("ordinal", str(chunk.ordinal)),
        ("title", chunk.title),
        ("summary", chunk.summary),
        ("tags", ", ".join(chunk.tags)),
        ("metadata", json.dumps(chunk.metadata, ensure_ascii=False) if chunk.metadata else ""),
        ("vector", vector),
    ]
    for name, value in rows:
        if value:
            echo(f"{name:<8}  {visible(value)}")
    echo()
    echo(chunk.content)


@click.command("delete", cls=Command, short_help="Remove chunks from an index.")
@click.argument("ids", metavar="[ID...]", type=TEXT, nargs=-1)
@click.option(
    "--path",
    "paths",
    metavar="PATH",
    type=TEXT,
    multiple=True,
    help="All chunks of this path; may be repeated.",
)
@db_option("The index.", required=True)
@click.option("--yes", is_flag=True, help="Remove them without asking.")
@json_option
def delete(
    *, ids: tuple[str, ...], paths: tuple[str, ...], db: str, yes: bool, as_json: bool
) -> None:
    """Remove the chunks of these IDs, and all chunks of each --path.

    \b
      hedgerow delete 'notes/garden/hedgehogs.md#0' --db notes.db
      hedgerow delete --path notes/garden/hedgehogs.md --db notes.db --yes

    Asks for confirmation; without a terminal, or with --json, --yes is required. A chunk that is
    still in its file comes back with the next `hedgerow index`. In a store, the nodes are deleted
    too.
    """
    if not ids and not paths:
        raise click.UsageError("Pass what to remove: IDs, or --path PATH.")
    check_there_is(db)
    with Index.open(db, read_only=True) as index:
        found, missing = _to_delete(index, ids, paths)
    if not as_json:
        _show_plan(db, found, missing)
    if found and not yes:
        if as_json or not has_terminal():
            raise UnfinishedError(
                f"Nothing was removed: {plural(len(found), 'chunk')} would be. To remove them, add "
                "--yes."
            )
        if not click.confirm(f"Remove {plural(len(found), 'chunk')} from {visible(db)}?"):
            echo("Nothing was removed.")
            return
    removed = _delete(db, found) if found else 0
    if as_json:
        write_json({"db": db, "removed": removed, "ids": found, "missing": missing})
    else:
        echo(f"Removed {plural(removed, 'chunk')} from {visible(db)}.")


def _to_delete(
    index: Index, ids: Sequence[str], paths: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The ids that exist, and the names for which there is none."""
    found = {name: None for name in ids if index.get(name) is not None}
    missing = [name for name in dict.fromkeys(ids) if name not in found]
    if paths:
        of_paths: dict[str, list[str]] = {path: [] for path in paths}
        for chunk in index.chunks():
            of_paths.get(chunk.path, []).append(chunk.id)
        missing += [path for path, named in of_paths.items() if not named]
        found |= dict.fromkeys(name for named in of_paths.values() for name in named)
    return list(found), missing


_SHOWN = 10


def _show_plan(db: str, found: Sequence[str], missing: Sequence[str]) -> None:
    for name in missing:
        echo(f"Not in {visible(db)}: {visible(name)}", err=True)
    for name in found[:_SHOWN]:
        echo(f"  {visible(name)}")
    if len(found) > _SHOWN:
        echo(f"  and {len(found) - _SHOWN:,} more")


def _delete(db: str, ids: Sequence[str]) -> int:
    """Remove chunks, and the nodes whose text they are."""
    nodes = _nodes(db, ids)
    removed = 0
    if nodes:
        with Store.open(db) as store:
            removed += store.delete(nodes)
    others = [name for name in ids if name not in nodes]
    if others:
        with Index.open(db) as index:
            removed += index.delete(others)
    return removed


def _nodes(db: str, ids: Sequence[str]) -> frozenset[str]:
    """Those ids that are keys of nodes; none where the file is no store."""
    try:
        store = Store.open(db, read_only=True)
    except IndexFileError as error:
        if error.code != "index_read_only":
            raise
        return frozenset()
    with store:
        return frozenset(name for name in ids if store.get(name) is not None)
