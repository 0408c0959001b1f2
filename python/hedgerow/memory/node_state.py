"""What the store of a root knows of each file: its title and its links (spec/memory.md, "The store")."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property

from hedgerow._engine import _Names, _Nodes
from hedgerow.ingest.ledger import Ledger


class NodeState:
    """What was read of all files, as of one state of the store."""

    def __init__(self, ledger: Ledger, before: NodeState | None = None) -> None:
        """Take what a ledger notes; what is as it was `before` is not read again."""
        self.ledger = ledger
        # A state whose nodes nothing asked for holds on to none before it.
        is_read = before is None or "nodes" in before.__dict__
        self._before = before if is_read else before._before  # noqa: SLF001 - of this class

    @cached_property
    def nodes(self) -> _Nodes:
        """The files that are nodes."""
        before, self._before = self._before, None
        return _Nodes(self.ledger.found, None if before is None else before.nodes)

    def names(self, visible: AbstractSet[str] | None = None) -> _Names:
        """Return what names of files mean, of all or of those that are `visible`."""
        return self.nodes.names if visible is None else self.nodes.names_within(visible)
