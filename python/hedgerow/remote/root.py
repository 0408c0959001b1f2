"""`RemoteRoot`: the face of `MemoryRoot` for the root of a server."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

from hedgerow._checks import checked_text, checked_texts
from hedgerow._steps import Steps, arun, run
from hedgerow._times import checked_time
from hedgerow.memory.config import RootStatus
from hedgerow.memory.marking import Marked
from hedgerow.memory.process import Processed
from hedgerow.memory.recall import Recall
from hedgerow.memory.results import Remembered, WrappedUp
from hedgerow.memory.texts import Memory, MemoryList
from hedgerow.results import QueryResult
from hedgerow.typing import OnDuplicate, QuestionDate, RecallKeywords, Time, VisitOutcome

from . import _reading
from ._connected import Connected, segment

_PAGE = 1_000


class RemoteRoot(Connected):
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

    def remember(
        self,
        text: str,
        *,
        title: str,
        type: str = "note",  # noqa: A002 - what it is called in the file
        tags: Sequence[str] = (),
        on_duplicate: OnDuplicate = "error",
    ) -> Remembered:
        """`MemoryRoot.remember` at the server; sent twice for want of an answer, it is done once."""
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

    def link(self, a: str, b: str, strength: float = 1.0, rel: str = "related") -> str:
        """`MemoryRoot.link` at the server; returns the file that was changed."""
        return run(self._link(a, b, strength, rel))

    async def alink(self, a: str, b: str, strength: float = 1.0, rel: str = "related") -> str:
        """`link` without blocking the event loop."""
        return await arun(self._link(a, b, strength, rel))

    def unlink(self, a: str, b: str, rel: str = "related") -> bool:
        """`MemoryRoot.unlink` at the server; returns whether there was such a link."""
        return run(self._unlink(a, b, rel))

    async def aunlink(self, a: str, b: str, rel: str = "related") -> bool:
        """`unlink` without blocking the event loop."""
        return await arun(self._unlink(a, b, rel))

    def supersede(  # noqa: PLR0913 - as in `MemoryRoot`
        self,
        old: str,
        by: str | None = None,
        *,
        text: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002 - what it is called in the file
        tags: Sequence[str] | None = None,
    ) -> Marked:
        """`MemoryRoot.supersede` at the server."""
        new = {"by": by, "text": text, "title": title, "type": type, "tags": tags}
        return run(self._marked("supersede", {"old": old, **new}))

    async def asupersede(  # noqa: PLR0913 - as in `MemoryRoot`
        self,
        old: str,
        by: str | None = None,
        *,
        text: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002 - what it is called in the file
        tags: Sequence[str] | None = None,
    ) -> Marked:
        """`supersede` without blocking the event loop."""
        new = {"by": by, "text": text, "title": title, "type": type, "tags": tags}
        return await arun(self._marked("supersede", {"old": old, **new}))

    def retract(self, key: str, reason: str | None = None) -> Marked:
        """`MemoryRoot.retract` at the server."""
        return run(self._marked("retract", {"key": key, "reason": reason}))

    async def aretract(self, key: str, reason: str | None = None) -> Marked:
        """`retract` without blocking the event loop."""
        return await arun(self._marked("retract", {"key": key, "reason": reason}))

    def restore(self, key: str) -> Marked:
        """`MemoryRoot.restore` at the server."""
        return run(self._marked("restore", {"key": key}))

    async def arestore(self, key: str) -> Marked:
        """`restore` without blocking the event loop."""
        return await arun(self._marked("restore", {"key": key}))

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

    def read(self, name: str) -> Memory:
        """The memory that a path, a name or a title means, as in `[[name]]`."""
        return run(self._read(name))

    async def aread(self, name: str) -> Memory:
        """`read` without blocking the event loop."""
        return await arun(self._read(name))

    def edit(self, memory: Memory, text: str) -> Memory:
        """Write another text into a memory that was read; returns it with that text.

        Raises BackendError (`file_changed`) where somebody changed it since: read it again.
        """
        return run(self._edit(memory, text))

    async def aedit(self, memory: Memory, text: str) -> Memory:
        """`edit` without blocking the event loop."""
        return await arun(self._edit(memory, text))

    def told_of(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON that `POST /v1/VERB` answers with (spec/service.md), as the command line writes it."""
        return run(self._client.request("POST", f"v1/{segment(verb)}", body, read=dict))

    def _recall(self, query: str, options: RecallKeywords) -> Steps[Recall]:
        body: dict[str, Any] = {**options, "query": checked_text(query, "query"), "explain": True}
        for name in ("as_of", "after", "before"):
            if isinstance(body.get(name), date):
                body[name] = body[name].isoformat()
        for name in ("types", "tags"):
            if name in body:
                body[name] = checked_texts(body[name], name)
        return (yield from self._client.request("POST", "v1/recall", body, read=_reading.recall_of))

    def _marked(self, verb: str, body: Mapping[str, Any]) -> Steps[Marked]:
        given = {name: value for name, value in body.items() if value is not None}
        return (
            yield from self._client.request("POST", f"v1/{verb}", given, read=_reading.marked_of)
        )

    def _remember(
        self, text: str, title: str, kind: str, tags: Sequence[str], on_duplicate: str
    ) -> Steps[Remembered]:
        body = {"text": text, "title": title, "type": kind, "tags": list(tags)}
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
        body = {"text": text, "title": title, "topic": topic, "limit": limit, "tags": list(tags)}
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
        body = {"mode": mode, "apply": apply, "topic": topic, "since": when, "limit": limit}
        return (
            yield from self._client.request("POST", "v1/process", body, read=_reading.processed_of)
        )

    def _query(
        self, pipeline: object, now: Time | None, terms: Iterable[str] | None, *, explain: bool
    ) -> Steps[QueryResult]:
        at = None if now is None else checked_time(now, "now")
        body = {"pipeline": _text_of(pipeline), "now": at, "explain": explain}
        given = {} if terms is None else {"terms": list(terms)}
        return (
            yield from self._client.request(
                "POST", "v1/query", {**body, **given}, read=_reading.query_result_of
            )
        )

    def _link(self, a: str, b: str, strength: float, rel: str) -> Steps[str]:
        body = {"a": a, "b": b, "strength": strength, "rel": rel}
        return (yield from self._client.request("POST", "v1/link", body, read=_file_of))

    def _unlink(self, a: str, b: str, rel: str) -> Steps[bool]:
        body, read = {"a": a, "b": b, "rel": rel}, _removed_of
        return (yield from self._client.request("POST", "v1/unlink", body, read=read))

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

    def _read(self, name: str) -> Steps[Memory]:
        path = f"v1/memories/{segment(checked_text(name, 'name'))}"
        return (yield from self._client.request("GET", path, read=_memory_of))

    def _edit(self, memory: Memory, text: str) -> Steps[Memory]:
        path, headers = f"v1/memories/{segment(memory.file)}", {"If-Match": f'"{memory.digest}"'}
        return (
            yield from self._client.request(
                "PUT", path, {"text": text}, headers=headers, read=_memory_of
            )
        )


def _file_of(answer: dict[str, str]) -> str:
    return answer["a"]


def _removed_of(answer: dict[str, bool]) -> bool:
    return answer["removed"]


def _memory_of(answer: dict[str, str]) -> Memory:
    return Memory(answer["file"], answer["text"], answer["digest"])


def _text_of(pipeline: object) -> str:
    """A pipeline as text; its stages may be given one by one."""
    if isinstance(pipeline, Iterable) and not isinstance(pipeline, str):
        return " | ".join(map(str, pipeline))
    return str(pipeline)
