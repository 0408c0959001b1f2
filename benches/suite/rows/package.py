"""The package: the size of the download, and the import time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from suite.results import Row, Target, at_most
from suite.timing import Times, seconds

_WHEELS = Path(__file__).parents[3] / "wheelhouse"
_PAIRS = 10


def measure(budget: float) -> Iterator[Row]:
    """Measure the wheel and the import."""
    yield _wheel()
    yield _importing(budget)


def _wheel() -> Row:
    """Measure the newest wheel from `make wheels`."""
    wheels = sorted(_WHEELS.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    what = "size of the wheel"
    if not wheels:
        aim = Target("at most 8 MB", "no wheel here: make wheels", None)
        return Row("wheel", what, "", 0, "MB", {}, (aim,))
    size = wheels[-1].stat().st_size
    aim = at_most(8, "MB", size)
    return Row("wheel", what, "", 0, "MB", {"hedgerow": Times.of([size])}, (aim,))


def _importing(budget: float) -> Row:
    """Measure the difference between interpreter starts with and without the import."""
    taken: list[float] = []
    while len(taken) < _PAIRS and (not taken or sum(taken) < budget):
        with_it, without = (seconds(lambda c=code: _run(c)) for code in ("import hedgerow", "pass"))
        taken.append(with_it - without)
    times = Times.of(taken)
    aim = at_most(60, "ms", times.p50)
    return Row("import", "`import hedgerow`", "", 0, "ms", {"hedgerow": times}, (aim,))


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
