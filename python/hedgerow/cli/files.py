"""Index files: `hedgerow stats`, `check`, `backup`, `show`, `chunks`, `update` and `delete`."""

from __future__ import annotations

import json
import re
import sys
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow import Filters, Index, IndexFileError, IndexStats, InvalidInputError, Store
from hedgerow._json.index import ChunkAnswer, stats_answer
from hedgerow.memory.operations import ShowRequest

from .failures import FAILED, UnfinishedError, interruptible
from .options import (
    PATH,
    TEXT,
    Command,
    json_option,
    option,
    repeated_option,
    request_options,
    sync_option,
)
from .output import (
    echo,
    has_terminal,
    plural,
    show_rows,
    visible,
    wants_json,
    write_json,
    wrote_json,
)
from .params import filter_options, json_or_text
from .place import check_exists, db_option, is_root_named, is_target, place_options, scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hedgerow import Chunk
    from hedgerow.opensearch import Collection

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_THOUSAND = 1000
_WORDS_SHOWN = 8
_CHUNKS_SHOWN = 10
_CHARACTERS_SHOWN = 80
_POSITION = re.compile(r"(?P<path>.+)(?P<mark>[#:])(?P<number>\d{1,18})", re.DOTALL)


@click.command("stats", cls=Command)
@db_option("The index.", required=True)
@json_option
def stats(*, db: str) -> None:
    """Count the chunks, paths and vectors of an index, and show its size and settings: its
    tokenizer, its stop words, and its declared keys.

    \b
      hedgerow stats --db notes.db
      hedgerow stats --db notes.db --json

    Nothing is changed.
    """
    check_exists(db)
    with Index.open(db, read_only=True) as index:
        found, stopwords = index.stats(), index.stopwords
    if wrote_json(stats_answer(db, found, stopwords)):
        return
    show_rows(_described(db, found, stopwords))


def _described(
    db: str, found: IndexStats, stopwords: str | frozenset[str]
) -> Iterable[tuple[str, str]]:
    vectors = "none"
    if found.vectors:
        by = f", by {found.embedder}" if found.embedder else ""
        vectors = f"{found.vectors:,}, {plural(found.dimensions or 0, 'dimension')}{by}"
    declared = [("declared", ", ".join(found.metadata_index))] if found.metadata_index else []
    return [
        ("index", db),
        ("chunks", f"{found.chunks:,}, of {plural(found.paths, 'path')}"),
        ("vectors", vectors),
        ("size", _size(found.size_bytes)),
        ("tokenizer", found.tokenizer),
        ("stop words", _stop_words(stopwords)),
        ("schema", f"version {found.schema_version}, read by SQLite {found.sqlite_version}"),
        *declared,
    ]


def _stop_words(kept: str | frozenset[str]) -> str:
    if isinstance(kept, str):
        return kept
    first = sorted(kept)[:_WORDS_SHOWN]
    more = ", ..." if len(kept) > _WORDS_SHOWN else ""
    return f"{plural(len(kept), 'word')}: {', '.join(first)}{more}"


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= _THOUSAND and unit < len(_UNITS) - 1:
        size, unit = size / _THOUSAND, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{count} {_UNITS[0]}"


@click.command("check", cls=Command)
@db_option("The index.", required=True)
@json_option
@click.pass_context
def check(context: click.Context, *, db: str) -> None:
    """Look for damage: in the file, in the full-text index, and between it and the chunks.

    \b
      hedgerow check --db notes.db
      hedgerow check --db notes.db --json

    Exits with 1 if the index is damaged. Nothing is changed, but comparing the full-text index with
    every text requires a writable file; in a read-only file, only rows are compared.
    """
    check_exists(db)
    with _opened(db) as index:
        problems, chunks, read_only = index.check(), _count(index), index.read_only
    if wants_json():
        found = {"ok": not problems, "db": db, "chunks": chunks}
        write_json(found | {"readOnly": read_only, "problems": problems})
    else:
        echo(f"hedgerow check: {'attention needed' if problems else 'ok'}")
        for problem in problems:
            echo(f"index: FAILED: {visible(problem)}")
        if not problems:
            echo(f"index: ok: {visible(db)}, {plural(chunks or 0, 'chunk')}")
        if read_only:
            echo("index: warning: it cannot be written, so only the rows were compared")
    if problems:
        context.exit(FAILED)


def _opened(db: str) -> Index:
    """Open the file for writing if it may be written, else read-only. An older file is rejected."""
    read_only = Index.open(db, read_only=True)
    try:
        index = Index.open(db)
    except IndexFileError as error:
        if error.code == "index_read_only":
            return read_only
        read_only.close()
        raise
    read_only.close()
    return index


def _count(index: Index) -> int | None:
    """The number of chunks; None if damage keeps them from being counted."""
    try:
        return len(index)
    except IndexFileError:
        return None


@click.command("backup", cls=Command)
@click.argument("target", metavar="TARGET", type=PATH)
@db_option("The index to copy.", required=True)
@json_option
def backup(*, target: str, db: str) -> None:
    """Copy an index into the file TARGET, as a complete snapshot.

    \b
      hedgerow backup notes-2026-04-18.db --db notes.db
      hedgerow backup /backups/notes.db --db notes.db --json

    Others can keep searching and writing. TARGET must not exist: nothing is overwritten. The copy
    is written under a temporary name next to TARGET and renamed once it is complete and on disk.
    """
    check_exists(db)
    started = time.monotonic()
    with Index.open(db, read_only=True) as index:
        if sys.stderr.isatty():
            echo(f"Copying {visible(db)}, {_size(index.stats().size_bytes)} ...", err=True)
        with interruptible(f"interrupted: there is no {target}"):
            index.backup(target)
    with Index.open(target, read_only=True) as copy:
        chunks = len(copy)
    size, seconds = Path(target).stat().st_size, round(time.monotonic() - started, 3)
    if wants_json():
        counts = {"chunks": chunks, "sizeBytes": size, "seconds": seconds}
        write_json({"db": db, "backup": target} | counts)
        return
    echo(
        f"Copied {visible(db)} to {visible(target)} in {seconds:.1f} s: "
        f"{plural(chunks, 'chunk')}, {_size(size)}."
    )


@click.command("show", cls=Command)
@click.argument("what", metavar="KEY", type=TEXT)
@request_options(ShowRequest)
@sync_option
@db_option("The index, in place of --root.")
@place_options()
@json_option
def show(*, what: str, db: str | None, sync: bool, **part: Any) -> None:
    """Print the memory KEY: a path, the name of a file, or a title; or a part of it.

    \b
      hedgerow show decisions/2025-02-no-pellets.md
      hedgerow show "No pellets" --json
      hedgerow show "Hedge plan#Tools"
      hedgerow show "Hedge plan" --offset 10 --limit 20
      hedgerow show "Hedge plan" --budget 500

    With --db, print the chunk with an ID, and everything the index has about it.

    \b
      hedgerow show 'notes/garden/hedgehogs.md#0' --db notes.db
      hedgerow show notes/garden/hedgehogs.md:7 --db notes.db
      hedgerow show notes/garden/hedgehogs.md --db notes.db --json

    If no chunk has that ID, it is read as a location: PATH#N is chunk N of a path, counting from
    0; PATH:LINE is what search results show; PATH is all chunks of a path.
    """
    if db is None:
        from .memories import show_memory  # noqa: PLC0415 - of roots alone

        show_memory(what, sync=sync, **part)
        return
    if any(part.values()) or not sync:
        raise click.UsageError(
            "--section, --offset, --limit, --budget and --no-sync are about a memory: leave them out with "
            "--db."
        )
    if is_root_named() or is_target() or scope() is not None:
        raise click.UsageError("--db and --root exclude each other: an index file, or a root.")
    check_exists(db)
    with Index.open(db, read_only=True) as index:
        found = chunks_at(index, what)
    if not found:
        raise InvalidInputError(
            f"{db} has no chunk with the id {what}, nor at such a position; `hedgerow search --json` "
            "shows ids",
            code="unknown_chunk",
        )
    if wrote_json({"db": db, "chunks": [ChunkAnswer.of(chunk).to_dict() for chunk in found]}):
        return
    for position, chunk in enumerate(found):
        if position:
            echo()
        _show_chunk(chunk)


def _show_chunk(chunk: Chunk) -> None:
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
    show_rows([row for row in rows if row[1]], width=8)
    echo()
    echo(chunk.content)


@click.command("chunks", cls=Command)
@filter_options
@db_option("The index.", required=True)
@option(
    "--limit",
    "-n",
    type=click.IntRange(min=1),
    default=_CHUNKS_SHOWN,
    show_default=True,
    help="The most chunks to print.",
)
@option("--count", is_flag=True, help="Print the number of chunks alone.")
@json_option
def chunks(
    *,
    where: Filters,
    db: str,
    limit: int,
    count: bool,
) -> None:
    """List the chunks that pass all filters, in the order in which they were first written.

    \b
      hedgerow chunks --db notes.db
      hedgerow chunks --filter 'year >= 2024' --filter tag=garden --db notes.db -n 100
      hedgerow chunks --after 2026-01-01 --count --db notes.db

    Nothing is changed.
    """
    check_exists(db)
    with Index.open(db, read_only=True) as index:
        number = index.count(where)
        shown = [] if count else list(islice(index.chunks(where), limit))
    if wants_json():
        listed = {} if count else {"chunks": [ChunkAnswer.of(chunk).to_dict() for chunk in shown]}
        write_json({"db": db, "count": number} | listed)
        return
    if count:
        echo(str(number))
        return
    for chunk in shown:
        first = next((line for line in chunk.content.splitlines() if line.strip()), "")
        text = f"  {chunk.title or first}"[:_CHARACTERS_SHOWN]
        echo(visible(f"{chunk.id}{text.rstrip()}"))
    if number > len(shown):
        more = plural(number - len(shown), "more chunk", "more chunks")
        echo(f"{more}; --limit shows them.", err=True)
    elif not number:
        echo("No chunks.", err=True)


@click.command("update", cls=Command)
@filter_options
@repeated_option(
    "--set",
    "KEY=VALUE",
    "Set this key of the metadata to JSON or a text; null removes it. May be repeated.",
    "values",
)
@repeated_option("--tag", "TAG", "Replace all tags by this one; may be repeated.", "tags")
@option("--no-tags", is_flag=True, help="Remove all tags.")
@db_option("The index.", required=True)
@option("--yes", is_flag=True, help="Change them without asking.")
@json_option
def update(  # noqa: PLR0913 - one argument for each option
    *,
    where: Filters,
    values: tuple[str, ...],
    tags: tuple[str, ...],
    no_tags: bool,
    db: str,
    yes: bool,
) -> None:
    """Change metadata and tags of the chunks that pass all filters. Nothing is embedded again.

    \b
      hedgerow update --filter prefix=drafts/ --set status=draft --db notes.db
      hedgerow update --filter 'year < 2020' --set year=null --tag old --db notes.db --yes

    Asks for confirmation; without a terminal, or with --json, --yes is required. Chunks from files get
    the values of their files back with the next `hedgerow index`.
    """
    if where == Filters():
        raise click.UsageError("Pass what to change: --filter CONDITION.")
    if tags and no_tags:
        raise click.UsageError("Pass --tag or --no-tags, not both.")
    metadata = _metadata_of(values)
    if not metadata and not tags and not no_tags:
        raise click.UsageError("Pass the change: --set KEY=VALUE, --tag TAG or --no-tags.")
    check_exists(db)
    with Index.open(db, read_only=True) as index:
        number = index.count(where)
    question = f"Change {plural(number, 'chunk')} of {visible(db)}?"
    if number and not yes and not _confirmed(question, number, "change", "changed"):
        return
    if number:
        with Index.open(db) as index:
            given = tags if tags or no_tags else None
            number = index.update(where, metadata=metadata, tags=given)
    if not wrote_json({"db": db, "updated": number}):
        echo(f"Updated {plural(number, 'chunk')} of {visible(db)}.")


def _confirmed(question: str, count: int, verb: str, done: str) -> bool:
    """Ask before chunks are changed or removed; raises UnfinishedError if nobody can answer."""
    if wants_json() or not has_terminal():
        chunks = plural(count, "chunk")
        raise UnfinishedError(f"Nothing was {done}: {chunks} would be. To {verb} them, add --yes.")
    if click.confirm(question):
        return True
    echo(f"Nothing was {done}.")
    return False


def _metadata_of(values: Sequence[str]) -> dict[str, Any]:
    """Return keys and values of `--set`."""
    found: dict[str, Any] = {}
    for given in values:
        key, equals, value = given.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--set takes KEY=VALUE, as in year=2024, not {given!r}.")
        if key in found:
            raise click.UsageError(f"--set {key}= can be given once.")
        found[key] = json_or_text(value)
    return found


@click.command("delete", cls=Command)
@click.argument("ids", metavar="[ID...]", type=TEXT, nargs=-1)
@repeated_option("--path", "PATH", "All chunks of this path; may be repeated.", "paths")
@filter_options
@db_option("The index.", required=True)
@option("--yes", is_flag=True, help="Remove them without asking.")
@json_option
def delete(
    *,
    ids: tuple[str, ...],
    paths: tuple[str, ...],
    where: Filters,
    db: str,
    yes: bool,
) -> None:
    """Remove the chunks of these IDs, all chunks of each --path, and those that pass all filters.

    \b
      hedgerow delete 'notes/garden/hedgehogs.md#0' --db notes.db
      hedgerow delete --path notes/garden/hedgehogs.md --db notes.db --yes
      hedgerow delete --filter 'year < 2020' --filter tag=draft --db notes.db

    Asks for confirmation; without a terminal, or with --json, --yes is required. A chunk that is
    still in its file comes back with the next `hedgerow index`. In a store, the nodes are deleted
    too.
    """
    if not ids and not paths and where == Filters():
        raise click.UsageError("Pass what to remove: IDs, --path PATH, or --filter CONDITION.")
    check_exists(db)
    with Index.open(db, read_only=True) as index:
        found, missing = _to_delete(index, ids, paths)
        if where != Filters():
            passing = [chunk.id for chunk in index.chunks(where)]
            found = list(dict.fromkeys([*found, *passing]))
    if not wants_json():
        _show_plan(db, found, missing)
    question = f"Remove {plural(len(found), 'chunk')} from {visible(db)}?"
    if found and not yes and not _confirmed(question, len(found), "remove", "removed"):
        return
    removed = _delete(db, found) if found else 0
    if not wrote_json({"db": db, "removed": removed, "ids": found, "missing": missing}):
        echo(f"Removed {plural(removed, 'chunk')} from {visible(db)}.")


def _to_delete(
    index: Index, ids: Sequence[str], paths: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the ids that exist, and the names without any."""
    found = {name: None for name in ids if name in index}
    missing = [name for name in dict.fromkeys(ids) if name not in found]
    if paths:
        of_paths: dict[str, list[str]] = {path: [] for path in paths}
        for chunk in index.chunks(Filters(paths=paths)):
            of_paths.get(chunk.path, []).append(chunk.id)
        missing += [path for path, named in of_paths.items() if not named]
        found |= dict.fromkeys(name for named in of_paths.values() for name in named)
    return list(found), missing


def _show_plan(db: str, found: Sequence[str], missing: Sequence[str]) -> None:
    for name in missing:
        echo(f"Not in {visible(db)}: {visible(name)}", err=True)
    for name in found[:_CHUNKS_SHOWN]:
        echo(f"  {visible(name)}")
    if len(found) > _CHUNKS_SHOWN:
        echo(f"  and {len(found) - _CHUNKS_SHOWN:,} more")


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
    """Return the ids that are keys of nodes; none if the file is no store."""
    try:
        store = Store.open(db, read_only=True)
    except IndexFileError as error:
        if error.code != "index_read_only":
            raise
        return frozenset()
    with store:
        return frozenset(name for name in ids if store.get(name) is not None)


def chunks_at(index: Index | Collection, what: str) -> Sequence[Chunk]:
    """Return the chunk with an id, or those at a position, in order; none if there is none."""
    chunk = index.get(what)
    if chunk is not None:
        return [chunk]
    position = _POSITION.fullmatch(what)
    found = position and _matching(
        index, position["path"], _at(position["mark"], int(position["number"]))
    )
    return found or _matching(index, what, lambda _: True)


def _at(mark: str, number: int) -> Callable[[Chunk], bool]:
    if mark == "#":
        return lambda chunk: chunk.ordinal == number
    return lambda chunk: number in _lines(chunk)


def _lines(chunk: Chunk) -> range:
    first, last = (chunk.metadata.get(key) for key in ("line_start", "line_end"))
    if not isinstance(first, int):
        return range(0)
    return range(first, (last if isinstance(last, int) else first) + 1)


def _matching(
    index: Index | Collection, path: str, holds: Callable[[Chunk], bool]
) -> Sequence[Chunk]:
    chunks = [chunk for chunk in index.chunks(Filters(paths=[path])) if holds(chunk)]
    return sorted(chunks, key=lambda chunk: chunk.ordinal)
