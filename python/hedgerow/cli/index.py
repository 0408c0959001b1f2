"""`hedgerow index`: files and folders into an index."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hedgerow import Index, IndexStats, InvalidInputError, Retriever
from hedgerow._engine import _is_embedded

from .failures import FAILED, interruptible
from .options import AnyPath, Command, given_options, json_option, option, repeated_option
from .output import (
    echo,
    plural,
    progress_bar,
    show_skipped,
    skipped_json,
    skipped_text,
    visible,
    wants_json,
    write_json,
    wrote_json,
)
from .params import (
    EmbedderChoice,
    EmbedderOptions,
    StopWords,
    Tokenizer,
    check_prompts,
    embedder_of,
    embedder_option,
    recorded_embedder,
)
from .place import NO_ROOT, check_exists, db_option, is_root_named, open_root, place_options

if TYPE_CHECKING:
    from hedgerow import Embedder
    from hedgerow.ingest import IndexReport, IndexRun
    from hedgerow.memory.sync import SyncReport

_SHOWN_SKIPS = 50
_SHOWN_OF_ONE_FILE = 3
_DEFAULT_TOKENIZER: Tokenizer = "words"
_OF_AN_INDEX = ("tokenizer", "retokenize", "stopwords", "declared")
_IN_THE_CONFIGURATION = frozenset(
    {"embedder", "query_prompt", "document_prompt", "reembed", "exclude", "include"}
)
"""The options that only an index file has, and those that a root has in its own configuration."""


@click.command("index", cls=Command)
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=AnyPath())
@db_option("The index file; created if it does not exist.")
@place_options(scope=False, target=False)
@option(
    "--tokenizer",
    type=click.Choice(["words", "porter unicode61", "unicode61", "trigram"]),
    help="How a new index splits text into words. words is for every language.  [default: words]",
)
@option(
    "--retokenize",
    is_flag=True,
    help="Give the index --db another tokenizer, words or that of --tokenizer, and read no files.",
)
@option(
    "--stopwords",
    type=StopWords(),
    metavar="LISTS|WORDS",
    help="The words that plain queries ignore: en+nl, en, nl, none, or words separated by commas. "
    "The index stores the choice.  [default: that of the index, en+nl for a new one]",
)
@repeated_option(
    "--metadata-index",
    "KEY",
    "Declare a key of the metadata: filters on it are faster, and search --group-by takes it. The "
    "index remembers it; may be repeated.",
    "declared",
)
@embedder_option(
    "Also make a vector for each chunk without one (an index with vectors knows its embedder):"
)
@option(
    "--reembed",
    is_flag=True,
    help="Replace all vectors of the index --db with those of --embedder, and read no files.",
)
@repeated_option(
    "--exclude", "PATTERN", "Skip names, or paths below PATH, that match; may be repeated."
)
@repeated_option(
    "--include",
    "PATTERN",
    "Read names that match even if they are hidden, made by tools or excluded; may be repeated.",
)
@option("--allow-empty", is_flag=True, help="Drop the chunks of a PATH that has no file.")
@option("--verbose", is_flag=True, help="Name everything that was skipped, and why.")
@option("--strict", is_flag=True, help="Exit with 1 if anything could not be indexed.")
@json_option
@click.pass_context
def command(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    *,
    paths: tuple[str, ...],
    db: str | None,
    tokenizer: Tokenizer | None,
    retokenize: bool,
    stopwords: Any,
    declared: tuple[str, ...],
    embedder: EmbedderOptions,
    reembed: bool,
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    allow_empty: bool,
    verbose: bool,
    strict: bool,
) -> None:
    """Read Markdown, text and JSON Lines under each PATH into the index --db, or, without PATH,
    the memory root --root into its own index.

    \b
      hedgerow index --root memory
      hedgerow index notes --db notes.db
      hedgerow index notes journal/2026.md --db notes.db --json
      hedgerow index notes --db notes.db --embedder ollama:nomic-embed-text
      hedgerow index --reembed --db notes.db --embedder ollama:bge-m3

    Folders are read recursively: .md .markdown .txt .rst .jsonl .ndjson. Hidden names, links and
    folders made by tools are skipped. Run it again after changes: only differences are written,
    and chunks that are gone from the files are removed. A file that cannot be read is reported
    with the reason, and the others are still indexed. With --reembed, searches use the old vectors
    until all new ones are written; an interrupted run can be repeated.
    """
    if db is None:
        _check_root_options()
        done = _index_root(has_paths=bool(paths), allow_empty=allow_empty, verbose=verbose)
        if strict and done.skips:
            context.exit(FAILED)
        return
    if is_root_named():
        raise click.UsageError("--db and --root exclude each other: an index file, or a root.")
    if retokenize or reembed:
        if paths:
            name = "--retokenize" if retokenize else "--reembed"
            raise click.UsageError(f"{name} reads no files: leave PATH out.")
        if retokenize:
            _retokenize(db, tokenizer or _DEFAULT_TOKENIZER)
        else:
            _reembed(db, embedder)
        return
    if not paths:
        _declare(db, declared)
        return
    from hedgerow.ingest import IndexRun, Rules, discover  # noqa: PLC0415 - not needed by --help

    started = time.monotonic()
    # First, so that a path that does not exist leaves no new index behind.
    discovery = discover(paths, Rules(exclude=exclude, include=include), named=verbose)
    with (
        embedder_of(embedder) as model,
        Index.open(
            db,
            tokenizer=tokenizer or _DEFAULT_TOKENIZER,
            stopwords=stopwords,
            metadata_index=declared,
        ) as index,
    ):
        _check_tokenizer(index, db, tokenizer)
        run = IndexRun(index, discovery, allow_empty=allow_empty)
        _run(run, db)
        found = _embedder(index, embedder, model)
        embedded = None if found.embedder is None else _embed(index, found.embedder, db)
        report, stats = run.report, index.stats()
    seconds = round(time.monotonic() - started, 3)
    if wants_json():
        counts = _as_json(report, db, stats.chunks, seconds)
        counts |= skipped_json(report.passed_by, report.named) if verbose else {}
        counts |= {"notices": [found.notice]} if found.notice is not None else {}
        write_json(counts if embedded is None else counts | {"embedded": embedded})
    else:
        _show_skips(report)
        show_skipped(report.named)
        _show_counts(report, db, stats, embedded, seconds)
        _show_notice(found)
    if (strict and report.skips) or _all_failed(report):
        context.exit(FAILED)


def _declare(db: str, declared: Sequence[str]) -> None:
    """Declare keys of an index that exists, and read no files."""
    if not declared:
        raise click.UsageError("Missing argument 'PATH...': what to read into --db.")
    check_exists(db)
    with Index.open(db, metadata_index=declared) as index:
        keys = index.stats().metadata_index
    if not wrote_json({"db": db, "metadataIndex": keys}):
        echo(f"Declared in {visible(db)}: {visible(', '.join(keys))}")


def _check_root_options() -> None:
    """Refuse options that a root does not take."""
    for name, parameter in given_options():
        if name in _OF_AN_INDEX:
            raise click.UsageError(f"{parameter.opts[0]} goes with --db FILE.")
        if name in _IN_THE_CONFIGURATION:
            raise click.UsageError(
                f"{parameter.opts[0]} goes with --db FILE; a root has its own in hedgerow.json."
            )


def _index_root(*, has_paths: bool, allow_empty: bool, verbose: bool) -> SyncReport:
    """Index a memory root as `index` without an index file does."""
    memory = open_root(NO_ROOT)
    if has_paths:
        raise click.UsageError(
            f"The memory root {memory.path} is indexed whole: leave PATH out, or name an index "
            "file with --db FILE."
        )
    with progress_bar("Indexing") as progress:
        report = memory.index(progress=progress, allow_empty=allow_empty)
    if wants_json():
        more = skipped_json(report.passed_by, report.named) if verbose else {}
        write_json(report.to_dict() | more)
        return report
    from hedgerow.memory.documents import unused_pattern  # noqa: PLC0415 - of roots alone

    from .recall import show_skips  # noqa: PLC0415 - of roots alone

    show_skips(report.skips, len(report.skips))
    for pattern in report.unused:
        echo(f"Note: {visible(unused_pattern(pattern))}", err=True)
    echo(
        f"Indexed {plural(report.documents, 'Markdown document')} in {visible(report.root)}: "
        f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed."
    )
    if verbose:
        show_skipped(report.named)
        echo(f"Skipped {skipped_text(report.passed_by) or 'nothing'}.")
    return report


def _retokenize(db: str, tokenizer: Tokenizer) -> None:
    check_exists(db)
    with Index.open(db) as index, progress_bar("Indexing") as progress:
        before = index.tokenizer
        changed = index.retokenize(tokenizer, progress=progress)
    if wants_json():
        write_json({"db": db, "tokenizer": tokenizer, "before": before, "changed": changed})
    elif changed:
        echo(f"{db} has the tokenizer {tokenizer} now, in place of {before}.")
    else:
        echo(f"{db} has the tokenizer {tokenizer} already.")


def _reembed(db: str, embedder: EmbedderOptions) -> None:
    """Replace the vectors of all chunks with those of another embedder."""
    if embedder.name is None:
        raise click.UsageError("--reembed needs --embedder NAME, which makes the vectors.")
    check_exists(db)
    started = time.monotonic()
    with embedder_of(embedder) as model, Index.open(db) as index:
        before = index.stats()
        state = f"{db} keeps the vectors it had, and those made so far; run the command again to continue"
        with interruptible(f"interrupted: {state}"), progress_bar("Embedding") as progress:
            count = Retriever(index, embedder=model).reembed(progress=progress)
        stats = index.stats()
    seconds = round(time.monotonic() - started, 3)
    if wants_json():
        write_json(
            {
                "db": db,
                "embedded": count,
                "chunks": stats.chunks,
                "dimensions": stats.dimensions,
                "embedder": stats.embedder,
                "replaced": before.vectors,
                "seconds": seconds,
            }
        )
        return
    echo(
        f"Embedded {plural(count, 'chunk')} of {visible(db)} in {seconds:.1f} s with {visible(stats.embedder or '')}, "
        f"{stats.dimensions} dimensions; {plural(before.vectors, 'vector')} replaced."
    )


def _check_tokenizer(index: Index, db: str, asked: str | None) -> None:
    """Refuse a tokenizer that the file does not have; the engine takes the default for none."""
    if asked is not None and asked != index.tokenizer:
        raise InvalidInputError(
            f'{db} has the tokenizer "{index.tokenizer}", not "{asked}"; leave --tokenizer out, or '
            f'change it: hedgerow index --db FILE --retokenize --tokenizer "{asked}"',
            code="tokenizer_mismatch",
        )


def _embedder(index: Index, wanted: EmbedderOptions, named: Embedder | None) -> EmbedderChoice:
    """Find the one that was named, or that of an index with vectors where a chunk has none yet."""
    if named is not None or (not wanted and _is_embedded(index)):
        return EmbedderChoice(named)
    found = recorded_embedder(index, wanted)
    check_prompts(wanted, found.embedder)
    return found


def _run(run: IndexRun, db: str) -> None:
    def state() -> str:
        written = run.report.added + run.report.changed
        return (
            f"interrupted after {plural(run.report.files, 'file')} of "
            f"{run.report.total_files:,}: {plural(written, 'chunk')} written to {db}, which is "
            "intact; run the same command again to finish"
        )

    with interruptible(state), progress_bar("Indexing") as progress:
        run.run(progress)


def _embed(index: Index, embedder: Embedder, db: str) -> int:
    """Embed the chunks without a vector. Each block is stored before the next begins."""
    from hedgerow._dual import run  # noqa: PLC0415
    from hedgerow._retrieval.embedding import embedding_missing  # noqa: PLC0415 - only when it is asked for

    state = f"all files are in {db}, and so are the vectors made so far; run the same command again to finish"
    with (
        interruptible(f"interrupted while embedding: {state}"),
        progress_bar("Embedding") as progress,
    ):
        return run(embedding_missing(index, embedder, progress))


def _as_json(report: IndexReport, db: str, chunks: int, seconds: float) -> dict[str, Any]:
    of_run = report.to_dict()
    return {
        "db": db,
        **{name: of_run.pop(name) for name in ("files", "removedFiles", "ignored")},
        "chunks": chunks,
        **of_run,
        "seconds": seconds,
    }


def _show_skips(report: IndexReport) -> None:
    """List skipped files and lines with reasons on stderr; of one file the first few lines."""
    if not report.skips:
        return
    echo(f"Problems ({plural(len(report.skips), 'place')}):", err=True)
    shown: Counter[str] = Counter()
    for skip in report.skips:
        if shown.total() < _SHOWN_SKIPS and shown[skip.path] < _SHOWN_OF_ONE_FILE:
            shown[skip.path] += 1
            echo(f"  {visible(str(skip))}", err=True)
    more = len(report.skips) - shown.total()
    if more:
        echo(f"  and {more:,} more; --json names them all", err=True)


def _show_counts(
    report: IndexReport, db: str, stats: IndexStats, embedded: int | None, seconds: float
) -> None:
    if not report.total_files and not report.skips:
        echo("Nothing to index: no .md, .markdown, .txt, .rst, .jsonl or .ndjson file there.")
    else:
        echo(
            f"Read {plural(report.files, 'file')} into {visible(db)} in {seconds:.1f} s: "
            f"{plural(report.added, 'chunk')} added, {report.changed:,} changed, "
            f"{report.unchanged:,} unchanged."
        )
    if report.removed:
        files = plural(report.removed_files, "file")
        echo(f"Removed {plural(report.removed, 'chunk')} that no file holds ({files} gone).")
    if report.passed_by:
        hint = "." if report.named else "; --verbose names them."
        echo(f"Skipped {skipped_text(report.passed_by)}{hint}")
    if embedded is not None:
        echo(f"Embedded {plural(embedded, 'chunk')} with {visible(stats.embedder or '')}.")
    echo(f"The index holds {plural(stats.chunks, 'chunk')}.")
    without = stats.chunks - stats.vectors
    if embedded is None and stats.vectors and without:
        echo(
            f"{plural(without, 'chunk')} of them without a vector, which search by meaning does not "
            "find: add --embedder to make them."
        )


def _show_notice(found: EmbedderChoice) -> None:
    if found.notice is not None:
        echo(found.notice)


def _all_failed(report: IndexReport) -> bool:
    """Whether no file could be read, although there were some."""
    return bool(report.skips) and not report.added + report.changed + report.unchanged
