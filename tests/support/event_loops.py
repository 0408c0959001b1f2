"""Event loops of threads that are not there in a test."""

from __future__ import annotations

from typing import Any


class Gone:
    """An event loop that has ended; while that is asked, another thread drops it and adds its own."""

    def __init__(self, clients: dict[Any, Any]) -> None:
        self._clients = clients

    def is_closed(self) -> bool:
        self._clients.pop(self, None)
        self._clients[object()] = None
        return True
