"""What the store of a root knows of each file: its title and its links (spec/memory.md, "The store")."""

from __future__ import annotations

from collections.abc import Collection, Iterable
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

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.records: dict[str, Linked] = {}
        self._skips: dict[str, tuple[Skip, ...]] = {}
        self._put(ledger.records())

    def update(self, records: Iterable[Record], gone: Iterable[str]) -> None:
        """Take in what was read since, and drop what is gone."""
        for path in gone:
            self.records.pop(path, None)
            self._skips.pop(path, None)
        self._put(records)

    def _put(self, records: Iterable[Record]) -> None:
        for record in records:
            path, facts = record.path, record.facts
            self._skips[path] = record.skips
            if facts:
                links = tuple(Link(*link) for link in facts["links"])
                self.records[path] = Linked(facts["title"], links)
            else:
                self.records.pop(path, None)

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
        return [skip for _, skips in sorted(self._skips.items()) for skip in skips]


def is_unlinked(store: Store) -> bool:
    """Tell whether nodes were written and the edges of their links not yet."""
    [(note, _)] = UNLINKED
    return _sync_note(store.index, note) is not None


def node_facts(title: str, links: Iterable[Link]) -> dict[str, Any]:
    """Give what the ledger keeps of a file that is a node."""
    return {"title": title, "links": [list(link) for link in links]}
