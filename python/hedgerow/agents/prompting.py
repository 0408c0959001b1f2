"""What a prompt is filled with: a store's nodes and numbers (spec/agents.md, "Templates")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hedgerow._engine import _topology

from .placeholders import scan
from .template import Health, PromptData, PromptNode, Topology

if TYPE_CHECKING:
    from hedgerow._engine import Store

    from .definition import AgentDefinition

__all__ = ["Desk"]

_STALE_DAYS = 90


class Desk:
    """The nodes of one run as they are put before the model.

    `shown` has what each node said that was read so far, by key: an agent must not overwrite
    what was changed since.
    """

    def __init__(self, store: Store, definition: AgentDefinition, now: int) -> None:
        self.shown: dict[str, str] = {}
        self._store = store
        self._definition = definition
        self._now = now

    def data(self, keys: Sequence[str], pairs: Sequence[tuple[str, str, float]]) -> PromptData:
        """Give what fills the prompt about these nodes; what the template does not name is left out."""
        asked = {use.name for use in scan(self._definition.template)[0]}
        joined = self._store.neighbors(keys)
        members = set(keys)
        return PromptData(
            agent=self._definition.name,
            now=self._now,
            nodes=[node for key in keys if (node := self._read(key, len(joined.get(key, ()))))],
            by_key=self._by_key,
            neighbors=list(self._around(joined, members)) if "NEIGHBORS" in asked else (),
            topology=self._topology() if "TOPOLOGY" in asked else None,
            pairs=[pair for pair in pairs if members.issuperset(pair[:2])],
            health=self._health() if "HEALTH" in asked else None,
        )

    def _by_key(self, key: str) -> PromptNode | None:
        return self._read(key, len(self._store.neighbors([key]).get(key, ())))

    def _read(self, key: str, degree: int) -> PromptNode | None:
        node = self._store.get(key)
        if node is None:
            return None
        self.shown[key] = node.content
        updated_at = self._now if node.updated_at is None else node.updated_at
        return PromptNode(
            key=key,
            type=node.type,
            age_s=max(self._now - updated_at, 0),
            weight=node.weight,
            degree=degree,
            content=node.content,
        )

    def _around(
        self, joined: Mapping[str, Sequence[tuple[str, float]]], members: set[str]
    ) -> Iterator[PromptNode]:
        """Give the neighbours, the strongest first, as far as a prompt has room for them."""
        strengths: dict[str, float] = {}
        for others in joined.values():
            for other, strength in others:
                if other not in members:
                    strengths[other] = max(strength, strengths.get(other, 0.0))
        order = sorted(strengths, key=lambda key: (-strengths[key], key))
        degrees = {key: len(others) for key, others in self._store.neighbors(order).items()}
        room = self._definition.max_chars
        for key in order:
            node = self._read(key, degrees.get(key, 0))
            if node is None:
                continue
            yield node
            room -= min(len(node.content), self._definition.node_chars)
            if room < 0:
                return

    def _topology(self) -> Topology:
        nodes, edges, communities, _, isolation, cc = _topology(self._store)
        return Topology(
            nodes=nodes, edges=edges, communities=communities, isolation=isolation, cc=cc
        )

    def _health(self) -> Health:
        nodes, _, _, alone, _, _ = _topology(self._store)
        return Health(
            nodes=nodes,
            unlinked=self._count("degree:0"),
            unvisited=self._count(f"not-visited:{self._definition.name}"),
            stale=self._count(f"age:>={_STALE_DAYS}d"),
            empty=self._count("content-len:0"),
            alone=alone,
        )

    def _count(self, stage: str) -> int:
        return self._store.query(f"all | {stage} | count", now=self._now).count or 0
