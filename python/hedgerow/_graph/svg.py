"""The neighbourhood of a node as SVG: laid out by networkx, the same for the same graph."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from hedgerow._extras import imports_of

from .figures import Neighbourhood

with imports_of("graph", needed_by="a drawing of the graph"):
    import networkx as nx

MOST_DRAWN = 60
"""The most nodes that are drawn: more would be unreadable."""

_SIZE = 900
_MARGIN = 90
_LONGEST = 28
_NEARLY_NOTHING = 1e-9
# Colors that are distinct in print and to the color-blind.
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888")
_STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif; }
text { fill: #222; stroke: #fff; stroke-width: 3px; paint-order: stroke; }
line { stroke: #999; }
circle { stroke: #fff; stroke-width: 1.5px; }
.centre circle { stroke: #222; stroke-width: 3px; }
.centre text { font-weight: bold; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181c; }
  text { fill: #e8e8e8; stroke: #16181c; }
  line { stroke: #667; }
  circle { stroke: #16181c; }
  .centre circle { stroke: #e8e8e8; }
}
"""


def draw(part: Neighbourhood, facts: Mapping[str, tuple[str, float]]) -> str:
    """Draw nodes as circles, larger with more weight, and edges as lines, wider with more strength.

    `facts` are type and weight by key. Pointing at a node shows its key.
    """
    positions = _positions(part)
    types = sorted({facts[key][0] for key in part.hops})
    colours = {kind: _COLOURS[n % len(_COLOURS)] for n, kind in enumerate(types)}
    svg = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_SIZE} {_SIZE + 30 + (len(types) - 1) // 6 * 22}",
        width=str(_SIZE),
        role="img",
    )
    _add(svg, "title", f"What is linked to {part.centre}")
    _add(svg, "style", _STYLE)
    for (one, other), (strength, relations) in _lines(part).items():
        (x1, y1), (x2, y2) = positions[one], positions[other]
        line = _add(svg, "line", x1=x1, y1=y1, x2=x2, y2=y2)
        line.set("stroke-width", f"{0.5 + 2.5 * strength:.2f}")
        _add(line, "title", f"{one} - {other}: {relations}, {strength:g}")
    for key in part.hops:
        kind, weight = facts[key]
        x, y = positions[key]
        group = _add(svg, "g", **({"class": "centre"} if key == part.centre else {}))
        _add(group, "title", f"{key} ({kind}, weight {weight:g})")
        radius = f"{6 + 8 * weight:.1f}"
        _add(group, "circle", cx=x, cy=y, r=radius, fill=colours[kind])
        label = _add(group, "text", _label(key), x=x, y=f"{float(y) + float(radius) + 14:.1f}")
        label.set("text-anchor", "middle")
    for number, kind in enumerate(types):
        left, top = 20 + number % 6 * 145, _SIZE + 10 + number // 6 * 22
        _add(svg, "circle", cx=str(left), cy=str(top), r="6", fill=colours[kind])
        _add(svg, "text", kind, x=str(left + 12), y=str(top + 4))
    ET.indent(svg)
    return ET.tostring(svg, encoding="unicode") + "\n"


def _positions(part: Neighbourhood) -> dict[str, tuple[str, str]]:
    """Lay the nodes out by their edges, over the whole drawing; as text, rounded."""
    graph: Any = nx.Graph()
    graph.add_nodes_from(part.hops)
    for (one, other), (strength, _) in _lines(part).items():
        graph.add_edge(one, other, weight=strength)
    start = nx.shell_layout(graph, _shells(part))
    spread = 2.2 / max(1, len(part.hops)) ** 0.5
    placed = nx.spring_layout(graph, k=spread, pos=start, iterations=200, seed=1)
    across, down = (
        _spaced([float(position[axis]) for position in placed.values()]) for axis in (0, 1)
    )
    return dict(zip(placed, zip(across, down, strict=True), strict=True))


def _spaced(numbers: list[float]) -> list[str]:
    """Bring numbers between the margins, as text; equal ones to the middle."""
    least, most = min(numbers), max(numbers)
    room = _SIZE - 2 * _MARGIN
    if most - least < _NEARLY_NOTHING:
        return [f"{_SIZE / 2:.1f}"] * len(numbers)
    return [f"{_MARGIN + room * (number - least) / (most - least):.1f}" for number in numbers]


def _shells(part: Neighbourhood) -> list[list[str]]:
    shells: list[list[str]] = [[] for _ in range(max(part.hops.values()) + 1)]
    for key, hop in part.hops.items():
        shells[hop].append(key)
    return [shell for shell in shells if shell]


def _lines(part: Neighbourhood) -> dict[tuple[str, str], tuple[float, str]]:
    """Join the edges between two nodes: the strongest counts, all relations are named."""
    lines: dict[tuple[str, str], tuple[float, str]] = {}
    for source, target, relation, strength in part.edges:
        ends = (min(source, target), max(source, target))
        before = lines.get(ends)
        if before is None:
            lines[ends] = (strength, relation)
        elif relation not in before[1].split(", "):
            lines[ends] = (max(strength, before[0]), f"{before[1]}, {relation}")
        else:
            lines[ends] = (max(strength, before[0]), before[1])
    return lines


def _label(key: str) -> str:
    """Give the name of a file without its ending, cut where it is long."""
    name = posixpath.basename(key).removesuffix(".md") or key
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, attributes)
    element.text = text
    return element
