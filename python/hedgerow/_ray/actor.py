"""The actor: blocks of rows in, the same rows with their answers out."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.results import Response

from .answers import answers_table, parquet_bytes, table_of_parquet
from .checkpoint import BatchQueries, Checkpoint
from .given import GivenVectors
from .plan import Plan

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
    """The vectors of a column: lists, or Ray's tensors; () where there is none."""
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
