"""Draw what `hedgerow search --explain` shows in a terminal: python scripts/draw_explain.py.

Indexes the notes of examples/ with the command, and writes docs/pictures/explain.svg.
"""

from __future__ import annotations

import io
import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
HEDGEROW = Path(sysconfig.get_path("scripts")) / "hedgerow"
WIDTH = 96
QUERY = "hedgehog* AND winter NOT town"


def main() -> None:
    """Index the notes, then draw the output of the search."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "notes.db"
        run("index", "notes", "--db", str(db))
        shown = run("search", QUERY, "--db", str(db), "--limit", "2", "--explain")
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(
        Text(f"$ hedgerow search '{QUERY}' --db notes.db --limit 2 --explain", style="bold")
    )
    console.print(Text.from_ansi(shown.rstrip()))
    text = console.export_svg(title="hedgerow", theme=MONOKAI, unique_id="explain")
    # Load no web font; the reader's own monospace font is used.
    kept = [line.rstrip() for line in text.splitlines()]
    start = next(at for at, line in enumerate(kept) if "@font-face" in line)
    end = max(at for at, line in enumerate(kept) if "font-weight: 700" in line) + 1
    svg = "\n".join([*kept[:start], *kept[end + 1 :]]).replace("Fira Code", "ui-monospace")
    (ROOT / "docs" / "pictures" / "explain.svg").write_text(f"{svg}\n", encoding="utf-8")


def run(*args: str) -> str:
    """Run a command as in a terminal of `WIDTH` columns, and return its output."""
    env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    done = subprocess.run(
        [str(HEDGEROW), *args], cwd=ROOT / "examples", env=env, capture_output=True, check=True
    )
    return done.stdout.decode()


if __name__ == "__main__":
    main()
