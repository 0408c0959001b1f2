"""The verbs of `RemoteRoot` that edit memories: their text, their links, the marks of what holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow._checks import checked_flag, checked_text
from hedgerow._steps import Steps, arun, run
from hedgerow.memory.forget import Forgotten
from hedgerow.memory.marking import Marked
from hedgerow.memory.texts import Memory

from . import _reading
from ._connected import Connected, segment


class RemoteEdits(Connected):
    """What `RemoteRoot` does to files that people write."""

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

    def forget(self, key: str, *, purge: bool = False) -> Forgotten:
        """`MemoryRoot.forget` at the server."""
        return run(self._forget(key, purge=purge))

    async def aforget(self, key: str, *, purge: bool = False) -> Forgotten:
        """`forget` without blocking the event loop."""
        return await arun(self._forget(key, purge=purge))

    def restore(self, key: str) -> Marked:
        """`MemoryRoot.restore` at the server."""
        return run(self._marked("restore", {"key": key}))

    async def arestore(self, key: str) -> Marked:
        """`restore` without blocking the event loop."""
        return await arun(self._marked("restore", {"key": key}))

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

    def _forget(self, key: str, *, purge: bool) -> Steps[Forgotten]:
        checked_flag(purge, "purge")
        body, read = {"key": key, "purge": purge}, Forgotten.from_dict
        return (yield from self._client.request("POST", "v1/forget", body, read=read))

    def _marked(self, verb: str, body: Mapping[str, Any]) -> Steps[Marked]:
        given = {name: value for name, value in body.items() if value is not None}
        return (
            yield from self._client.request("POST", f"v1/{verb}", given, read=_reading.marked_of)
        )

    def _link(self, a: str, b: str, strength: float, rel: str) -> Steps[str]:
        body = {"a": a, "b": b, "strength": strength, "rel": rel}
        return (yield from self._client.request("POST", "v1/link", body, read=_file_of))

    def _unlink(self, a: str, b: str, rel: str) -> Steps[bool]:
        body, read = {"a": a, "b": b, "rel": rel}, _removed_of
        return (yield from self._client.request("POST", "v1/unlink", body, read=read))

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
