"""How the answers of a search came to be, for its trace."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any


class Report:
    """Problems met by the requests of one search. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shards = {"total": 0, "successful": 0}
        self._missing: list[str] = []
        self._approximate = False
        self._rescored = 0

    def answered(self, shards: Mapping[str, Any]) -> None:
        """Note which shards an answer comes from."""
        with self._lock:
            seen = self._shards
            seen["total"] = max(seen["total"], shards["total"])
            least = seen["successful"] or shards["successful"]
            seen["successful"] = min(least, shards["successful"])
            for failure in shards.get("failures", ()):
                name = f"{failure.get('index')}[{failure.get('shard')}]"
                if name not in self._missing:
                    self._missing.append(name)

    def rescored(self, count: int) -> None:
        """Record that `count` hits were scored again here."""
        with self._lock:
            self._rescored += count

    def approximate(self) -> None:
        """Hits may miss some of the best."""
        self._approximate = True

    def trace(self) -> dict[str, Any]:
        """The fields of the trace."""
        with self._lock:
            # The server names one shard of those that fail for the same reason.
            unnamed = self._shards["total"] - self._shards["successful"] - len(self._missing)
            others = [f"{unnamed} more"] if unnamed > 0 else []
            return {
                "backend": "opensearch",
                "shards": dict(self._shards),
                "approximate": self._approximate,
                "rescored": self._rescored,
                "missing": [*self._missing, *others],
            }
