"""What the store of a root has read of each file (spec/memory.md, "The store").

One JSON file, written whole and at last: while it is missing, what the store has is uncertain, and
the next sync reads every file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hedgerow.ingest.source import Skip

from . import files
from .links import Link, Names, resolved

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One file as it was read: its signature, its digest, and what its node does not hold.

    Without a digest it could not be read, and has no node. A signature that is not settled
    begins with `?`, so that no file has it.
    """

    signature: str
    digest: str
    title: str = ""
    links: tuple[Link, ...] = ()
    skips: tuple[Skip, ...] = ()

    def to_json(self) -> list[Any]:
        """Give the record as JSON."""
        told = [[skip.code, skip.reason, skip.line] for skip in self.skips]
        return [self.signature, self.digest, self.title, list(self.links), told]


@dataclass(slots=True)
class NodeState:
    """The records of all files of the folder `scope`, by path."""

    scope: str
    records: dict[str, Record] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path, scope: str) -> NodeState | None:
        """Read the state; None without one, or with one of another version or folder."""
        try:
            value = json.loads(file.read_bytes())
            if (value["version"], value["scope"]) != (_VERSION, scope):
                return None
            records = {path: _record(path, given) for path, given in value["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # Derived: what cannot be read is made again.
            return None
        return cls(scope, records)

    def save(self, file: Path) -> None:
        """Write the state, at once."""
        records = {path: record.to_json() for path, record in sorted(self.records.items())}
        value = {"version": _VERSION, "scope": self.scope, "files": records}
        files.replace(file, json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def differences(self, listed: Mapping[str, str]) -> dict[str, str]:
        """Give the files that are new or have another signature."""
        records = self.records
        return {
            path: signature
            for path, signature in listed.items()
            if path not in records or records[path].signature != signature
        }

    def nodes(self) -> dict[str, Record]:
        """Give the records of files that are nodes."""
        return {path: record for path, record in self.records.items() if record.digest}

    def titles(self) -> dict[str, str]:
        """Give the title of each node by its path: what names of files are found by."""
        return {path: record.title for path, record in self.records.items() if record.digest}

    def edges(
        self, sources: Collection[str] | None = None
    ) -> tuple[dict[tuple[str, str, str], float], list[tuple[str, str]]]:
        """Give the strength of each edge by (source, target, relation), and unresolved links.

        With `sources`, those of these files alone.
        """
        nodes = self.nodes()
        names = Names(self.titles())
        edges: dict[tuple[str, str, str], float] = {}
        unresolved = []
        for path in sorted(nodes if sources is None else nodes.keys() & set(sources)):
            record = nodes[path]
            if not record.links:
                continue
            found, missing = resolved(record.links, path, names)
            edges |= {(path, to, relation): strength for (to, relation), strength in found.items()}
            unresolved += [(path, target) for target in dict.fromkeys(missing)]
        return edges, unresolved

    def skips(self) -> list[Skip]:
        """Give what was reported of files, in path order."""
        return [skip for _, record in sorted(self.records.items()) for skip in record.skips]


class StateCache:
    """The state as it was last read, for as long as its file is the same."""

    def __init__(self) -> None:
        self._identity: tuple[Any, ...] = ()
        self._state: NodeState | None = None

    def load(self, file: Path, scope: str) -> NodeState | None:
        """Give the state, as `NodeState.load` does; who changes it takes a copy."""
        try:
            status = file.stat()
        except FileNotFoundError:
            return None
        identity = (str(file), scope, status.st_ino, status.st_mtime_ns, status.st_size)
        if identity != self._identity:
            self._state = NodeState.load(file, scope)
            self._identity = identity
        return self._state


def _record(path: str, given: Any) -> Record:
    signature, digest, title, links, told = given
    skips = tuple(Skip(path, code, reason, line) for code, reason, line in told)
    return Record(signature, digest, title, tuple(Link(*link) for link in links), skips)
