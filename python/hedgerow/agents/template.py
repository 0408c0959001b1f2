"""Prompts: templates with placeholders, filled with nodes (spec/agents.md, "Templates")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Health", "PromptData", "PromptNode", "Rendered", "Topology"]


@dataclass(frozen=True, slots=True)
class PromptNode:
    """A node as a prompt shows it: `age_s` is seconds since it was updated."""

    key: str
    type: str
    age_s: float
    weight: float
    degree: int
    content: str


@dataclass(frozen=True, slots=True)
class Topology:
    """The whole graph in numbers: isolation and cc (clustering) are means, from 0 to 1."""

    nodes: int
    edges: int
    communities: int
    isolation: float
    cc: float


@dataclass(frozen=True, slots=True)
class Health:
    """What in the graph deserves a look, as counts of live nodes.

    `nodes` all; `unlinked` without edges; `unvisited` never visited by this agent; `stale` not
    updated for 90 days; `empty` without content; `alone` communities of one node.
    """

    nodes: int
    unlinked: int
    unvisited: int
    stale: int
    empty: int
    alone: int


@dataclass(frozen=True, slots=True)
class PromptData:
    """What fills a template. `now` is Unix seconds; `by_key` finds the node of `{{NODE:key}}`.

    `nodes` are those selected, best first, `neighbors` those one edge away from one of them and
    not selected; `pairs` are keys with their similarity, most alike first.
    """

    agent: str
    now: float
    nodes: Sequence[PromptNode]
    by_key: Callable[[str], PromptNode | None]
    neighbors: Sequence[PromptNode] = ()
    topology: Topology | None = None
    pairs: Sequence[tuple[str, str, float]] = ()
    health: Health | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt, the keys of the selected nodes that it shows and of those that had no room."""

    prompt: str
    included: tuple[str, ...]
    cut: tuple[str, ...]
