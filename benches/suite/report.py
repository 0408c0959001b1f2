"""The figures as text for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from .contenders import contenders
from .results import Row, Target, shown

OURS = "hedgerow"
FLOORS = {"reading int8 once", "sets in Python"}
_WIDTH = 40


def lines(row: Row) -> Iterator[str]:
    """Yield a row as lines for a terminal: the contenders, then the targets and the checks."""
    yield f"{row.what}" + (f"  [{row.corpus}]" if row.corpus else "")
    for name in row.figures:
        figures = "".join(f"{shown(value, row.unit):>12}" for value in row.both(name))
        ratio = "" if name.startswith(OURS) else f"{_times(row.against_ours(name)):>10}"
        yield f"  {name:{_WIDTH}}{figures:24}{ratio}".rstrip()
    for name, why in row.absent.items():
        yield f"  {name:{_WIDTH}}{why}"
    for target in row.targets:
        yield f"  -> {target.aim}: {target.reached}, {_verdict(target)}"
    for check in row.checks:
        yield f"  -- {check}"


def tables(rows: Sequence[Row], machine: Mapping[str, str]) -> str:
    """Return every row, in one table per corpus."""
    parts = [*(f"- {name}: {value}" for name, value in machine.items()), ""]
    for corpus, of_corpus in groupby(rows, key=lambda row: row.corpus):
        parts += [f"### {f'{corpus} chunks' if corpus else 'Without an index'}", ""]
        parts += ["| what | hedgerow | others | target | answers |", "|---|---|---|---|---|"]
        parts += [_line(row) for row in of_corpus]
        parts.append("")
    parts += [f"- {kind.NAME}: {kind.NOTE}." for kind in contenders()]
    return "\n".join(parts)


def _line(row: Row) -> str:
    ours = [_figure(row, name) for name in row.figures if name.startswith(OURS)]
    others = [
        f"{_figure(row, name)} ({_times(row.against_ours(name))})"
        for name in row.figures
        if not name.startswith(OURS)
    ]
    others += [f"{name}: {why}" for name, why in row.absent.items()]
    targets = [f"{one.aim}: {one.reached}, {_verdict(one)}" for one in row.targets]
    cells = [[row.what], ours, others, targets, list(row.checks)]
    return "| " + " | ".join("<br>".join(cell) for cell in cells) + " |"


def _figure(row: Row, name: str) -> str:
    label = name.removeprefix(OURS).removeprefix(", ")
    number, unit = " / ".join(shown(value, row.unit) for value in row.both(name)).rsplit(" ", 1)
    return f"{label} {number.replace(f' {unit}', '')} {unit}".strip()


def summary(rows: Sequence[Row], machine: Mapping[str, str]) -> str:
    """Return the summary for the documents, from the largest corpus of up to 100,000 chunks."""
    chosen = headline(rows)
    what = (
        f"The median at {chosen[0].corpus} chunks, and the time of others relative to it; "
        f"{machine['date']}, {machine['processor']}."
    )
    parts = [
        what,
        "",
        "| | hedgerow | others, relative time |",
        "|---|---|---|",
    ]
    for row in chosen:
        others = (
            ", ".join(f"{name} {_times(row.against_ours(name))}" for name in peers(row))
            or "not measured"
        )
        parts.append(f"| {row.what} | {shown(row.figures[OURS].p50, row.unit)} | {others} |")
    parts += ["", _faster(chosen)]
    return "\n".join(parts)


def headline(rows: Sequence[Row]) -> list[Row]:
    """Return the rows about searching of one corpus."""
    keys = (
        "bm25-OR",
        "bm25-new",
        "bm25-phrase",
        "bm25-AND",
        "vector",
        "vector-batch",
        "hybrid",
        "single",
    )
    sizes = sorted({row.chunks for row in rows if row.corpus.replace(",", "").isdigit()})
    size = max((size for size in sizes if size <= 100_000), default=0)
    chosen = [row for row in rows if row.chunks == size and row.key in keys]
    if not chosen:
        raise SystemExit("nothing to publish: measure a made-up corpus of at most 100,000 chunks")
    return chosen


def peers(row: Row) -> list[str]:
    """Return the contenders without floors and without variants, whose names have a comma."""
    return [name for name in row.figures if "," not in name and name not in {OURS, *FLOORS}]


def _faster(rows: Sequence[Row]) -> str:
    """Return a Markdown list of the peers that are faster, each with its rows and how it differs."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for name in peers(row):
            if row.against_ours(name) < 1:
                part = f"{row.what} ({row.against_ours(name):.2f} of the time)"
                found.setdefault(name, []).append(part)
    if not found:
        return "In this run nobody was faster at any of these."
    notes = {kind.NAME: kind.NOTE for kind in contenders()}
    listed = [
        f"- {name}: {'; '.join(parts)}. How it differs: {notes[name]}."
        for name, parts in found.items()
    ]
    return "\n".join(["Faster than hedgerow:", "", *listed])


def as_json(rows: Sequence[Row], machine: Mapping[str, str]) -> str:
    """Return everything as JSON, with times in seconds and sizes in bytes."""
    return json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=1)


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def _verdict(target: Target) -> str:
    return {True: "met", False: "missed", None: "open"}[target.met]
