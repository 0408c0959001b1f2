"""Writes the figures into the documents, between two markers.

The rest of each document is untouched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .charts import draw
from .report import summary, tables
from .results import Row

ROOT = Path(__file__).parents[2]


def publish(rows: Sequence[Row], machine: dict[str, str], root: Path = ROOT) -> list[Path]:
    """Write the figures into the documents and draw the charts. Return the written files."""
    made = draw(rows, root / "benches" / "charts")
    for document, text in [
        (root / "docs" / "speed.md", summary(rows, machine)),
        (root / "benches" / "README.md", tables(rows, machine)),
    ]:
        document.write_text(filled(document.read_text(encoding="utf-8"), text), encoding="utf-8")
        made.append(document)
    return made


def filled(document: str, text: str) -> str:
    """Return the document with a new text between its markers.

    Raises ValueError unless each occurs once.
    """
    marks = re.compile(r"(?<=<!-- make bench -->\n).*?(?=<!-- end -->\n)", re.DOTALL)
    changed, count = marks.subn(lambda _: f"\n{text}\n\n", document)
    if count != 1:
        raise ValueError(
            "write <!-- make bench --> and <!-- end --> where the figures are to stand"
        )
    return changed
