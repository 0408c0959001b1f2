"""A progress bar on stderr, where there is a terminal to see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .output import make_console

Progress = Callable[[int, int], None]


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Give what is to be told how many are done of how many; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (label, BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
