"""What the store of a root knows of each file: its title and its links (spec/memory.md, "The store")."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property

from hedgerow._engine import Store, _Names, _Nodes
from hedgerow.ingest.ledger import Ledger


class NodeState:
    """What was read of all files, as of one state of the store."""

    def __init__(self, ledger: Ledger, before: NodeState | None = None) -> None:
        """Take what a ledger notes; what is as it was `before` is not read again."""
        self.ledger = ledger
        # States whose nodes nothing asked for are not kept.
        while before is not None and "nodes" not in before.__dict__:
            before = before._before  # noqa: SLF001 - of this class
        self._before: NodeState | None = before

    def refreshed(self, store: Store) -> NodeState:
        """Return the state with what has changed since; itself where nothing has."""
        ledger = self.ledger.refreshed(store.index)
        return self if ledger is self.ledger else NodeState(ledger, self)

    def prepared(self, store: Store) -> NodeState:
        """Return the state of a store that is prepared for a sync (`Ledger.prepared`)."""
        ledger = self.ledger.prepared(store)
        return self if ledger is self.ledger else NodeState(ledger, self)

    @cached_property
    def nodes(self) -> _Nodes:
        """The files that are nodes."""
        before, self._before = self._before, None
        return _Nodes(self.ledger.found, None if before is None else before.nodes)

    def names(self, visible: AbstractSet[str] | None = None) -> _Names:
        """Return what names of files mean, of all or of those that are `visible`."""
        return self.nodes.names if visible is None else self.nodes.names_within(visible)
