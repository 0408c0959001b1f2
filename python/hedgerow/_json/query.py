"""The answer to a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from hedgerow import Pipeline, PipelineError, QueryResult, parse_pipeline
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow.results import QueryStage


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


@dataclass(frozen=True, slots=True)
class QueryAnswer(Result):
    """The nodes that a pipeline selected from a `root`, or from the store `db`.

    Each of the `results` has a `key`, a `score` and its columns. `columns` are those that the pipeline
    itself selects.
    """

    pipeline: str
    root: str | None
    db: str | None
    now: int
    count: int
    results: Sequence[Mapping[str, Any]] | None
    columns: Annotated[Sequence[str] | None, Field(null=True)]
    pairs: Sequence[tuple[str, str, float]]
    warnings: Sequence[str]
    stale: bool
    stages: Sequence[QueryStage] | None = None

    @classmethod
    def of(  # noqa: PLR0913 - what was asked, and of what
        cls,
        pipeline: Pipeline,
        result: QueryResult,
        *,
        root: str | None = None,
        db: str | None = None,
        now: int,
        shown: bool,
        explain: bool,
    ) -> QueryAnswer:
        """Return the JSON of a result. Its last stage is `shown` if it was added for a table."""
        rows = None
        if result.count is None:
            names = result.columns or []
            cells = result.rows or [[] for _ in result.keys]
            rows = [
                {"key": key, "score": score, **dict(zip(names, row, strict=True))}
                for key, score, row in zip(result.keys, result.scores, cells, strict=True)
            ]
        stages = result.stages[:-1] if shown else result.stages
        return cls(
            str(pipeline),
            root,
            db,
            now,
            len(result) if result.count is None else result.count,
            rows,
            None if shown else result.columns,
            result.pairs,
            result.warnings,
            result.stale,
            [replace(stage, ms=round(stage.ms, 3)) for stage in stages] if explain else None,
        )

    def result(self) -> QueryResult:
        """Return the result that the answer was made of."""
        found = [] if self.results is None else self.results
        names = self.columns
        return QueryResult(
            keys=[one["key"] for one in found],
            scores=[one["score"] for one in found],
            count=self.count if self.results is None else None,
            columns=None if names is None else list(names),
            rows=None if names is None else [[one[name] for name in names] for one in found],
            pairs=list(self.pairs),
            warnings=list(self.warnings),
            stale=self.stale,
            stages=list(self.stages or ()),
        )
