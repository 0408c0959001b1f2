"""The actor: blocks of rows in, the same rows with their answers out."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hedgerow._tables import arrow_type, arrow_values
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.results import Response

from .plan import BatchQueries, Checkpoint, GivenVectors, Plan

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


_log = logging.getLogger("hedgerow.ray")


class SearchActor:
    """Searches for the queries of each block; what Ray Data keeps an instance of in every actor."""

    def __init__(self, pickled: bytes) -> None:
        self.plan: Plan = pickle.loads(pickled)  # noqa: S301 - of the process that started the run
        self.retriever = self.plan.open()
        self.checkpoint = self.plan.checkpoint(self.retriever)

    def __call__(self, block: pa.Table) -> Iterator[pa.Table]:
        """The rows of a block in their order, as tables of `batch_size` rows."""
        columns, size = self.plan.columns, self.plan.batch_size
        columns.check(block.column_names)
        # A block without rows gives a table too, which has the columns with their types.
        for start in range(0, block.num_rows or 1, size):
            batch = block.slice(start, size)
            found = self._answers(batch)
            for added, name in zip(columns.added, found.column_names, strict=True):
                batch = batch.append_column(added, found.column(name))
            yield batch

    def _answers(self, batch: pa.Table) -> pa.Table:
        """The columns that are added: from the checkpoint if it has them, or found now."""
        columns = self.plan.columns
        asked = BatchQueries(
            _texts(batch, columns.query),
            None if columns.vector is None else _vectors(batch, columns.vector),
            None if columns.date is None else batch.column(columns.date).to_pylist(),
        )
        if self.checkpoint is None:
            return answers_table(self._search(asked), columns.fields, columns.trace)
        return self._kept(self.checkpoint, asked)

    def _kept(self, checkpoint: Checkpoint, asked: BatchQueries) -> pa.Table:
        """The answers from the checkpoint, which keeps them if it did not yet."""
        fields, trace = self.plan.columns.fields, self.plan.columns.trace
        name = asked.digest() + ".parquet"
        content = checkpoint.read(name)
        if content is not None:
            try:
                return table_of_parquet(content, fields, trace, len(asked.queries))
            except (pa.ArrowException, OSError, ValueError) as error:
                _log.warning(
                    "%s is damaged and is written again: %s", checkpoint.folder / name, error
                )
        found = answers_table(self._search(asked), fields, trace)
        content = parquet_bytes(found)
        # A failed query may succeed another time.
        if found.column("error").null_count == found.num_rows:
            checkpoint.write(name, content)
        # As a later run reads it: Ray Data cuts blocks by their bytes, which are then the same.
        return table_of_parquet(content, fields, trace, found.num_rows)

    def _search(self, asked: BatchQueries) -> list[Response | HedgerowError]:
        places = [place for place, query in enumerate(asked.queries) if query is not None]
        texts = [query for query in asked.queries if query is not None]
        options = dict(self.plan.search)
        if asked.dates is not None:
            options["question_date"] = [asked.dates[place] for place in places]
        if asked.vectors is not None and isinstance(self.retriever.embedder, GivenVectors):
            self.retriever.embedder.expect(texts, [asked.vectors[place] for place in places])
        found = iter(self.retriever.search_many(texts, on_error="return", **options))
        answers = [self._no_query() if query is None else next(found) for query in asked.queries]
        for answer in answers:
            if self.plan.on_error == "raise" and isinstance(answer, HedgerowError):
                raise answer
        return answers

    def _no_query(self) -> HedgerowError:
        return InvalidInputError(
            f"a row has no query: its column {self.plan.columns.query!r} is null; filter such rows "
            'out, or give on_error="return"',
            code="invalid_query",
        )


def _texts(batch: pa.Table, name: str) -> list[str | None]:
    column = batch.column(name)
    kinds = pa.types
    if not (
        kinds.is_string(column.type)
        or kinds.is_large_string(column.type)
        or kinds.is_string_view(column.type)
        or kinds.is_null(column.type)
    ):
        raise InvalidInputError(
            f"the column {name!r} is of {column.type} and must be of texts; convert it, or name "
            "another with query_column=",
            code="invalid_query",
        )
    found: list[str | None] = column.to_pylist()
    return found


def _vectors(batch: pa.Table, name: str) -> list[Any]:
    """The vectors of a column: lists, or Ray's tensors; () for a null."""
    rows: Sequence[Any] = batch.column(name).combine_chunks().to_numpy(zero_copy_only=False)
    if any(row is not None and not _is_vector(row) for row in rows):
        raise InvalidInputError(
            f"the column {name!r} is of {batch.column(name).type} and must be of vectors, lists of "
            "numbers; convert it, or name another with vector_column=",
            code="invalid_vector",
        )
    return [() if row is None else row for row in rows]


def _is_vector(row: Any) -> bool:
    return getattr(row, "ndim", 0) == 1 and row.dtype.kind in "fiu"
