"""The answer to a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hedgerow import PipelineError, parse_pipeline
from hedgerow._operations.shapes import to_json

if TYPE_CHECKING:
    from hedgerow import Pipeline, QueryResult


def shown_columns(pipeline: str) -> str:
    """Return a pipeline with a last stage that selects the columns to show."""
    return f"{pipeline} | select:type,weight,timestamp"


def with_columns(pipeline: Pipeline, types: Sequence[str]) -> tuple[Pipeline, bool]:
    """Add the columns to show, unless the pipeline selects its own; return whether they were added."""
    try:
        return parse_pipeline(shown_columns(str(pipeline)), types=types), True
    except PipelineError:
        # The pipeline ends in `count` or `select`, or a further stage would exceed the limit.
        return pipeline, False


def query_answer(result: QueryResult, *, shown: bool, explain: bool) -> dict[str, Any]:
    """The JSON of a pipeline's result.

    `shown` if its last stage was added for the columns of a table.
    """
    if result.count is not None:
        value: dict[str, Any] = {"count": result.count}
    else:
        columns, rows = result.columns or [], result.rows or [[] for _ in result.keys]
        value = {
            "count": len(result),
            "results": [
                {"key": key, "score": score, **dict(zip(columns, row, strict=True))}
                for key, score, row in zip(result.keys, result.scores, rows, strict=True)
            ],
        }
    value["columns"] = None if shown else result.columns
    value |= {"pairs": result.pairs, "warnings": result.warnings, "stale": result.stale}
    if explain:
        stages = result.stages[:-1] if shown else result.stages
        value["stages"] = [to_json(stage) | {"ms": round(stage.ms, 3)} for stage in stages]
    return value
