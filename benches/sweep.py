"""Vary one size at a time, and flag each step whose cost grows faster than the size.

python benches/sweep.py [--only NAME ...] [--chunks N] [--seconds S] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

for library in ("MKL", "OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from suite.machine import machine  # noqa: E402
from sweeps import contents, searches, writes  # noqa: E402
from sweeps.base import Base, measure  # noqa: E402
from sweeps.steps import Step, summary, table  # noqa: E402

DIMENSIONS = {
    dimension.name: dimension
    for module in (writes, searches, contents)
    for dimension in module.DIMENSIONS
}
_CHUNKS = 20_000
_FEWEST = 200
_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each cost, then the flagged steps. Return 1 if a dimension failed."""
    asked = _parser().parse_args(arguments)
    found: list[Step] = []
    failed: list[str] = []
    for name in asked.only or DIMENSIONS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            base = Base(Path(folder), asked.chunks)
            try:
                for made in measure(DIMENSIONS[name], base, asked.seconds, _tell):
                    print(*table(made), "", sep="\n", flush=True)
                    found += made
            except Exception as error:  # noqa: BLE001 - one broken dimension must not end the run
                failed.append(f"{name} failed: {error!r}")
                _tell(failed[-1])
    print(*summary(found), *failed, sep="\n")
    if asked.json:
        written = {
            "machine": machine(),
            "chunks": asked.chunks,
            "steps": [asdict(step) for step in found],
            "failed": failed,
        }
        asked.json.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return 1 if failed else 0


def _tell(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sweep.py", description="how costs grow with sizes (benches/README.md)"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*DIMENSIONS],
        metavar="NAME",
        help=f"measure these dimensions alone: {', '.join(DIMENSIONS)} (default: all)",
    )
    parser.add_argument(
        "--chunks",
        type=_size,
        default=_CHUNKS,
        metavar="N",
        help="chunks of the index that a size is varied in (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=_SECONDS,
        metavar="S",
        help="for measuring one dimension, beyond three rounds (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all steps")
    return parser


def _size(text: str) -> int:
    size = int(text)
    if size < _FEWEST:
        raise argparse.ArgumentTypeError(f"{size} is too few: at least {_FEWEST}")
    return size


if __name__ == "__main__":
    sys.exit(main())
