"""Draw the grammars of spec/ as railroad diagrams: python scripts/draw_railroads.py [FOLDER].

Reads the EBNF block of each page and writes a picture of each into FOLDER, by default
docs/pictures.
"""

from __future__ import annotations

import io
import math
import re
import sys
from pathlib import Path
from typing import Any

import railroad

ROOT = Path(__file__).parents[1]
PAGES = {"query.md": "query-grammar.svg", "pipeline.md": "pipeline-grammar.svg"}
MARGIN = 12
LABEL = 20
PADDING = 3  # room for the stroke width

STYLE = """
  text { font: 14px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle; fill: #1f2328; }
  text.rule { text-anchor: start; font-weight: bold; }
  rect { fill: #eaf2ff; stroke: #57606a; }
  .terminal rect { fill: #dff5e1; }
  path { fill: none; stroke: #57606a; stroke-width: 2; }
  .page { fill: #ffffff; stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } rect { fill: #1f2d45; stroke: #8b949e; } .terminal rect { fill: #1e3a26; }
    path { stroke: #8b949e; } .page { fill: #0d1117; }
  }
"""

_TOKEN = re.compile(
    r"""\s+|\(\*.*?\*\)|(?P<text>"[^"]*"|'[^']*')|(?P<name>[a-z][a-z-]*)|(?P<mark>[][{}()|,;=-])""",
    re.DOTALL,
)


def main() -> None:
    """Draw every page that has a grammar."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "pictures"
    for page, picture in PAGES.items():
        text = (ROOT / "spec" / page).read_text(encoding="utf-8")
        (folder / picture).write_text(drawn(rules_of(text)), encoding="utf-8")


def rules_of(page: str) -> dict[str, Any]:
    """Return the rules of the grammar on a page, by name, as railroad elements."""
    [grammar] = re.findall(r"^```ebnf\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    reader = _Reader(grammar)
    rules = {}
    while reader.next is not None:
        name = reader.take()
        reader.expect("=")
        rules[name] = reader.alternatives()
        reader.expect(";")
    return rules


class _Reader:
    """A recursive-descent parser of EBNF with one token of lookahead."""

    def __init__(self, grammar: str) -> None:
        self._tokens: list[str] = []
        at = 0
        while at < len(grammar):
            found = _TOKEN.match(grammar, at)
            if found is None:
                raise ValueError(f"not EBNF: {grammar[at : at + 20]!r}")
            at = found.end()
            if found.lastgroup:
                self._tokens.append(found[0])

    @property
    def next(self) -> str | None:
        return self._tokens[0] if self._tokens else None

    def take(self) -> str:
        return self._tokens.pop(0)

    def expect(self, mark: str) -> None:
        found = self.take()
        if found != mark:
            raise ValueError(f"{mark!r} was expected, not {found!r}")

    def alternatives(self) -> Any:
        choices = [self._sequence()]
        while self.next == "|":
            self.take()
            choices.append(self._sequence())
        return choices[0] if len(choices) == 1 else railroad.Choice(0, *choices)

    def _sequence(self) -> Any:
        items: list[tuple[str, Any]] = []
        while True:
            before = list(self._tokens)
            item = self._item()
            source = " ".join(before[: len(before) - len(self._tokens)])
            repeated = self._repeated(items[-1] if items else None, source)
            if repeated is None:
                items.append((source, item))
            else:
                items[-1] = (source, repeated)
            if self.next != ",":
                break
            self.take()
        drawn = [item for _, item in items]
        return drawn[0] if len(drawn) == 1 else railroad.Sequence(*drawn)

    def _repeated(self, before: tuple[str, Any] | None, source: str) -> Any:
        """Return `x , { x }` as one or more x, and `x , { "," , x }` as x separated by commas."""
        if before is None or not source.startswith("{ "):
            return None
        again, item = before[0].removeprefix("( ").removesuffix(" )"), before[1]
        inside = source.removeprefix("{ ").removesuffix(" }")
        if inside == again:
            return railroad.OneOrMore(item)
        if inside.endswith(f" , {again}"):
            separator = inside.removesuffix(f" , {again}")
            return railroad.OneOrMore(item, _Reader(separator).alternatives())
        return None

    def _item(self) -> Any:
        piece = self.take()
        if piece == "(":
            item = self.alternatives()
            self.expect(")")
        elif piece == "[":
            item = railroad.Optional(self.alternatives())
            self.expect("]")
        elif piece == "{":
            item = railroad.ZeroOrMore(self.alternatives())
            self.expect("}")
        elif piece[0] in "\"'":
            item = railroad.Terminal(piece[1:-1])
        else:
            item = railroad.NonTerminal(piece)
        exceptions = []
        while self.next == "-":
            self.take()
            exceptions.append(self.take())
        return railroad.NonTerminal(_but(piece, exceptions)) if exceptions else item


def _but(name: str, exceptions: list[str]) -> str:
    """Return `a - b - c` in words."""
    return f"{name} but not {' or '.join(exceptions)}"


def drawn(rules: dict[str, Any]) -> str:
    """Return one SVG with all rules below each other, without external resources."""
    parts, top, width = [], MARGIN, 0
    for name, rule in rules.items():
        diagram = railroad.Diagram(rule, type="complex")
        diagram.format(PADDING)
        inner = io.StringIO()
        diagram.writeSvg(inner.write)
        text = re.sub(r'\.0+(?=[" ])', "", inner.getvalue())
        parts.append(f'<text class="rule" x="{MARGIN}" y="{top + 14}">{name}</text>')
        parts.append(text.replace("<svg ", f'<svg x="{MARGIN}" y="{top + LABEL}" ', 1).strip())
        top += LABEL + math.ceil(float(diagram.attrs["height"])) + MARGIN
        width = max(width, math.ceil(float(diagram.attrs["width"])) + 2 * MARGIN)
    size = f'width="{width}" height="{top}" viewBox="0 0 {width} {top}"'
    inside = "\n".join(parts)
    page = '<rect class="page" width="100%" height="100%"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{page}\n{inside}\n</svg>\n'


if __name__ == "__main__":
    main()
