"""Publish the results of `make coverage`: python scripts/publish_coverage.py.

Reads the reports in coverage/, writes docs/coverage.json, and draws the badge of the README.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import draw_badges

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write the coverage in percent: lines of Rust, lines and branches of Python."""
    rust = report("rust")["data"][0]["totals"]["lines"]["percent"]
    python = report("python")["totals"]["percent_covered"]
    today = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    covered = {"date": today, "rust": round(rust, 1), "python": round(python, 1)}
    text = json.dumps(covered) + "\n"
    (ROOT / "docs" / "coverage.json").write_text(text, encoding="utf-8")
    draw_badges.main()
    print(text, end="")


def report(language: str) -> dict[str, Any]:
    """Return a report from coverage/."""
    text = (ROOT / "coverage" / f"{language}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


if __name__ == "__main__":
    main()
