"""`hedgerow cluster`: collections on a server of OpenSearch."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hedgerow import BackendError, Index, Retriever
from hedgerow._operations.fields import camel_case

from .failures import FAILED, interruptible
from .options import PATH, Command, json_option, option
from .output import echo, plural, progress_bar, show_rows, visible, wants_json, write_json
from .params import EmbedderOptions, embedder_of, embedder_option
from .place import CollectionUrl, check_exists, connection, opened_collection, server_options

if TYPE_CHECKING:
    from hedgerow.opensearch import CollectionStats


_MERGED_PART = 10
"""A copy that writes one in so many of the chunks is worth a merge."""


@click.group("cluster")
def cluster() -> None:
    """Copy an index to a collection on an OpenSearch server, embed it again, and show its state.

    \b
      hedgerow cluster copy notes.db https://search.example:9200/notes --user me
      hedgerow cluster reembed https://search.example:9200/notes --user me --embedder local
      hedgerow cluster status https://search.example:9200/notes --user me

    A password is read from HEDGEROW_OPENSEARCH_PASSWORD. This needs the extra `opensearch`.
    """


@cluster.command("copy", cls=Command)
@click.argument("db", metavar="FILE", type=PATH)
@click.argument("place", metavar="URL/NAME", type=CollectionUrl())
@server_options
@option("--shards", type=click.IntRange(1), default=1, help="For a new collection; 1 by default.")
@option("--replicas", type=click.IntRange(0), default=1, help="For a new collection; 1 by default.")
@option(
    "--fast", is_flag=True, help="Make a new collection for fast searches, which miss a few hits."
)
@option(
    "--no-optimize",
    is_flag=True,
    help="Do not merge at the end; searches are slower.",
)
@json_option
def copy(  # noqa: PLR0913 - one argument for each option
    *,
    db: str,
    place: tuple[str, str],
    shards: int,
    replicas: int,
    fast: bool,
    no_optimize: bool,
    **server: Any,
) -> None:
    """Write all chunks of the index FILE, with their vectors, into the collection NAME.

    \b
      hedgerow cluster copy notes.db http://localhost:9200/notes --replicas 0
      hedgerow cluster copy notes.db https://search.example:9200/notes --user me

    The collection is created if it does not exist. Chunks that it already has unchanged are not
    written again, so running the same command again resumes an interrupted copy. Other chunks in
    the collection are kept. At the end the server merges the segments of the collection, if a tenth
    of its chunks or more was written.
    """
    from hedgerow.opensearch import Collection, copy_index  # noqa: PLC0415 - slow to import
    from hedgerow.opensearch.copying import collection_tokenizer  # noqa: PLC0415 - the same

    check_exists(db)
    started = time.monotonic()
    with Index.open(db, read_only=True) as index:
        try:
            collection = opened_collection(place, server)
        except BackendError as error:
            if error.code != "collection_missing":
                raise
            collection = Collection.create(
                *place,
                **connection(server),
                tokenizer=collection_tokenizer(index),
                stopwords=index.stopwords,
                dimensions=index.stats().dimensions,
                vectors="fast" if fast else "exact",
                keywords="fast" if fast else "exact",
                shards=shards,
                replicas=replicas,
            )
        with collection, progress_bar("Copying") as progress:
            state = f"{place[1]} has the chunks copied so far; run the command again to continue"
            with interruptible(f"interrupted: {state}"):
                copied = copy_index(index, collection, progress=progress)
            if not no_optimize and copied.written * _MERGED_PART >= len(collection) > 0:
                with interruptible(
                    "interrupted: all chunks are copied; the server continues merging"
                ):
                    collection.optimize()
    seconds = round(time.monotonic() - started, 3)
    if wants_json():
        counts = {"written": copied.written, "unchanged": copied.unchanged, "seconds": seconds}
        write_json({"db": db, "url": place[0], "name": place[1]} | counts)
        return
    echo(
        f"Copied {plural(copied.written, 'chunk')} of {visible(db)} to {visible('/'.join(place))} in "
        f"{seconds:.1f} s; {copied.unchanged:,} were there."
    )


@cluster.command("reembed", cls=Command)
@click.argument("place", metavar="URL/NAME", type=CollectionUrl())
@server_options
@embedder_option("The model that makes the new vectors:")
@json_option
def reembed(*, place: tuple[str, str], embedder: EmbedderOptions, **server: Any) -> None:
    """Replace all vectors of the collection NAME with those of --embedder.

    \b
      hedgerow cluster reembed http://localhost:9200/notes --embedder ollama:bge-m3

    Searches use the old vectors until all new ones are there. They are in a copy, which takes the
    place of the collection at the end; writes are refused for the last comparison of both. Running
    the same command again resumes an interrupted one.
    """
    if embedder.name is None:
        raise click.UsageError("This needs --embedder NAME, which makes the vectors.")
    started = time.monotonic()
    with embedder_of(embedder) as model, opened_collection(place, server) as collection:
        state = f"{place[1]} keeps the vectors it had; run the command again to continue"
        with interruptible(f"interrupted: {state}"), progress_bar("Embedding") as progress:
            count = Retriever(collection, embedder=model).reembed(progress=progress)
        stats = collection.stats()
    seconds = round(time.monotonic() - started, 3)
    if wants_json():
        counts = {"embedded": count, "chunks": stats.chunks, "dimensions": stats.dimensions}
        made = {"embedder": stats.embedder, "seconds": seconds}
        write_json({"url": place[0], "name": place[1]} | counts | made)
        return
    echo(
        f"Embedded {plural(count, 'chunk')} of {visible('/'.join(place))} in {seconds:.1f} s with "
        f"{visible(stats.embedder or '')}, {stats.dimensions} dimensions."
    )


@cluster.command("status", cls=Command)
@click.argument("place", metavar="URL/NAME", type=CollectionUrl())
@server_options
@json_option
@click.pass_context
def status(context: click.Context, /, *, place: tuple[str, str], **server: Any) -> None:
    """Show what the collection NAME has, how its shards are, and how long its server takes.

    \b
      hedgerow cluster status http://localhost:9200/notes
      hedgerow cluster status https://search.example:9200/notes --user me --json

    Exits with 1 where a copy of a shard has no place. Nothing is changed.
    """
    with opened_collection(place, server) as collection:
        found = collection.stats()
        started = time.perf_counter()
        with collection._point_in_time() as moment:  # noqa: SLF001 - of this package
            moment.counts([])
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
    if wants_json():
        write_json(
            {"url": place[0], "name": place[1]}
            | {camel_case(name): value for name, value in asdict(found).items()}
            | {"answerMs": milliseconds}
        )
    else:
        show_rows(_described(place, found, milliseconds))
    if found.unassigned:
        context.exit(FAILED)


def _described(
    place: tuple[str, str], found: CollectionStats, milliseconds: float
) -> list[tuple[str, str]]:
    by = f", by {found.embedder}" if found.embedder else ""
    vectors = f"{found.vectors:,}, {plural(found.dimensions or 0, 'dimension')}{by}"
    searches = f"{found.vector_search} vectors, {found.keyword_search} keywords"
    copies = f"{plural(found.shards, 'shard')}, {plural(found.replicas, 'replica')} of each"
    missing = f"; {found.unassigned:,} have no place" if found.unassigned else ""
    return [
        ("collection", "/".join(place)),
        ("chunks", f"{found.chunks:,}"),
        ("vectors", vectors if found.vectors else "none"),
        ("searches", searches),
        ("size", f"{found.size_bytes:,} bytes"),
        ("tokenizer", found.tokenizer),
        ("shards", f"{copies}, {found.status}{missing}"),
        ("schema", f"version {found.schema_version}, on OpenSearch {found.server_version}"),
        ("answers", f"in {milliseconds} ms"),
    ]
