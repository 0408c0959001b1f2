"""Event loops of threads that no longer exist."""

from __future__ import annotations

from typing import Any


class Gone:
    """A closed event loop. During the check, another thread drops it and adds its own."""

    def __init__(self, clients: dict[Any, Any]) -> None:
        self._clients = clients

    def is_closed(self) -> bool:
        self._clients.pop(self, None)
        self._clients[object()] = None
        return True
