"""Hits as tables of other libraries, a column for each field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ._engine import Hit
from ._extras import import_of

_DTYPES = {
    "id": "str",
    "path": "str",
    "ordinal": "int64",
    "title": "str",
    "summary": "str",
    "tags": "object",
    "content": "str",
    "metadata": "object",
    "score": "float64",
    "bm25_rank": "Int64",
    "vector_similarity": "float64",
    "rerank_score": "float64",
    "explanation": "object",
}
"""The fields of a hit, and their types in pandas; "Int64" may be missing."""
FIELDS = tuple(_DTYPES)
"""All of them, in the order of columns."""
_JSON = ("metadata", "explanation")
"""What becomes JSON in Arrow, since every hit may have other keys."""


def pandas_frame(hits: Sequence[Hit]) -> Any:
    """A pandas.DataFrame with a row for each hit."""
    pandas = import_of("pandas", needed_by="to_pandas")
    columns = _columns(hits)
    return pandas.DataFrame(
        {name: pandas.Series(columns[name], dtype=dtype) for name, dtype in _DTYPES.items()}
    )


def arrow_table(hits: Sequence[Hit]) -> Any:
    """A pyarrow.Table with a row for each hit."""
    pyarrow = import_of("pyarrow", needed_by="to_arrow")
    schema = pyarrow.schema([(name, arrow_type(name)) for name in FIELDS])
    return pyarrow.table({name: arrow_values(hits, name) for name in FIELDS}, schema=schema)


def arrow_type(field: str) -> Any:
    """The type in Arrow of a field of a hit."""
    pyarrow = import_of("pyarrow", needed_by="to_arrow")
    if field == "tags":
        return pyarrow.list_(pyarrow.string())
    types = {"int64": pyarrow.int64(), "Int64": pyarrow.int64(), "float64": pyarrow.float64()}
    return types.get(_DTYPES[field], pyarrow.string())


def arrow_values(hits: Sequence[Hit], field: str) -> list[Any]:
    """The values of a field for Arrow, one for each hit; None where a hit has none."""
    values = [getattr(hit, field) for hit in hits]
    if field not in _JSON:
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]


def _columns(hits: Sequence[Hit]) -> dict[str, list[Any]]:
    rows = [hit.to_dict() for hit in hits]
    return {name: [row[name] for row in rows] for name in _DTYPES}
