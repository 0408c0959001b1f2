"""`hedgerow reembed`: replace the vectors of an index, for another embedder."""

from __future__ import annotations

import time

import click

from hedgerow import Index, Retriever

from .failures import InterruptedRunError
from .models import Wanted, embedder_of, embedder_option
from .output import echo, plural, progress_bar, visible, write_json
from .params import Command, db_option
from .stores import check_there_is


@click.command("reembed", cls=Command, short_help="Replace the vectors of an index.")
@db_option("The index.", required=True)
@embedder_option("The new embedder:", required=True)
@click.option("--json", "as_json", is_flag=True, help="Write the counts as JSON.")
def command(*, db: str, embedder: Wanted, as_json: bool) -> None:
    """Replace the vectors of all chunks with those of another embedder.

    \b
      hedgerow reembed --db notes.db --embedder model2vec:minishlab/potion-base-8M
      hedgerow reembed --db notes.db --embedder ollama:nomic-embed-text
      hedgerow reembed --db n.db --embedder openai:bge-m3@http://localhost:8000/v1

    An index holds the vectors of one embedder and refuses those of any other. The old vectors are
    searched until all new ones are ready, and are kept if this is interrupted or fails; running
    the same command again resumes where it stopped. To embed only new chunks, use `hedgerow index
    --embedder`.
    """
    check_there_is(db)
    started = time.monotonic()
    with embedder_of(embedder) as model, Index.open(db) as index:
        before = index.stats()
        try:
            with progress_bar("Embedding") as progress:
                count = Retriever(index, embedder=model).reembed(progress=progress)
        except KeyboardInterrupt as stop:
            raise InterruptedRunError(
                f"interrupted: {db} keeps the vectors it had, and those made so far; run the command "
                "again to go on"
            ) from stop
        stats = index.stats()
    seconds = round(time.monotonic() - started, 3)
    if as_json:
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
