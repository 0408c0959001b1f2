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
_JSON = ("metadata", "explanation")
"""What has no columns of its own in Arrow, for each hit may have other keys."""


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
    columns = _columns(hits)
    for name in _JSON:
        columns[name] = [
            None if value is None else json.dumps(value, ensure_ascii=False)
            for value in columns[name]
        ]
    types = {"int64": pyarrow.int64(), "Int64": pyarrow.int64(), "float64": pyarrow.float64()}
    schema = pyarrow.schema(
        [
            (name, pyarrow.list_(pyarrow.string()))
            if name == "tags"
            else (name, types.get(dtype, pyarrow.string()))
            for name, dtype in _DTYPES.items()
        ]
    )
    return pyarrow.table(columns, schema=schema)


def _columns(hits: Sequence[Hit]) -> dict[str, list[Any]]:
    rows = [hit.to_dict() for hit in hits]
    return {name: [row[name] for row in rows] for name in _DTYPES}
