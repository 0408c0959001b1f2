"""`hedgerow eval`: how well an index answers judged queries."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .models import embedder_option
from .output import write_json
from .params import TEXT, Choices

if TYPE_CHECKING:
    from .eval_run import Evaluation

_MODES = ("bm25", "semantic", "hybrid")
_CHARTS = (".png", ".svg")


@click.command("eval", short_help="Measure an index with judged queries.")
@click.option("--db", required=True, metavar="FILE", type=TEXT, help="The index to search.")
@click.option(
    "--queries",
    required=True,
    metavar="FILE",
    type=TEXT,
    help="JSON Lines: id or _id, text, and maybe date and embedding.",
)
@click.option(
    "--qrels",
    required=True,
    metavar="FILE",
    type=TEXT,
    help="Judgements: query, document and score with tabs between, or TREC's four columns.",
)
@click.option(
    "--by",
    type=click.Choice(["id", "path"]),
    help="What judgements name: chunks by id, or paths.  [default: what more of them are]",
)
@click.option(
    "--modes",
    type=Choices(_MODES),
    metavar="LIST",
    help="Of bm25, semantic, hybrid.  [default: bm25, and hybrid where queries have vectors]",
)
@click.option(
    "--matching",
    type=Choices(("spec", "extended")),
    metavar="LIST",
    default="spec,extended",
    show_default=True,
    help="Which words of a question to search for.",
)
@click.option(
    "--fusion",
    type=Choices(("rrf", "score")),
    metavar="LIST",
    default="rrf,score",
    show_default=True,
    help="What hybrid joins its two lists by.",
)
@embedder_option("What gives the queries vectors:")
@click.option(
    "--query-vectors", metavar="FILE.npy", type=TEXT, help="Vectors in the order of the queries."
)
@click.option("--chart", metavar="FILE", type=TEXT, help="Draw the table, as .svg or .png.")
@click.option("--per-query", metavar="FILE", type=TEXT, help="Write every query's figures, as TSV.")
@click.option("--json", "as_json", is_flag=True, help="Write counts and figures as JSON.")
def command(  # noqa: PLR0913 - one argument for each option
    *,
    db: str,
    queries: str,
    qrels: str,
    by: Any,
    modes: Any,
    matching: Any,
    fusion: Any,
    embedder: str | None,
    query_vectors: str | None,
    chart: str | None,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Search for judged queries in several ways, and measure each by its first ten.

    \b
      hedgerow eval --db notes.db --queries questions.jsonl --qrels judged.tsv
      hedgerow eval --db n.db --queries q.jsonl --qrels j.tsv --chart modes.svg
      hedgerow eval --db n.db --queries q.jsonl --qrels j.tsv --modes bm25 --json

    One row for each combination of --modes, --matching and --fusion that differs from the
    others. Both files may be compressed with gzip. Needs: pip install "hedgerow[eval]".
    """
    _check_outputs(chart, per_query)
    from hedgerow import evaluation  # noqa: PLC0415 - not needed by --help

    from .eval_run import Asked, run  # noqa: PLC0415 - as above

    # A missing extra is said before anything is searched.
    evaluation.measure({}, {})
    if chart is not None:
        from . import eval_chart  # noqa: PLC0415 - matplotlib is slow to import
    asked = Asked(
        db=db,
        queries=queries,
        judgements=qrels,
        by=by,
        modes=modes or (),
        matchings=matching,
        fusions=fusion,
        embedder=embedder,
        query_vectors=query_vectors,
    )
    found = run(asked)
    if chart is not None:
        eval_chart.draw(found.outcomes, chart)
    if per_query is not None:
        _write_per_query(found, per_query)
    if as_json:
        write_json(_as_json(found))
        return
    from .eval_text import show  # noqa: PLC0415 - brings rich, which --json does without

    show(found)


def _check_outputs(chart: str | None, per_query: str | None) -> None:
    """Refuse a file that could not be written before anything is searched."""
    if chart is not None and Path(chart).suffix.lower() not in _CHARTS:
        raise click.UsageError(f"--chart draws .svg and .png, and {chart} is neither.")
    for option, file in [("--chart", chart), ("--per-query", per_query)]:
        if file is not None and not Path(file).parent.is_dir():
            raise click.UsageError(f"{option} {file}: there is no folder {Path(file).parent}.")


def _write_per_query(found: Evaluation, file: str) -> None:
    """Write one line for each query and combination, tabs between."""
    from hedgerow.evaluation import MEASURES  # noqa: PLC0415 - as above

    with Path(file).open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, "excel-tab", lineterminator="\n")
        rows.writerow(["query", "matching", "mode", "fusion", *MEASURES])
        for query in found.task.queries:
            for outcome in found.outcomes:
                values = outcome.per_query[query.id]
                figures = [f"{values[name]:.6f}" for name in MEASURES]
                rows.writerow([query.id, *(part or "" for part in outcome.combination), *figures])


def _as_json(found: Evaluation) -> dict[str, Any]:
    task = found.task
    return {
        "db": found.db,
        "chunks": found.chunks,
        "by": task.by,
        "queries": len(task.queries),
        "judgements": task.judged,
        "unasked": task.unasked,
        "unjudged": task.unjudged,
        "without_relevant": task.without_relevant,
        "unknown": task.unknown,
        "results": [
            {
                **outcome.combination._asdict(),
                **outcome.measures,
                "degraded": outcome.degraded,
                "seconds": round(outcome.seconds, 3),
            }
            for outcome in found.outcomes
        ],
        "seconds": found.seconds,
    }
