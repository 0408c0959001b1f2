"""What the store of a root knows of each file: its title and its links (spec/memory.md, "The store")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from hedgerow._engine import Store, _Names, _Nodes, _sync_note
from hedgerow.ingest.ledger import Ledger

from .links import Link

UNLINKED: list[tuple[str, str | None]] = [("unlinked", "1")]
"""Noted with nodes that are written, until the edges are those of their links."""


class NodeState:
    """What was read of all files: `nodes` has those that are nodes."""

    def __init__(self, ledger: Ledger, before: NodeState | None = None) -> None:
        """Read what a ledger notes; what is as it was `before` is not read again."""
        self.ledger = ledger
        self.nodes: _Nodes = _Nodes(ledger.found, None if before is None else before.nodes)

    def names(self, visible: AbstractSet[str] | None = None) -> _Names:
        """Return what names of files mean, of all or of those that are `visible`."""
        return self.nodes.names if visible is None else self.nodes.names_within(visible)


def is_unlinked(store: Store) -> bool:
    """Tell whether nodes were written and the edges of their links not yet."""
    [(note, _)] = UNLINKED
    return _sync_note(store.index, note) is not None


def node_facts(title: str, links: Iterable[Link], aliases: Sequence[str]) -> dict[str, Any]:
    """Return what the ledger keeps of a file that is a node."""
    facts: dict[str, Any] = {"title": title, "links": [list(link) for link in links]}
    return facts | ({"aliases": list(aliases)} if aliases else {})
