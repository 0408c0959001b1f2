"""The figures in the documents: each between two marks, the rest is left alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .charts import draw
from .report import summary, tables
from .results import Row

ROOT = Path(__file__).parents[2]


def publish(rows: Sequence[Row], machine: dict[str, str], root: Path = ROOT) -> list[Path]:
    """Write figures into the pages that have them and draw the charts; returns what was written."""
    made = draw(rows, root / "benches" / "charts")
    for document, text in [
        (root / "docs" / "speed.md", summary(rows, machine)),
        (root / "benches" / "README.md", tables(rows, machine)),
    ]:
        document.write_text(filled(document.read_text(encoding="utf-8"), text), encoding="utf-8")
        made.append(document)
    return made


def filled(document: str, text: str) -> str:
    """The document with another text between its marks; ValueError if these are not there once."""
    marks = re.compile(r"(?<=<!-- make bench -->\n).*?(?=<!-- end -->\n)", re.DOTALL)
    changed, count = marks.subn(lambda _: f"\n{text}\n\n", document)
    if count != 1:
        raise ValueError(
            "write <!-- make bench --> and <!-- end --> where the figures are to stand"
        )
    return changed
