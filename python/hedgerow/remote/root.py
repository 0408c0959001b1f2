"""`RemoteRoot`: the operations of `MemoryRoot` on the root of a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from hedgerow._answers.names import read
from hedgerow._checks import checked_flag, checked_list
from hedgerow._operations.fields import declared
from hedgerow._operations.operation import Request, result_of, sent_arguments
from hedgerow._operations.shapes import from_json
from hedgerow._steps import Steps, arun, run
from hedgerow._times import checked_time
from hedgerow.memory.operations import RootOperations
from hedgerow.results import QueryResult, QueryStage
from hedgerow.typing import Time

from ._connected import Connected, segment

R = TypeVar("R")


class RemoteRoot(RootOperations, Connected):
    """Recalls from the root that a server answers for, and writes into it, as `MemoryRoot` does.

    Results and errors are those of a `MemoryRoot` in the server's process, and files are named as
    there. `hedgerow.connect` makes one. Threads may share it. A request that is sent again because no
    answer came is carried out once. It pickles, without a token that was passed; one of the environment
    variable is read again.
    """

    def _perform(self, request: Request[R]) -> R:
        return run(self._sent(request))

    async def _aperform(self, request: Request[R]) -> R:
        return await arun(self._sent(request))

    def _sent(self, request: Request[R]) -> Steps[R]:
        """Send a request as its row of the table says, and return the result in the answer."""
        row, kind = request.operation, type(request)
        given = sent_arguments(request)
        headers = {
            one.field.header: f'"{given.pop(one.name)}"'
            for one in declared(kind)
            if one.field.header is not None
        }
        path = f"v1/{row.path}"
        for name in [name for name in given if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", segment(given.pop(name)))
        is_get = row.method == "GET"
        params = {name: _parameter(value) for name, value in given.items()} if is_get else None
        done: R = yield from self._client.request(
            row.method,
            path,
            None if is_get else given,
            params=params,
            headers=headers,
            read=lambda answer: from_json(answer, result_of(kind)),
        )
        return done

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


def _parameter(value: Any) -> Any:
    """Return an argument as a parameter of a URL."""
    return str(value).lower() if isinstance(value, bool) else value


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
        stages=[QueryStage(**read(stage)) for stage in answer.get("stages", ())],
    )
