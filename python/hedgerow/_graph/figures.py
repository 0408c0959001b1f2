"""The graph of a store in figures, and the part of it around a node (spec/pipeline.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from hedgerow._engine import Store
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow.errors import InvalidInputError

MOST = 10
"""The number of communities, and of most linked nodes, to report."""

Edge = tuple[str, str, str, float]
"""Source, target, relation, strength."""


@dataclass(frozen=True, slots=True)
class Community:
    """A community: its most linked node, its number of nodes, and its isolation."""

    id: int
    node: str
    nodes: int
    isolation: float


@dataclass(frozen=True, slots=True)
class LinkedNode:
    """A node, and the number of nodes that it shares an edge with."""

    key: str
    degree: int


@dataclass(frozen=True, slots=True)
class GraphFigures(Result):
    """Counts of a graph. Edges are counted as in the algorithms, without direction.

    `components` are the sizes of the connected parts of two nodes or more, the largest first.
    `communities` are the largest of two nodes or more, `MOST` at most, and `grouped` counts all of
    them; `most_linked` are the `MOST` nodes with the most links. `alone` counts nodes without
    links.
    """

    nodes: int
    edges: int
    types: Mapping[str, int]
    relations: Mapping[str, int]
    alone: int
    mean_degree: float
    components: Sequence[int]
    grouped: Annotated[int, Field(local=True)]
    communities: Sequence[Community]
    most_linked: Sequence[LinkedNode]
    stale: bool


def figures_of(store: Store) -> GraphFigures:
    """Count what there is in a store."""
    result = store.query("all | select:key,type,degree,community,isolation")
    rows: list[list[Any]] = result.rows or []
    degrees = {row[0]: row[2] for row in rows}
    edges = store._edges()  # noqa: SLF001 - of the same package
    groups: dict[int, list[str]] = {}
    isolation = {}
    for key, _, _, community, apart in rows:
        groups.setdefault(community, []).append(key)
        isolation[community] = apart
    communities = [
        Community(number, _most_linked(keys, degrees)[0], len(keys), isolation[number])
        for number, keys in groups.items()
        if len(keys) > 1
    ]
    communities.sort(key=lambda one: (-one.nodes, one.node))
    linked = [key for key in _most_linked(degrees, degrees) if degrees[key]]
    return GraphFigures(
        nodes=len(rows),
        edges=sum(degrees.values()) // 2,
        types=_counted(row[1] for row in rows),
        relations=_counted(relation for _, _, relation, _ in edges),
        alone=sum(not degree for degree in degrees.values()),
        mean_degree=sum(degrees.values()) / len(rows) if rows else 0.0,
        components=_components(edges),
        grouped=len(communities),
        communities=communities[:MOST],
        most_linked=[LinkedNode(key, degrees[key]) for key in linked[:MOST]],
        stale=result.stale,
    )


def _most_linked(keys: Iterable[str], degrees: Mapping[str, int]) -> list[str]:
    return sorted(keys, key=lambda key: (-degrees[key], key))


def _counted(words: Iterable[str]) -> dict[str, int]:
    """Count words, the most frequent first, then by the alphabet."""
    counts = Counter(words)
    return {word: counts[word] for word in sorted(counts, key=lambda word: (-counts[word], word))}


def _components(edges: Iterable[Edge]) -> list[int]:
    """Return the sizes of the connected parts, the largest first."""
    above: dict[str, str] = {}

    def top(key: str) -> str:
        while above.setdefault(key, key) != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    for source, target, _, _ in edges:
        above[top(source)] = top(target)
    return sorted(Counter(map(top, list(above))).values(), reverse=True)


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """The part of a graph around a node: hops from it by key, nearest first, and the edges between.

    `left_out` counts the nodes within as many hops for which there was no room.
    """

    center: str
    hops: Mapping[str, int]
    edges: Sequence[Edge]
    left_out: int

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any]) -> Neighborhood:
        """Return the neighborhood that `to_dict` describes."""
        edges = [
            (one["source"], one["target"], one["rel"], one["strength"]) for one in keys["edges"]
        ]
        return cls(keys["key"], keys["nodes"], edges, keys["leftOut"])

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of `hedgerow graph KEY`, without what only a root knows."""
        edges = [
            {"source": source, "target": target, "rel": relation, "strength": strength}
            for source, target, relation, strength in self.edges
        ]
        return {
            "key": self.center,
            "nodes": dict(self.hops),
            "edges": edges,
            "leftOut": self.left_out,
        }


def neighborhood_of(store: Store, key: str, *, hops: int, most: int) -> Neighborhood:
    """Return the nodes at most `hops` hops from a node, at most `most` of them with that node.

    Within a hop, the most strongly linked come first. Raises InvalidInputError for an unknown key.
    """
    if not _is_node(store, key):
        raise InvalidInputError(
            f'there is no node {key!r}; the pipeline "all" selects every node',
            code="unknown_node",
            key=key,
        )
    return around(store._edges(), key, hops=hops, most=most)  # noqa: SLF001


def around(edges: Sequence[Edge], key: str, *, hops: int, most: int) -> Neighborhood:
    """Like `Neighborhood` of a store, from edges alone."""
    near: dict[str, dict[str, float]] = {}
    for source, target, _, strength in edges:
        for one, other in ((source, target), (target, source)):
            strongest = near.setdefault(one, {})
            strongest[other] = max(strength, strongest.get(other, 0.0))
    found = {key: 0}
    front, left_out = [key], set[str]()
    for hop in range(1, hops + 1):
        reached: dict[str, float] = {}
        for one in front:
            for other, strength in near.get(one, {}).items():
                if other not in found:
                    reached[other] = max(strength, reached.get(other, 0.0))
        ordered = sorted(reached, key=lambda other: (-reached[other], other))
        front = ordered[: max(0, most - len(found))]
        # A node left out of a hop may be reached again in the next.
        left_out.update(ordered[len(front) :])
        found |= dict.fromkeys(front, hop)
    inside = [edge for edge in edges if edge[0] in found and edge[1] in found]
    return Neighborhood(key, found, inside, len(left_out))


def _is_node(store: Store, key: str) -> bool:
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')
    return bool(key) and bool(store.query(f'seed:"{quoted}"').keys)
