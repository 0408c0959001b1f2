"""Files of a memory root, as tests write them."""

from __future__ import annotations

from pathlib import Path

WRAPUP = """\
## Findings
- alpha holds.

## Decisions
- beta chosen.

## Conflicts / Corrections
- None captured.

## Open Questions
- Will gamma last?
"""


def put(root: Path, name: str, text: str) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")
    return file
