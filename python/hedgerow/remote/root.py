"""`RemoteRoot`: the methods of `MemoryRoot` for the root of a server."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

from hedgerow._checks import checked_flag, checked_list, checked_text, checked_texts
from hedgerow._steps import Steps, arun, run
from hedgerow._times import checked_time
from hedgerow.memory.config import RootStatus
from hedgerow.memory.context import Context
from hedgerow.memory.process import Processed
from hedgerow.memory.recall import Recall
from hedgerow.memory.results import Remembered, WrappedUp
from hedgerow.memory.texts import MemoryList
from hedgerow.results import QueryResult
from hedgerow.typing import (
    ContextKeywords,
    OnDuplicate,
    QuestionDate,
    RecallKeywords,
    Time,
    VisitOutcome,
)

from . import _reading
from ._connected import segment
from .root_edits import RemoteEdits

_PAGE = 1_000


class RemoteRoot(RemoteEdits):
    """Recalls from the root that a server answers for, and writes into it, as `MemoryRoot` does.

    Answers and errors are those of a `MemoryRoot` in the server's process, and files are named as
    there. `hedgerow.connect` makes one. Threads may share it; each method has an asynchronous one
    with an `a` before its name. It pickles, without a token that was passed; one of the environment
    variable is read again.
    """

    def recall(self, query: str, **options: Unpack[RecallKeywords]) -> Recall:
        """`MemoryRoot.recall` at the server."""
        return run(self._recall(query, options))

    async def arecall(self, query: str, **options: Unpack[RecallKeywords]) -> Recall:
        """`recall` without blocking the event loop."""
        return await arun(self._recall(query, options))

    def context(
        self,
        query: str,
        *,
        budget: int = 2000,
        per_file: int = 2,
        **options: Unpack[ContextKeywords],
    ) -> Context:
        """`MemoryRoot.context` at the server, which estimates the tokens."""
        return run(self._context(query, budget, per_file, options))

    async def acontext(
        self,
        query: str,
        *,
        budget: int = 2000,
        per_file: int = 2,
        **options: Unpack[ContextKeywords],
    ) -> Context:
        """`context` without blocking the event loop."""
        return await arun(self._context(query, budget, per_file, options))

    def remember(
        self,
        text: str,
        *,
        title: str,
        type: str = "note",  # noqa: A002 - what it is called in the file
        tags: Sequence[str] = (),
        on_duplicate: OnDuplicate = "error",
    ) -> Remembered:
        """`MemoryRoot.remember` at the server; done once, even if it is sent again without an answer."""
        return run(self._remember(text, title, type, tags, on_duplicate))

    async def aremember(
        self,
        text: str,
        *,
        title: str,
        type: str = "note",  # noqa: A002 - what it is called in the file
        tags: Sequence[str] = (),
        on_duplicate: OnDuplicate = "error",
    ) -> Remembered:
        """`remember` without blocking the event loop."""
        return await arun(self._remember(text, title, type, tags, on_duplicate))

    def wrapup(
        self,
        text: str,
        *,
        title: str,
        topic: str | None = None,
        limit: int = 5,
        tags: Sequence[str] = (),
    ) -> WrappedUp:
        """`MemoryRoot.wrapup` at the server."""
        return run(self._wrapup(text, title, topic, limit, tags))

    async def awrapup(
        self,
        text: str,
        *,
        title: str,
        topic: str | None = None,
        limit: int = 5,
        tags: Sequence[str] = (),
    ) -> WrappedUp:
        """`wrapup` without blocking the event loop."""
        return await arun(self._wrapup(text, title, topic, limit, tags))

    def process(
        self,
        mode: str,
        *,
        apply: bool = False,
        topic: str | None = None,
        since: QuestionDate | None = None,
        limit: int | None = None,
    ) -> Processed:
        """`MemoryRoot.process` at the server."""
        return run(self._process(mode, topic, since, limit, apply=apply))

    async def aprocess(
        self,
        mode: str,
        *,
        apply: bool = False,
        topic: str | None = None,
        since: QuestionDate | None = None,
        limit: int | None = None,
    ) -> Processed:
        """`process` without blocking the event loop."""
        return await arun(self._process(mode, topic, since, limit, apply=apply))

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
        """`query` without blocking the event loop."""
        return await arun(self._query(pipeline, now, terms, explain=explain))

    def visit(self, agent: str, key: str, at: Time, outcome: VisitOutcome = "processed") -> None:
        """`MemoryRoot.visit` at the server; `key` may be a name or a title too."""
        run(self._visit(agent, key, at, outcome))

    async def avisit(
        self, agent: str, key: str, at: Time, outcome: VisitOutcome = "processed"
    ) -> None:
        """`visit` without blocking the event loop."""
        await arun(self._visit(agent, key, at, outcome))

    def links(self, name: str, *, hops: int = 1, limit: int = 100) -> dict[str, Any]:
        """What a memory is linked to, as `hedgerow graph KEY --json` has it."""
        return run(self._links(name, hops, limit))

    async def alinks(self, name: str, *, hops: int = 1, limit: int = 100) -> dict[str, Any]:
        """`links` without blocking the event loop."""
        return await arun(self._links(name, hops, limit))

    def status(self) -> RootStatus:
        """`MemoryRoot.status` at the server."""
        return run(self._status())

    async def astatus(self) -> RootStatus:
        """`status` without blocking the event loop."""
        return await arun(self._status())

    def files(self, *, type: str | None = None) -> list[str]:  # noqa: A002 - as in the file
        """The names of all memories, or of those of a type, the last changed first."""
        return run(self._files(type))

    async def afiles(self, *, type: str | None = None) -> list[str]:  # noqa: A002
        """`files` without blocking the event loop."""
        return await arun(self._files(type))

    def memories(
        self,
        *,
        type: str | None = None,  # noqa: A002 - as in the file
        limit: int = 100,
        offset: int = 0,
        superseded: bool = False,
    ) -> MemoryList:
        """`MemoryRoot.memories` at the server."""
        return run(self._memories(type, limit, offset, superseded=superseded))

    async def amemories(
        self,
        *,
        type: str | None = None,  # noqa: A002 - as in the file
        limit: int = 100,
        offset: int = 0,
        superseded: bool = False,
    ) -> MemoryList:
        """`memories` without blocking the event loop."""
        return await arun(self._memories(type, limit, offset, superseded=superseded))

    def told_of(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON that `POST /v1/VERB` answers with (spec/service.md), as the command line writes it."""
        return run(self._client.request("POST", f"v1/{segment(verb)}", body, read=dict))

    def _recall(self, query: str, options: RecallKeywords) -> Steps[Recall]:
        body = {**_options_of(options), "query": checked_text(query, "query"), "explain": True}
        return (yield from self._client.request("POST", "v1/recall", body, read=_reading.recall_of))

    def _context(
        self, query: str, budget: int, per_file: int, options: ContextKeywords
    ) -> Steps[Context]:
        body = {**_options_of(options), "budget": budget, "per_file": per_file, "query": query}
        return (yield from self._client.request("POST", "v1/context", body, read=Context.from_dict))

    def _remember(
        self, text: str, title: str, kind: str, tags: Sequence[str], on_duplicate: str
    ) -> Steps[Remembered]:
        tags = checked_texts(tags, "tags")
        body = {"text": text, "title": title, "type": kind, "tags": tags}
        if on_duplicate != "error":
            body["on_duplicate"] = on_duplicate
        return (
            yield from self._client.request(
                "POST", "v1/remember", body, read=_reading.remembered_of
            )
        )

    def _wrapup(
        self, text: str, title: str, topic: str | None, limit: int, tags: Sequence[str]
    ) -> Steps[WrappedUp]:
        tags = checked_texts(tags, "tags")
        body = {"text": text, "title": title, "topic": topic, "limit": limit, "tags": tags}
        return (
            yield from self._client.request("POST", "v1/wrapup", body, read=_reading.wrapped_up_of)
        )

    def _process(
        self,
        mode: str,
        topic: str | None,
        since: QuestionDate | None,
        limit: int | None,
        *,
        apply: bool,
    ) -> Steps[Processed]:
        when = since.isoformat() if isinstance(since, date) else since
        checked_flag(apply, "apply")
        body = {"mode": mode, "apply": apply, "topic": topic, "since": when, "limit": limit}
        return (
            yield from self._client.request("POST", "v1/process", body, read=_reading.processed_of)
        )

    def _query(
        self, pipeline: object, now: Time | None, terms: Iterable[str] | None, *, explain: bool
    ) -> Steps[QueryResult]:
        checked_flag(explain, "explain")
        at = None if now is None else checked_time(now, "now")
        body = {"pipeline": _text_of(pipeline), "now": at, "explain": explain}
        given = {} if terms is None else {"terms": checked_list(terms, "terms", "invalid_option")}
        return (
            yield from self._client.request(
                "POST", "v1/query", {**body, **given}, read=_reading.query_result_of
            )
        )

    def _visit(self, agent: str, key: str, at: Time, outcome: str) -> Steps[None]:
        body = {"agent": agent, "keys": [key], "at": checked_time(at, "at"), "outcome": outcome}
        yield from self._client.request("POST", "v1/visit", body, read=dict)

    def _links(self, name: str, hops: int, limit: int) -> Steps[dict[str, Any]]:
        params = {"key": name, "hops": hops, "limit": limit}
        return (yield from self._client.request("GET", "v1/graph", params=params, read=dict))

    def _status(self) -> Steps[RootStatus]:
        return (yield from self._client.request("GET", "v1/status", read=_reading.status_of))

    def _files(self, kind: str | None) -> Steps[list[str]]:
        found: list[str] = []
        chosen = {} if kind is None else {"type": kind}
        while True:
            params = {**chosen, "limit": _PAGE, "offset": len(found)}
            page = yield from self._client.request(
                "GET", "v1/memories", params=params, read=_reading.files_of
            )
            found += page
            if len(page) < _PAGE:
                return list(dict.fromkeys(found))  # some may have moved meanwhile

    def _memories(
        self, kind: str | None, limit: int, offset: int, *, superseded: bool
    ) -> Steps[MemoryList]:
        params: dict[str, Any] = {"limit": limit, "offset": offset}
        if kind is not None:
            params["type"] = kind
        if superseded:
            params["superseded"] = "true"
        return (
            yield from self._client.request(
                "GET", "v1/memories", params=params, read=MemoryList.from_dict
            )
        )


def _options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a recall as JSON has them."""
    body = dict(options)
    for name in ("as_of", "after", "before", "question_date"):
        if isinstance(body.get(name), date):
            body[name] = body[name].isoformat()
    for name in ("types", "tags"):
        if name in body:
            body[name] = checked_texts(body[name], name)
    return body


def _text_of(pipeline: object) -> str:
    """A pipeline as text; its stages may be given one by one."""
    if isinstance(pipeline, Iterable) and not isinstance(pipeline, str):
        return " | ".join(map(str, pipeline))
    return str(pipeline)
