"""Figures as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .figures import counted, fitted
from .measures import OUTSIDE, Cost, Latency, Quality, Written

_STAGES = ("bm25", "vector", "fuse", OUTSIDE)


@dataclass(slots=True)
class Row:
    """The measurements of one place with one number of chunks."""

    chunks: int
    place: str
    latency: Latency
    pace: dict[int, float]
    written: Written | None = None
    bytes_a_chunk: float | None = None
    costs: dict[str, list[Cost]] = field(default_factory=dict)


def summary(row: Row) -> str:
    """Return the main figures on one line, as progress output."""
    found = [f"p50 {row.latency.whole.p50:.1f} ms", f"{max(row.pace.values()):,.0f} searches/s"]
    if row.written:
        found.append(f"{max(row.written.pace.values()):,.0f} chunks written/s")
    return ", ".join(found)


def latency_table(rows: Sequence[Row]) -> str:
    """Return a table of whole searches and their stages."""
    head = ["chunks", "place", "min / p50 / p95, ms", *(f"{stage}, p50" for stage in _STAGES)]
    lines = []
    for row in rows:
        whole, stages = row.latency.whole, row.latency.stages
        medians = [f"{stages[name].p50:.2f}" if name in stages else "" for name in _STAGES]
        shown = f"{whole.least:.1f} / {whole.p50:.1f} / {whole.p95:.1f}"
        lines.append([f"{row.chunks:,}", row.place, shown, *medians])
    return _table(head, lines)


def request_table(rows: Sequence[Row]) -> str:
    """Return a table of the requests per search, by kind, with their durations."""
    head = ["chunks", "place", "requests a search", "min / p50 / p95 of each, ms"]
    lines = []
    for row in (row for row in rows if row.latency.requests):
        kinds = [
            f"{kind} {times.least:.1f} / {times.p50:.1f} / {times.p95:.1f}"
            for kind, times in row.latency.waiting.items()
        ]
        requests = f"{row.latency.requests:.1f}"
        lines.append([f"{row.chunks:,}", row.place, requests, "<br>".join(kinds)])
    return _table(head, lines)


def throughput_table(rows: Sequence[Row]) -> str:
    """Return a table of searches and writes per second by threads, and the cost of a write."""
    head = ["chunks", "place", "searches/s", "chunks written/s"]
    head += ["CPU a written chunk, client + server, ms", "bytes on disk a chunk"]
    lines = []
    for row in rows:
        written = row.written
        cells = [f"{row.chunks:,}", row.place, _by_threads(row.pace)]
        cells.append(_by_threads(written.pace) if written else "")
        cells.append(f"{written.client:.2f} + {written.server:.2f}" if written else "")
        cells.append(f"{row.bytes_a_chunk:,.0f}" if row.bytes_a_chunk else "")
        lines.append(cells)
    return _table(head, lines)


def cost_table(rows: Sequence[Row]) -> str:
    """Return a table of the server's processor time: fixed, per match, and per compared vector."""
    head = ["place", "search", "measured, ms", "fixed, ms", "per 1,000 matches, ms"]
    head += ["per 1,000 vectors, ms", "off by at most, ms"]
    lines = []
    for place in dict.fromkeys(row.place for row in rows if row.costs):
        of_place = [row for row in rows if row.place == place]
        for mode in of_place[0].costs:
            found = [cost for row in of_place for cost in row.costs[mode]]
            lines.append([place, mode, *_fit_cells(found, vectors=mode == "hybrid")])
    return _table(head, lines)


def quality_table(found: Mapping[tuple[int, str], Quality]) -> str:
    """Return a table that compares fast searches with the exact one."""
    head = ["chunks", "way", "of the first ten the same", "nDCG@10 exact", "nDCG@10 fast"]
    lines = [
        [
            f"{chunks:,}",
            way,
            f"{quality.overlap:.1%}",
            *("" if value is None else f"{value:.4f}" for value in (quality.exact, quality.fast)),
        ]
        for (chunks, way), quality in found.items()
    ]
    return _table(head, lines)


def _fit_cells(found: Sequence[Cost], *, vectors: bool) -> list[str]:
    """Return the fitted costs of groups of queries as cells.

    A cost that cannot be determined is empty.
    """
    least, most = min(cost.server for cost in found), max(cost.server for cost in found)
    measured = f"{least:.1f} to {most:.1f}"
    # With a single number of chunks, the cost of vectors is part of the fixed cost.
    by_vectors = vectors and len({cost.chunks for cost in found}) > 1
    quantities = [
        (cost.matches / 1e3, *([cost.chunks / 1e3] if by_vectors else [])) for cost in found
    ]
    try:
        fit = fitted(quantities, [cost.server for cost in found])
    except ValueError as error:
        return [measured, str(error), "", "", ""]
    each = [f"{cost:.3f}" for cost in fit.each]
    return [measured, f"{fit.fixed:.2f}", *each, *[""] * (2 - len(each)), f"{fit.worst:.2f}"]


def _by_threads(pace: Mapping[int, float]) -> str:
    several = len(pace) > 1
    return ", ".join(
        f"{value:,.0f} ({counted(threads, 'thread')})" if several else f"{value:,.0f}"
        for threads, value in pace.items()
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))
