"""Cycles in a directed graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def in_cycles(edges: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Return the edges (from, to) of which the ends can reach each other, in linear time.

    These are the edges inside the strongly connected components, which Tarjan's algorithm finds,
    here without recursion.
    """
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    component: dict[str, int] = {}
    stack: list[str] = []
    for start in edges:
        if start in number:
            continue
        number[start] = lowest[start] = len(number)
        stack.append(start)
        path = [(start, iter(edges[start]))]
        while path:
            node, left = path[-1]
            for to in left:
                if to not in number:
                    number[to] = lowest[to] = len(number)
                    stack.append(to)
                    path.append((to, iter(edges.get(to, ()))))
                    break
                if to not in component:
                    lowest[node] = min(lowest[node], number[to])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    _close(node, stack, component)
    return {
        (node, to)
        for node, others in edges.items()
        for to in others
        if component[node] == component[to]
    }


def _close(first: str, stack: list[str], component: dict[str, int]) -> None:
    """Take the component that begins with a node from the stack."""
    count = len(component)
    while True:
        node = stack.pop()
        component[node] = count
        if node == first:
            return
