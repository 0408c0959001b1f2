"""What `RemoteRoot` and `RemoteRetriever` share: a connection, and closing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._client import Client


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


def segment(name: str) -> str:
    """A name as a part of a path; slashes stay."""
    return quote(name, safe="/")
