"""Where the scores of a search come from: a row for each hit, and the steps below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from .output import plural, visible

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow import Hit, Response, Trace


def score_text(hit: Hit) -> str:
    """The score of a hit, with the part of the best possible where there is one."""
    parts = hit.explanation
    if parts is None or parts["best_possible"] is None:
        return f"{hit.score:.2f}"
    if parts["multipliers"]:
        return f"{hit.score:.4f}"
    return f"{hit.score:.4f} ({_percent(parts['fraction'])})"


def show_scores(console: Console, response: Response) -> None:
    """Print the table of the hits, and the steps of the search."""
    explained = [hit.explanation or {} for hit in response]
    columns = [
        (name, cell)
        for name, cell in [
            ("keywords", _keywords),
            ("meaning", _meaning),
            ("multiplied by", _multipliers),
            ("reranked", _reranked),
        ]
        if any(cell(parts) for parts in explained)
    ]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right")
    table.add_column("hit", overflow="fold")
    for name, _ in columns:
        table.add_column(name)
    table.add_column("score", justify="right")
    for place, (hit, parts) in enumerate(zip(response, explained, strict=True), start=1):
        cells = [cell(parts) for _, cell in columns]
        table.add_row(f"{place}", visible(hit.id), *cells, score_text(hit))
    console.print(table)
    console.print()
    show_steps(console, response.trace)


def show_steps(console: Console, trace: Trace) -> None:
    """Print what was done, one step a line, with its time."""
    console.print(Text(f"mode {trace.mode}, fusion {trace.fusion}", style="dim"))
    timed: set[str] = set()
    for name, done in _steps(trace):
        # The rungs of the ladder have one time together.
        time = " " * 11 if name in timed else f"{trace.timings[name]:8.2f} ms"
        timed.add(name)
        console.print(Text.assemble((f"  {name:<9}{time}  ", "dim"), visible(done)))
    console.print()


def _steps(trace: Trace) -> list[tuple[str, str]]:
    steps = []
    if trace.embedder_used:
        steps.append(("embed", "the query"))
    if trace.attempts:
        hits = plural(trace.attempts[0].hits, "hit")
        steps.append(("bm25", f"{hits} for {trace.match_query or 'nothing: no word is left'}"))
    steps.extend(
        ("ladder", f"{attempt.strategy} {attempt.query}: {plural(attempt.hits, 'hit')}")
        for attempt in trace.attempts[1:]
    )
    if trace.embedder_used:
        steps.append(("vector", plural(trace.vector_count, "hit")))
    steps.append(("fuse", f"{plural(trace.fused_count, 'hit')} in one ranking"))
    if trace.reranked:
        steps.append(("rerank", f"by {trace.rerank_provider}"))
    elif trace.rerank_skipped_reason == "unanimity":
        steps.append(("rerank", "left out: keywords and meaning agree on the best"))
    return steps


def _keywords(parts: dict[str, Any]) -> str:
    by = parts.get("keywords")
    if by is None:
        return ""
    what = "spelling" if by["fuzzy"] else "BM25"
    share = "" if by["share"] is None else f", {_percent(by['share'])} of the best"
    return f"{_ordinal(by['rank'])}, {what} {by['score']:.2f}{share}: {_added(by)}"


def _meaning(parts: dict[str, Any]) -> str:
    by = parts.get("meaning")
    if by is None:
        return ""
    place = "not in its list" if by["rank"] is None else _ordinal(by["rank"])
    far = "" if by["deviations"] is None else f", {by['deviations']:+.1f} deviations"
    return f"{place}, cosine {by['cosine']:.2f}{far}: {_added(by)}"


def _multipliers(parts: dict[str, Any]) -> str:
    return ", ".join(
        f"{one['factor']:g} ({one['condition']})" for one in parts.get("multipliers", ())
    )


def _reranked(parts: dict[str, Any]) -> str:
    score = parts.get("rerank_score")
    return "" if score is None else f"{score:.3f}"


def _added(by: dict[str, Any]) -> str:
    return f"{by['contribution']:+.4f}"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _ordinal(rank: int) -> str:
    place = rank + 1
    if place % 100 in {11, 12, 13}:
        return f"{place}th"
    return f"{place}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th') }"
