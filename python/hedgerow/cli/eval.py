"""`hedgerow eval`: how well an index answers judged queries."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from hedgerow import Embedder, Evaluation, Index, IndexStats
from hedgerow._extras import imports_of
from hedgerow._judged import JudgedQuery, read_judgements, read_passages, read_queries, read_vectors
from hedgerow._retrieval.embedding import RecordedEmbedder
from hedgerow.evaluation import (
    MEASURES,
    Combination,
    Outcome,
    ReadyVectors,
    Task,
    best_profile,
    combinations,
    embed_once,
    make_task,
    measure,
    outcomes_of,
)
from hedgerow.typing import Fusion, JudgedBy, JudgedMode, Matching

from .failures import interruptible
from .options import (
    PATH,
    Command,
    F,
    json_option_with,
    option,
    path_option,
)
from .output import echo, progress_bar, wants_json, write_json
from .params import (
    Choices,
    EmbedderChoice,
    EmbedderOptions,
    check_prompts,
    embedder_of,
    embedder_option,
    recorded_embedder,
    rerank_option,
    reranker_of,
)
from .place import check_exists, db_option

_CHARTS = (".png", ".svg")


@dataclass(frozen=True, slots=True)
class _EvalArguments:
    """The options of the user; `modes` is empty if none were named."""

    by: JudgedBy | None
    modes: Sequence[JudgedMode]
    matching: Sequence[Matching]
    fusion: Sequence[Fusion]
    neighbors: Sequence[Literal["on", "off"]]
    reweight: Sequence[Literal["on", "off"]]
    best: bool
    embedder: EmbedderOptions
    rerank: str | None
    query_vectors: str | None


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """The measurements, the number of chunks of the index, and the seconds."""

    db: str
    chunks: int
    task: Task
    outcomes: list[Outcome]
    seconds: float
    notice: str | None


def _list_option(
    name: str, choices: Sequence[str], help_text: str, defaults: int = 0
) -> Callable[[F], F]:
    """Add an option that takes some of a few words; the first `defaults` of them are the default."""
    listed = ",".join(choices[:defaults]) or None
    attributes: dict[str, Any] = {"type": Choices(choices), "default": listed}
    return option(name, metavar="LIST", show_default=bool(listed), help=help_text, **attributes)


@click.command("eval", cls=Command)
@db_option("The index to search.")
@path_option(
    "--folder",
    "DIR",
    "In place of --db, --queries and --qrels: a folder with passages.jsonl, queries.jsonl and "
    "qrels.tsv, or these with .gz, searched in memory. Given several times, one table has all of them.",
    "folders",
    multiple=True,
)
@path_option("--queries", "FILE", "JSON Lines: id or _id, text, and maybe date and embedding.")
@path_option(
    "--qrels",
    "FILE",
    "Judgements: query, document and score with tabs between, or TREC's four columns.",
)
@option(
    "--by",
    type=click.Choice(["id", "path"]),
    help="What judgements name: chunks by id, or paths.  [default: whichever matches more of them]",
)
@_list_option(
    "--modes",
    ("bm25", "semantic", "hybrid"),
    "Of bm25, semantic, hybrid.  [default: bm25, and hybrid where queries have vectors]",
)
@_list_option("--matching", ("spec", "extended"), "Which words of a query to search for.", 2)
@_list_option("--fusion", ("rrf", "score"), "How hybrid fuses its two rankings.", 2)
@_list_option("--neighbors", ("off", "on"), "Whether the chunks next to a chunk count for it.", 1)
@_list_option("--reweight", ("on", "off"), "Whether the intent of a question multiplies scores.", 1)
@option(
    "--best/--no-best",
    default=True,
    show_default=True,
    help="Measure the profile best as well.",
)
@embedder_option("The embedder of the queries:")
@rerank_option
@path_option("--query-vectors", "FILE.npy", "Vectors in the order of the queries.")
@option("--chart", metavar="FILE", type=PATH, help="Draw the table, as .svg or .png.")
@option("--per-query", metavar="FILE", type=PATH, help="Write every query's figures, as TSV.")
@json_option_with("Write counts and figures as JSON.")
def command(  # noqa: PLR0913 - one argument for each option
    *,
    db: str | None,
    folders: Sequence[str],
    queries: str | None,
    qrels: str | None,
    modes: Any,
    chart: str | None,
    per_query: str | None,
    **options: Any,
) -> None:
    """Search for judged queries in several ways, and measure the first ten results of each.

    \b
      hedgerow eval --db notes.db --queries questions.jsonl --qrels judged.tsv
      hedgerow eval --db n.db --queries q.jsonl --qrels j.tsv --chart modes.svg
      hedgerow eval --db n.db --queries q.jsonl --qrels j.tsv --modes bm25 --json
      hedgerow eval --folder lang/ja --folder lang/de

    There is a row for each combination of --modes, --matching, --fusion, --neighbors and --reweight that
    differs from the others, and one for the profile best in each mode. Both files may be compressed with gzip. Needs: pip install "hedgerow[eval]".
    """
    _check_outputs(chart, per_query)
    asked = _EvalArguments(modes=modes or (), **options)
    measure({}, {})  # a missing extra is an error before anything is searched
    if chart is not None:
        with imports_of("eval", needed_by="a chart"):  # as above
            import_module("matplotlib")
    files = _files(folders, db, queries, qrels)
    for name, given in [("--chart", chart), ("--per-query", per_query)]:
        if given is not None and len(files) > 1:
            raise click.UsageError(f"{name} is of one --folder, and there are {len(files)}.")
    found = [_run(asked, one) for one in files]
    if chart is not None:
        from .eval_text import draw  # noqa: PLC0415 - brings rich, which --json does without

        draw(found[0].outcomes, chart)
    if per_query is not None:
        _write_per_query(found[0], per_query)
    if wants_json():
        each = [_as_json(one) for one in found]
        write_json(each[0] if len(each) == 1 else {"folders": each})
        return
    from .eval_text import show  # noqa: PLC0415 - brings rich, which --json does without

    show([(one.db, one.chunks, one.task, one.outcomes) for one in found])
    for notice in dict.fromkeys(one.notice for one in found if one.notice is not None):
        echo(notice)


class _Files(NamedTuple):
    """The index, or of a folder the file of passages, and the files of queries and judgements."""

    db: str
    queries: str
    judgements: str
    is_folder: bool = False


def _files(
    folders: Sequence[str], db: str | None, queries: str | None, judgements: str | None
) -> list[_Files]:
    """Return the files of each folder, or those that were named one by one."""
    named = {"--db": db, "--queries": queries, "--qrels": judgements}
    if not folders:
        missing = [option for option, given in named.items() if given is None]
        if missing:
            raise click.UsageError(
                f"Missing option {missing[0]!r}, or --folder in place of all three."
            )
        return [_Files(str(db), str(queries), str(judgements))]
    both = [option for option, given in named.items() if given is not None]
    if both:
        raise click.UsageError(f"--folder has its own files: leave {both[0]} out.")
    return [_files_in(folder) for folder in folders]


def _files_in(folder: str) -> _Files:
    names = ("passages.jsonl", "queries.jsonl", "qrels.tsv")
    passages, queries, judgements = (_file_in(folder, name) for name in names)
    return _Files(passages, queries, judgements, is_folder=True)


def _file_in(folder: str, name: str) -> str:
    plain = Path(folder, name)
    compressed = plain.with_name(f"{name}.gz")
    return str(compressed if compressed.exists() and not plain.exists() else plain)


def _index(files: _Files) -> Index:
    """Open the index, or make one in memory of the passages."""
    if not files.is_folder:
        return Index.open(files.db, read_only=True)
    index = Index.in_memory()
    index.upsert(read_passages(files.db))
    return index


def _run(asked: _EvalArguments, files: _Files) -> _Evaluation:
    """Search the index in every way asked for, and measure each."""
    if asked.embedder and asked.query_vectors is not None:
        raise click.UsageError("Give --embedder or --query-vectors, not both.")
    if not files.is_folder:
        check_exists(files.db)
    queries = read_queries(files.queries)
    judgements = read_judgements(files.judgements)
    started = time.monotonic()
    with (
        interruptible("interrupted: nothing was written"),
        _index(files) as index,
        embedder_of(asked.embedder) as named,
        reranker_of(asked.rerank) as reranker,
    ):
        stats = index.stats()
        found = _embedder(asked, queries, index, named)
        modes = _modes(asked, files.db, queries, stats, found)
        task = make_task(index, queries, judgements, asked.by)
        vectors = None
        if set(modes) - {"bm25"}:
            vectors = _vectors(asked, queries, task, index, found.embedder)
        models = {"vectors": vectors, "reranker": reranker}
        with progress_bar("Searching") as progress:
            outcomes = outcomes_of(index, task, _ways(asked, modes), progress, **models)
    seconds = round(time.monotonic() - started, 3)
    return _Evaluation(files.db, stats.chunks, task, outcomes, seconds, found.notice)


def _embedder(
    asked: _EvalArguments, queries: Sequence[JudgedQuery], index: Index, named: Embedder | None
) -> EmbedderChoice:
    """Return the embedder that was named, or that of the index where nothing else has vectors."""
    ready = asked.query_vectors is not None or queries[0].vector is not None
    if named is not None or ready or set(asked.modes) == {"bm25"}:
        return EmbedderChoice(named)
    found = recorded_embedder(index, asked.embedder)
    check_prompts(asked.embedder, found.embedder)
    # Without modes nobody asked for meaning; vectors of the caller's own are no omission then.
    is_own = RecordedEmbedder.of(index).adapter is None
    return EmbedderChoice() if is_own and not asked.modes else found


def _ways(asked: _EvalArguments, modes: Sequence[JudgedMode]) -> list[Combination]:
    switches = ([one == "on" for one in given] for given in (asked.neighbors, asked.reweight))
    ways = combinations(modes, asked.matching, asked.fusion, *switches)
    if asked.best:
        ways += best_profile(modes)
    return ways


def _modes(
    asked: _EvalArguments,
    db: str,
    queries: Sequence[JudgedQuery],
    stats: IndexStats,
    found: EmbedderChoice,
) -> Sequence[JudgedMode]:
    """Return the requested modes, if there are vectors for them, or all that are possible."""
    have = (
        found.embedder is not None
        or asked.query_vectors is not None
        or queries[0].vector is not None
    )
    if not asked.modes:
        return ("bm25", "hybrid") if have and stats.vectors else ("bm25",)
    if set(asked.modes) == {"bm25"}:
        return asked.modes
    if not have:
        raise click.UsageError(
            "semantic and hybrid need vectors of the queries: give --embedder NAME or "
            "--query-vectors FILE.npy, put an embedding into each query, or give --modes bm25."
            f"{'' if found.notice is None else f' {found.notice}'}"
        )
    if not stats.vectors:
        raise click.UsageError(
            f"{db} has no vectors to search by meaning; make them with: hedgerow index "
            f"--reembed --db {db} --embedder NAME, or give --modes bm25."
        )
    return asked.modes


def _vectors(
    asked: _EvalArguments,
    queries: Sequence[JudgedQuery],
    task: Task,
    index: Index,
    model: Embedder | None,
) -> Embedder:
    """Return the vectors of the queries: from a model, a file, or the queries themselves."""
    texts = [query.text for query in queries]
    if asked.query_vectors is not None:
        return ReadyVectors(texts, read_vectors(asked.query_vectors, len(texts)))
    if model is None:
        return ReadyVectors(texts, [query.vector or [] for query in queries])
    with progress_bar("Embedding") as progress:
        return embed_once(model, task.queries, progress, index=index)


def _check_outputs(chart: str | None, per_query: str | None) -> None:
    """Refuse a file that could not be written before anything is searched."""
    if chart is not None and Path(chart).suffix.lower() not in _CHARTS:
        raise click.UsageError(f"--chart draws .svg and .png, and {chart} is neither.")
    for name, file in [("--chart", chart), ("--per-query", per_query)]:
        if file is not None and not Path(file).parent.is_dir():
            raise click.UsageError(f"{name} {file}: there is no folder {Path(file).parent}.")


def _write_per_query(found: _Evaluation, file: str) -> None:
    """Write one line for each query and combination, tabs between."""
    with Path(file).open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, "excel-tab", lineterminator="\n")
        rows.writerow(["query", *Combination._fields, *MEASURES])
        for query in found.task.queries:
            for outcome in found.outcomes:
                values = outcome.per_query[query.id]
                figures = [f"{values[name]:.6f}" for name in MEASURES]
                rows.writerow([query.id, *_cells(outcome.combination), *figures])


def _cells(way: Combination) -> list[str]:
    on = {True: "on", False: "off", None: ""}
    return [on[part] if part is None or isinstance(part, bool) else part for part in way]


def _as_json(found: _Evaluation) -> dict[str, Any]:
    return {
        "db": found.db,
        "chunks": found.chunks,
        **Evaluation(found.task, found.outcomes).to_dict(),
        "seconds": found.seconds,
        **({} if found.notice is None else {"notices": [found.notice]}),
    }
