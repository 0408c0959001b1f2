"""Record the last long run of each proof in docs/proof.json.

The proofs are `make proof`, `make simulate`, `make attack`, `make histories`, `make interleavings`,
`make mutants SAMPLE=...` and `make miri`.

Passes the output of the tests through, and reads the lines that end in `proof {...}`. Fails and
records nothing if there is no such line, or if a test failed.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "proof.json"

RUNS = (
    "failing calls",
    "power loss, normal durability",
    "power loss, full durability",
    "simulation",
    "simulation of roots",
    "attack",
    "histories",
    "interleavings",
    "mutants",
    "miri",
)
"""The names of all proofs, in the order of the record."""

_RUN = re.compile(r"\bproof (\{.*\})$")
_FAILED = re.compile(r"^(test result: FAILED|error)|^FAILED\b")


def recorded(before: list[dict[str, object]], lines: list[str]) -> list[dict[str, object]]:
    """Return the record updated with the runs in an output. Runs of other names stay. If several
    tests print parts of one run, they use the same name, and their times and counts are added.

    Raises ValueError if a test failed, if the output has no run, or if a name is unknown.
    """
    if any(_FAILED.match(line) for line in lines):
        raise ValueError("a test failed, so nothing is recorded")
    found = [json.loads(run[1]) for run in map(_RUN.search, lines) if run]
    if not found:
        raise ValueError("no line ends in `proof {...}`, so nothing is recorded")
    [version] = re.findall(r'(?m)^version = "(.+)"$', (ROOT / "Cargo.toml").read_text("utf-8"))
    date = datetime.now(timezone.utc).date().isoformat()
    runs = {str(run["name"]): run for run in before}
    for name in {run["name"]: None for run in found}:
        parts = [run for run in found if run["name"] == name]
        sums = {key: round(sum(part.get(key, 0) for part in parts)) for key in ("seconds", "count")}
        runs[name] = {**parts[0], **sums, "date": date, "version": version}
    if unknown := runs.keys() - set(RUNS):
        raise ValueError(f"add to RUNS in {Path(__file__).name}: {', '.join(sorted(unknown))}")
    return [runs[name] for name in RUNS if name in runs]


def main() -> None:
    """Read the output of the tests from stdin, and write the record."""
    lines = []
    for line in sys.stdin:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)
    try:
        runs = recorded(json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else [], lines)
    except ValueError as error:
        sys.exit(str(error))
    rows = ",\n".join(f"  {json.dumps(run)}" for run in runs)
    RECORD.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
