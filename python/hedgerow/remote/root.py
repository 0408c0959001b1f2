"""`RemoteRoot`: the operations of `MemoryRoot` on the root of a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hedgerow._checks import checked_flag, checked_list
from hedgerow._dual import Steps, arun, run
from hedgerow._operations.shapes import with_snake_case
from hedgerow._times import checked_time
from hedgerow.memory.operations import RootOperations
from hedgerow.results import QueryResult, QueryStage
from hedgerow.typing import Time

from ._connected import Connected


class RemoteRoot(Connected, RootOperations):
    """Recalls from the root that a server answers for, and writes into it, as `MemoryRoot` does.

    Results and errors are those of a `MemoryRoot` in the server's process, and files are named as
    there. `hedgerow.connect` makes one. Threads may share it. A request that is sent again because no
    answer came is carried out once. It pickles, without a token that was passed; one of the environment
    variable is read again.
    """

    def query(
        self,
        pipeline: object,
        *,
        now: Time | None = None,
        terms: Iterable[str] | None = None,
        explain: bool = False,
    ) -> QueryResult:
        """`MemoryRoot.query` at the server; `pipeline` is a text, its stages, or a `Pipeline`."""
        return run(self._query(pipeline, now, terms, explain=explain))

    async def aquery(
        self,
        pipeline: object,
        *,
        now: Time | None = None,
        terms: Iterable[str] | None = None,
        explain: bool = False,
    ) -> QueryResult:
        """Like `query`, but asynchronous."""
        return await arun(self._query(pipeline, now, terms, explain=explain))

    def query_json(
        self, pipeline: str, *, now: Time, terms: Iterable[str], explain: bool
    ) -> dict[str, Any]:
        """Return what `hedgerow query --json` writes for a pipeline."""
        body = {"pipeline": pipeline, "terms": list(terms), "now": now, "explain": explain}
        return run(self._client.request("POST", "v1/query", body, read=dict))

    def _query(
        self, pipeline: object, now: Time | None, terms: Iterable[str] | None, *, explain: bool
    ) -> Steps[QueryResult]:
        body = {"pipeline": _text_of(pipeline), "explain": checked_flag(explain, "explain")}
        if now is not None:
            body["now"] = checked_time(now, "now")
        if terms is not None:
            body["terms"] = checked_list(terms, "terms", "invalid_option")
        return (yield from self._client.request("POST", "v1/query", body, read=_query_result))


def _text_of(pipeline: object) -> str:
    """Return a pipeline as text; its stages may be given one by one."""
    if isinstance(pipeline, Iterable) and not isinstance(pipeline, str):
        return " | ".join(map(str, pipeline))
    return str(pipeline)


def _query_result(answer: dict[str, Any]) -> QueryResult:
    """Return the result of a pipeline from the JSON of the answer."""
    results, columns = answer.get("results"), answer["columns"]
    found = [] if results is None else results
    rows = None if columns is None else [[one[name] for name in columns] for one in found]
    return QueryResult(
        keys=[one["key"] for one in found],
        scores=[one["score"] for one in found],
        count=answer["count"] if results is None else None,
        columns=columns,
        rows=rows,
        pairs=[tuple(pair) for pair in answer["pairs"]],
        warnings=list(answer["warnings"]),
        stale=answer["stale"],
        stages=[QueryStage(**with_snake_case(stage)) for stage in answer.get("stages", ())],
    )
