"""What the store of a root knows of each file: its title and its links (spec/memory.md, "The store")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
    """A file that is a node: its title, its links, and its other names."""

    title: str
    links: tuple[Link, ...]
    aliases: tuple[str, ...] = ()


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
                aliases = tuple(facts.get("aliases", ()))
                self.records[path] = Linked(facts["title"], links, aliases)
            else:
                self.records.pop(path, None)

    def titles(self) -> dict[str, str]:
        """Return the title of each node by its path: what names of files are found by."""
        return {path: linked.title for path, linked in self.records.items()}

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Return the other names of each node that has some, by its path."""
        return {path: one.aliases for path, one in self.records.items() if one.aliases}

    def names(self, visible: Collection[str] | None = None) -> Names:
        """Return what names of files mean, of all or of those that are `visible`."""
        known = {
            path: linked
            for path, linked in self.records.items()
            if visible is None or path in visible
        }
        return Names(
            {path: linked.title for path, linked in known.items()},
            {path: linked.aliases for path, linked in known.items() if linked.aliases},
        )

    def edges(
        self, sources: Collection[str] | None = None
    ) -> tuple[dict[tuple[str, str, str], float], list[tuple[str, str]]]:
        """Return the strength of each edge by (source, target, relation), and unresolved links.

        With `sources`, those of these files alone.
        """
        names = self.names()
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
        """Return what was reported of files, in path order."""
        return [skip for _, skips in sorted(self._skips.items()) for skip in skips]


def is_unlinked(store: Store) -> bool:
    """Tell whether nodes were written and the edges of their links not yet."""
    [(note, _)] = UNLINKED
    return _sync_note(store.index, note) is not None


def node_facts(title: str, links: Iterable[Link], aliases: Sequence[str]) -> dict[str, Any]:
    """Return what the ledger keeps of a file that is a node."""
    facts: dict[str, Any] = {"title": title, "links": [list(link) for link in links]}
    return facts | ({"aliases": list(aliases)} if aliases else {})
