"""Values as HTML, for notebooks: tables without scripts, styles or anything from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ._engine import Hit

_LONGEST = 300
"""The most characters of a text in a cell."""


def of_hit(hit: Hit) -> str:
    """A row for each field that says something, and why the hit stands where it does."""
    fields = hit.to_dict()
    del fields["explanation"]
    rows = [(name, value) for name, value in fields.items() if value not in (None, "", [], {})]
    return _table((), [*rows, ("why", hit.explain())])


def of_response(response: Any) -> str:
    """A row for each result, and below it how many were found and by what."""
    rows = [
        (rank, hit.path, hit.score, hit.title, hit.content)
        for rank, hit in enumerate(response.results, start=response.offset + 1)
    ]
    trace = response.trace
    told = f"{len(rows)} of {trace.fused_count} found, mode {trace.mode}"
    if trace.error_stage is not None:
        told += f"; the stage {trace.error_stage} failed"
    paragraphs = "".join(map(_paragraph, (told, *response.notices)))
    return _table(("", "path", "score", "title", "content"), rows) + paragraphs


def of_trace(trace: Any) -> str:
    """A row for each key of the trace, with the times as a list."""
    keys = trace.to_dict()
    keys["attempts"] = [f"{one.strategy}: {one.query} ({one.hits})" for one in trace.attempts]
    keys["timings"] = [f"{stage}: {time:.2f} ms" for stage, time in trace.timings.items()]
    return _table((), keys.items())


def of_query_result(result: Any) -> str:
    """The rows of `select`, or a row for each node with its score."""
    if result.count is not None:
        return _paragraph(f"count: {result.count}")
    if result.columns is not None and result.rows is not None:
        table = _table(result.columns, result.rows)
    else:
        table = _table(("key", "score"), zip(result.keys, result.scores, strict=True))
    return table + "".join(_paragraph(warning) for warning in result.warnings)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; without a header, the first cell of each row is one."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(_row(row, named=not header) for row in rows)
    return (
        f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
    )


def _row(row: Sequence[object], *, named: bool) -> str:
    cells = [f"<td>{_cell(value)}</td>" for value in row]
    if named:
        cells[0] = f"<th>{_cell(row[0])}</th>"
    return f"<tr>{''.join(cells)}</tr>"


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "<br>".join(_cell(item) for item in value)
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
