"""Draw the badges of the README: python scripts/draw_badges.py [FOLDER].

Each badge repeats something that is checked elsewhere: the versions of Python and the license from
pyproject.toml, and the coverage of both languages from `make coverage`. Writes into FOLDER, by
default docs/pictures/badges.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Approximate character widths of Verdana at 11 pixels; textLength makes every font keep to them.
NARROW, USUAL, WIDE = 4, 7, 11
PADDING = 7
HEIGHT = 20

BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{label}: {value}">
  <title>{label}: {value}</title>
  <rect width="{width}" height="{height}" rx="3" fill="#2e5e3e"/>
  <path d="M3 0H{left}V{height}H3A3 3 0 0 1 0 17V3A3 3 0 0 1 3 0Z" fill="#444c56"/>
  <g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
    <text x="{padding}" y="14" textLength="{label_width}">{label}</text>
    <text x="{value_at}" y="14" textLength="{value_width}">{value}</text>
  </g>
</svg>
"""


def main() -> None:
    """Draw every badge."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "pictures" / "badges"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (label, value) in badges().items():
        (folder / f"{name}.svg").write_text(drawn(label, value), encoding="utf-8")


def badges() -> dict[str, tuple[str, str]]:
    """Return the label and the value of each badge, by the name of its file."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    [licence] = re.findall(r'^license = "(.*)"', project, re.MULTILINE)
    covered = json.loads((ROOT / "docs" / "coverage.json").read_text(encoding="utf-8"))
    return {
        "python": ("Python", f"{versions[0]} to {versions[-1]}"),
        "coverage": ("coverage", f"Rust {covered['rust']:.0f}%, Python {covered['python']:.0f}%"),
        "license": ("license", licence),
    }


def drawn(label: str, value: str) -> str:
    """Return a badge as SVG without external resources."""
    label_width, value_width = width_of(label), width_of(value)
    left = label_width + 2 * PADDING
    return BADGE.format(
        label=label,
        value=value,
        label_width=label_width,
        value_width=value_width,
        left=left,
        value_at=left + PADDING,
        width=left + value_width + 2 * PADDING,
        height=HEIGHT,
        padding=PADDING,
    )


def width_of(text: str) -> int:
    """Return the approximate width of a text in pixels."""
    return sum(NARROW if c in "iljtf., -" else WIDE if c in "mwMW%" else USUAL for c in text)


if __name__ == "__main__":
    main()
