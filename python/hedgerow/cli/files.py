"""`hedgerow stats`, `check` and `backup`: an index file as a whole."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hedgerow import Index, IndexFileError, IndexStats
from hedgerow._answers.index import stats_answer

from .failures import FAILED, InterruptedRunError
from .output import echo, plural, visible, write_json
from .params import TEXT, Command, db_option
from .roots import json_option
from .stores import check_there_is

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_THOUSAND = 1000
_WORDS_SHOWN = 8


@click.command("stats", cls=Command, short_help="Count what is in an index.")
@db_option("The index.", required=True)
@json_option
def stats(*, db: str, as_json: bool) -> None:
    """Show how many chunks, paths and vectors an index has, its size, and how it was made: its
    tokenizer, its stop words, and its declared keys.

    \b
      hedgerow stats --db notes.db
      hedgerow stats --db notes.db --json

    Nothing is changed.
    """
    check_there_is(db)
    with Index.open(db, read_only=True) as index:
        found, stopwords = index.stats(), index.stopwords
    if as_json:
        write_json(stats_answer(db, found, stopwords))
        return
    for name, value in _described(db, found, stopwords):
        echo(f"{name:<10}  {visible(value)}")


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


@click.command("check", cls=Command, short_help="Look for damage in an index.")
@db_option("The index.", required=True)
@json_option
@click.pass_context
def check(context: click.Context, *, db: str, as_json: bool) -> None:
    """Look for damage: in the file, in the full-text index, and between it and the chunks.

    \b
      hedgerow check --db notes.db
      hedgerow check --db notes.db --json

    Exits with 1 if there is any. Nothing is changed, but comparing the full-text index with every
    text requires a writable file; in a read-only file, only rows are compared.
    """
    check_there_is(db)
    with _opened(db) as index:
        problems, chunks, read_only = index.check(), _count(index), index.read_only
    if as_json:
        found = {"ok": not problems, "db": db, "chunks": chunks}
        write_json(found | {"readOnly": read_only, "problems": problems})
    else:
        echo(f"hedgerow check: {'attention needed' if problems else 'ok'}")
        for problem in problems:
            echo(f"index: FAILED: {visible(problem)}")
        if not problems:
            echo(f"index: ok: {visible(db)}, {plural(chunks or 0, 'chunk')}")
        if read_only:
            echo("index: warning: it may not be written, so that only the rows were compared")
    if problems:
        context.exit(FAILED)


def _opened(db: str) -> Index:
    """Open the file for writing if it may be written, and as it is: an older one is refused."""
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
    """How many chunks there are; None if damage keeps them from being counted."""
    try:
        return len(index)
    except IndexFileError:
        return None


@click.command("backup", cls=Command, short_help="Copy an index into a new file.")
@click.argument("target", metavar="TARGET", type=TEXT)
@db_option("The index to copy.", required=True)
@json_option
def backup(*, target: str, db: str, as_json: bool) -> None:
    """Copy an index into the file TARGET, as a complete snapshot.

    \b
      hedgerow backup notes-2026-04-18.db --db notes.db
      hedgerow backup /backups/notes.db --db notes.db --json

    Others can keep searching and writing. TARGET must not exist: nothing is overwritten. The copy
    is written under a temporary name next to TARGET and renamed once it is complete and on disk.
    """
    check_there_is(db)
    started = time.monotonic()
    with Index.open(db, read_only=True) as index:
        if sys.stderr.isatty():
            echo(f"Copying {visible(db)}, {_size(index.stats().size_bytes)} ...", err=True)
        try:
            index.backup(target)
        except KeyboardInterrupt as stop:
            raise InterruptedRunError(f"interrupted: there is no {target}") from stop
    with Index.open(target, read_only=True) as copy:
        chunks = len(copy)
    size, seconds = Path(target).stat().st_size, round(time.monotonic() - started, 3)
    if as_json:
        counts = {"chunks": chunks, "sizeBytes": size, "seconds": seconds}
        write_json({"db": db, "backup": target} | counts)
        return
    echo(
        f"Copied {visible(db)} to {visible(target)} in {seconds:.1f} s: "
        f"{plural(chunks, 'chunk')}, {_size(size)}."
    )
