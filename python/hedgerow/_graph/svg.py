"""The neighborhood of a node as SVG: laid out by networkx, the same for the same graph."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Collection, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from hedgerow._extras import imports_of

from .figures import Neighborhood

with imports_of("graph", needed_by="a drawing of the graph"):
    import networkx as nx

MOST_DRAWN = 60
"""The most nodes that are drawn: more would be unreadable."""

_SIZE = 900
_MARGIN = 90
_LONGEST = 28
_EDGE, _LINE, _LETTER = 8, 15, 7.2
_WIDE_FROM = 0x2E7F
_TRIES = 8
_NEARLY_NOTHING = 1e-9
# Characters that XML cannot contain, not even as an escape.
_NOT_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Colors that are distinct in print and to the color-blind.
_COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888")
_STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif; }
text { fill: #222; stroke: #fff; stroke-width: 3px; paint-order: stroke; }
line { stroke: #999; }
#arrow path { fill: #999; }
circle { stroke: #fff; stroke-width: 1.5px; }
.center circle { stroke: #222; stroke-width: 3px; }
.center text { font-weight: bold; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181c; }
  text { fill: #e8e8e8; stroke: #16181c; }
  line { stroke: #667; }
  #arrow path { fill: #667; }
  circle { stroke: #16181c; }
  .center circle { stroke: #e8e8e8; }
}
"""


def draw(part: Neighborhood, facts: Mapping[str, tuple[str, float]]) -> str:
    """Draw nodes as circles, larger with more weight, and edges as lines, wider with more strength.

    `facts` are type and weight by key. Pointing at a node shows its key.
    """
    positions = _positions(part)
    types = sorted({facts[key][0] for key in part.hops})
    colors = {kind: _COLORS[n % len(_COLORS)] for n, kind in enumerate(types)}
    svg = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_SIZE} {_SIZE + 30 + (len(types) - 1) // 6 * 22}",
        width=str(_SIZE),
        role="img",
    )
    _add(svg, "title", f"Links of {part.center}")
    _add(svg, "style", _STYLE)
    _add_arrow(svg)
    radii = {key: 6 + 8 * facts[key][1] for key in part.hops}
    ways = {(source, target) for source, target, _, _ in part.edges}
    for edge, (strength, relations) in _lines(part).items():
        _add_line(svg, ways, edge, positions, radii, f"{relations}, {strength:g}", strength)
    labels = _Labels()
    for key in part.hops:
        kind, weight = facts[key]
        x, y = positions[key]
        group = _add(svg, "g", **({"class": "center"} if key == part.center else {}))
        _add(group, "title", f"{key} ({kind}, weight {weight:g})")
        _add(
            group, "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radii[key]:.1f}", fill=colors[kind]
        )
        text = _label(key)
        left, base = labels.placed(text, x, y + radii[key] + 14)
        _add(group, "text", text, x=f"{left:.1f}", y=f"{base:.1f}")
    for number, kind in enumerate(types):
        left, top = 20 + number % 6 * 145, _SIZE + 10 + number // 6 * 22
        _add(svg, "circle", cx=str(left), cy=str(top), r="6", fill=colors[kind])
        _add(svg, "text", kind, x=str(left + 12), y=str(top + 4))
    ET.indent(svg)
    return ET.tostring(svg, encoding="unicode") + "\n"


class _Labels:
    """Finds room for labels: within the drawing, and below those that were placed before."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float]] = []

    def placed(self, text: str, middle: float, base: float) -> tuple[float, float]:
        """Return where a text begins, and its baseline."""
        width = sum(_LETTER * (2 if ord(one) > _WIDE_FROM else 1) for one in text)
        left = min(max(middle - width / 2, _EDGE), max(_EDGE, _SIZE - _EDGE - width))
        for _ in range(_TRIES):
            if not any(
                abs(base - other) < _LINE and left < end and start < left + width
                for start, end, other in self._taken
            ):
                break
            base += _LINE
        base = min(base, _SIZE - _EDGE)
        self._taken.append((left, left + width, base))
        return left, base


def _add_arrow(svg: ET.Element) -> None:
    marker = _add(
        _add(svg, "defs"),
        "marker",
        id="arrow",
        viewBox="0 0 8 8",
        refX="8",
        refY="4",
        markerWidth="9",
        markerHeight="9",
        markerUnits="userSpaceOnUse",
        orient="auto-start-reverse",
    )
    _add(marker, "path", d="M0,0 L8,4 L0,8 z")


def _add_line(  # noqa: PLR0913, PLR0917 - what a line shows
    svg: ET.Element,
    ways: Collection[tuple[str, str]],
    edge: tuple[str, str],
    positions: Mapping[str, tuple[float, float]],
    radii: Mapping[str, float],
    told: str,
    strength: float,
) -> None:
    """Draw a line from the rim of one node to that of another, with arrows where links point."""
    one, other = edge
    (x1, y1), (x2, y2) = positions[one], positions[other]
    length = max(math.hypot(x2 - x1, y2 - y1), 1.0)
    across, down = (x2 - x1) / length, (y2 - y1) / length
    start, end = min(radii[one] + 2, length / 2), min(radii[other] + 2, length / 2)
    line = _add(
        svg,
        "line",
        x1=f"{x1 + across * start:.1f}",
        y1=f"{y1 + down * start:.1f}",
        x2=f"{x2 - across * end:.1f}",
        y2=f"{y2 - down * end:.1f}",
    )
    line.set("stroke-width", f"{0.5 + 2.5 * strength:.2f}")
    if edge in ways:
        line.set("marker-end", "url(#arrow)")
    if (other, one) in ways:
        line.set("marker-start", "url(#arrow)")
    _add(line, "title", f"{one} - {other}: {told}")


def _positions(part: Neighborhood) -> dict[str, tuple[float, float]]:
    """Lay out the nodes by their edges, over the whole drawing."""
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


def _spaced(numbers: list[float]) -> list[float]:
    """Bring numbers between the margins, rounded; equal ones to the middle."""
    least, most = min(numbers), max(numbers)
    room = _SIZE - 2 * _MARGIN
    if most - least < _NEARLY_NOTHING:
        return [_SIZE / 2] * len(numbers)
    return [round(_MARGIN + room * (number - least) / (most - least), 1) for number in numbers]


def _shells(part: Neighborhood) -> list[list[str]]:
    shells: list[list[str]] = [[] for _ in range(max(part.hops.values()) + 1)]
    for key, hop in part.hops.items():
        shells[hop].append(key)
    return [shell for shell in shells if shell]


def _lines(part: Neighborhood) -> dict[tuple[str, str], tuple[float, str]]:
    """Join the edges between two nodes: the strongest counts, all relations are named."""
    between: dict[tuple[str, str], dict[str, float]] = {}
    for source, target, relation, strength in part.edges:
        strengths = between.setdefault((min(source, target), max(source, target)), {})
        strengths[relation] = max(strength, strengths.get(relation, 0.0))
    return {
        ends: (max(strengths.values()), ", ".join(strengths)) for ends, strengths in between.items()
    }


def _label(key: str) -> str:
    """Return the name of a file without its suffix, shortened where it is long."""
    name = posixpath.basename(key).removesuffix(".md") or key
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, attributes)
    element.text = None if text is None else _NOT_OF_XML.sub("\ufffd", text)
    return element
