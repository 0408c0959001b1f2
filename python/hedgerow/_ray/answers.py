"""Answers as columns of Arrow, and as Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hedgerow._tables import arrow_type, arrow_values
from hedgerow.errors import HedgerowError
from hedgerow.results import Response

_ERROR = pa.struct([("code", pa.string()), ("message", pa.string())])


def schema_of(fields: Sequence[str], trace: bool) -> Any:
    """The columns of answers: `results`, `error` and, if asked for, `trace`."""
    hit = pa.struct([(field, arrow_type(field)) for field in fields])
    columns = [("results", pa.list_(hit)), ("error", _ERROR)]
    return pa.schema([*columns, ("trace", pa.string())] if trace else columns)


def answers_table(
    answers: Sequence[Response | HedgerowError], fields: Sequence[str], trace: bool
) -> Any:
    """A row for each answer; an error has no results."""
    schema = schema_of(fields, trace)
    columns = [_results(answers, fields), pa.array([*map(_error, answers)], _ERROR)]
    if trace:
        columns.append(pa.array([*map(_trace, answers)], pa.string()))
    return pa.Table.from_arrays(columns, schema=schema)


def parquet_bytes(table: Any) -> bytes:
    """The table as a file, with checksums that show whether it is damaged."""
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return bytes(sink.getvalue())


def table_of_parquet(content: bytes, fields: Sequence[str], trace: bool, rows: int) -> Any:
    """The table in such a file; raises an error of pyarrow for a damaged one, or ValueError."""
    source = pa.BufferReader(content)
    table = parquet.read_table(source, page_checksum_verification=True)
    if table.num_rows != rows:
        raise ValueError(f"it has {table.num_rows} answers to {rows} queries")
    # Parquet has its own names for the items of a list.
    return table.cast(schema_of(fields, trace))


def _results(answers: Sequence[Response | HedgerowError], fields: Sequence[str]) -> Any:
    """A list of hits for each answer, null for an error."""
    found = [answer.results if isinstance(answer, Response) else [] for answer in answers]
    hits = [hit for results in found for hit in results]
    values = pa.StructArray.from_arrays(
        [pa.array(arrow_values(hits, field), arrow_type(field)) for field in fields],
        fields=[pa.field(field, arrow_type(field)) for field in fields],
    )
    starts = [0, *accumulate(len(results) for results in found)]
    # An offset that is null makes its list null.
    offsets = [
        start if answer is None or isinstance(answer, Response) else None
        for start, answer in zip(starts, [*answers, None], strict=True)
    ]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _error(answer: Response | HedgerowError) -> dict[str, Any] | None:
    """The error of a query, or the stage that its answer lacks; None for a complete answer."""
    if isinstance(answer, HedgerowError):
        return {"code": answer.code, "message": answer.message}
    if answer.trace.error_stage is None:
        return None
    why = "" if answer.error is None else f": {answer.error}"
    return {
        "code": "leg_failed",
        "message": f"the stage {answer.trace.error_stage} failed, the rest answered{why}",
    }


def _trace(answer: Response | HedgerowError) -> str | None:
    trace = getattr(answer, "trace", None)
    if trace is None:
        return None
    # An actor that is started again has to make the same blocks, to the byte: Ray Data then takes
    # those that it does not have yet.
    kept = {name: value for name, value in trace.to_dict().items() if name != "timings"}
    return json.dumps(kept, ensure_ascii=False)
