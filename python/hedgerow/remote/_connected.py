"""What `RemoteRoot` and `RemoteRetriever` share: a connection, and operations sent over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from hedgerow._dual import Steps, arun, run
from hedgerow._operations.fields import declared
from hedgerow._operations.operation import Request, result_of, sent_arguments
from hedgerow._operations.shapes import from_json

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._client import Client


R = TypeVar("R")


class Connected:
    """Holds a connection until it is closed; `with` and `async with` close it."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name
        """What is served: the name of its folder or file."""

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._client.url

    def close(self) -> None:
        """Close the connection; further calls raise HedgerowError."""
        self._client.close()

    async def aclose(self) -> None:
        """Close the connection, that of the running event loop too."""
        await self._client.aclose()

    def _perform(self, request: Request[R]) -> R:
        return run(self._steps(request))

    async def _aperform(self, request: Request[R]) -> R:
        return await arun(self._steps(request))

    def _steps(self, request: Request[R]) -> Steps[R]:
        """The steps of a request: it is sent, unless a subclass does more."""
        return self._sent(request)

    def _sent(self, request: Request[Any], read: Callable[[Any], Any] | None = None) -> Steps[Any]:
        """Send a request as its row of the table says, and return the result in the answer.

        `read` makes the result of the JSON of the answer, if that is no record of the result itself.
        """
        row, kind = request.operation, type(request)
        given = sent_arguments(request)
        headers = {
            one.field.header: f'"{given.pop(one.name)}"'
            for one in declared(kind)
            if one.field.header is not None
        }
        path = f"v1/{row.path}"
        for name in [name for name in given if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", _quoted(given.pop(name)))
        is_get = row.method == "GET"
        params = {name: _parameter(value) for name, value in given.items()} if is_get else None
        done = yield from self._client.request(
            row.method,
            path,
            None if is_get else given,
            params=params,
            headers=headers,
            read=read or (lambda answer: from_json(answer, result_of(kind))),
        )
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, name={self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._client, self.name))


def _quoted(key: str) -> str:
    """Return a key as part of a path: its dots alone, as in `../status`, would name another route."""
    parts = [quote(one, safe="") if one.strip(".") else "%2E" * len(one) for one in key.split("/")]
    return "/".join(parts)


def _parameter(value: Any) -> Any:
    """Return an argument as a parameter of a URL."""
    return str(value).lower() if isinstance(value, bool) else value
