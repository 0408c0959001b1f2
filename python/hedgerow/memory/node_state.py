"""What the store of a root knows of each file: its title and its links (spec/memory.md, "The store")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hedgerow._engine import Store, _sync_note
from hedgerow.ingest.ledger import Ledger, Record
from hedgerow.ingest.source import Skip

from .links import Link, Names, resolved

UNLINKED: list[tuple[str, str | None]] = [("unlinked", "1")]
"""Noted with nodes that are written, until the edges are those of their links."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A file that is a node: its title and its links."""

    title: str
    links: tuple[Link, ...]


class NodeState:
    """What was read of all files; `records` has those that are nodes, by path."""

    def __init__(self, ledger: Ledger, known: Mapping[str, Record] | None = None) -> None:
        self.ledger = ledger
        if known is None:
            known = {record.path: record for record in ledger.records()}
        self._known = known
        self.records = {
            path: Linked(
                record.facts["title"], tuple(Link(*link) for link in record.facts["links"])
            )
            for path, record in known.items()
            if record.facts
        }

    def updated(self, records: Mapping[str, Record], gone: Iterable[str]) -> NodeState:
        """Give what is known with these records, and without what is gone."""
        known = {**self._known, **records}
        for path in gone:
            known.pop(path, None)
        return NodeState(self.ledger, known)

    def titles(self) -> dict[str, str]:
        """Give the title of each node by its path: what names of files are found by."""
        return {path: linked.title for path, linked in self.records.items()}

    def edges(
        self, sources: Collection[str] | None = None
    ) -> tuple[dict[tuple[str, str, str], float], list[tuple[str, str]]]:
        """Give the strength of each edge by (source, target, relation), and unresolved links.

        With `sources`, those of these files alone.
        """
        names = Names(self.titles())
        edges: dict[tuple[str, str, str], float] = {}
        unresolved = []
        paths = self.records.keys() if sources is None else self.records.keys() & set(sources)
        for path in sorted(paths):
            links = self.records[path].links
            if not links:
                continue
            found, missing = resolved(links, path, names)
            edges |= {(path, to, relation): strength for (to, relation), strength in found.items()}
            unresolved += [(path, target) for target in dict.fromkeys(missing)]
        return edges, unresolved

    def skips(self) -> list[Skip]:
        """Give what was reported of files, in path order."""
        return [skip for _, record in sorted(self._known.items()) for skip in record.skips]


def is_unlinked(store: Store) -> bool:
    """Tell whether nodes were written and the edges of their links not yet."""
    [(note, _)] = UNLINKED
    return _sync_note(store.index, note) is not None


def node_facts(title: str, links: Iterable[Link]) -> dict[str, Any]:
    """Give what the ledger keeps of a file that is a node."""
    return {"title": title, "links": [list(link) for link in links]}
