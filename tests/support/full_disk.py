"""Change an index or a store until the disk is full, and again after space was freed.

A program: full_disk.py index|store|root FOLDER SEED BYTES tmpfs|limit. FOLDER is a disk of a few
megabytes, or file sizes are limited to BYTES, which needs no privileges. It fails if an
acknowledged change is lost, if a change is incomplete, or if an error does not name the problem.
"""

from __future__ import annotations

import contextlib
import logging
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hedgerow as hr
import histories

FILLER = 1500


class Disk:
    """Fills the disk, until the space is freed."""

    def __init__(self, folder: Path, size: int, kind: str) -> None:
        self.kind = kind
        self._ballast = folder / "ballast"
        if kind == "tmpfs":
            self._ballast.write_bytes(bytes(size))
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def is_freed(self) -> None:
        """Free the space."""
        if self.kind == "tmpfs":
            self._ballast.unlink()
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


@contextlib.contextmanager
def full() -> Iterator[None]:
    """Expect the error of a full disk."""
    try:
        yield
    except hr.HedgerowError as error:
        assert error.code == "index_io", error.code  # noqa: PT017 - no test, a program
        assert "the space on its disk" in error.message, error.message  # noqa: PT017
    else:
        raise AssertionError("the disk is not full")


def change_until_full(history: histories.History, disk: Disk) -> None:
    """Make changes until one fails.

    It must have changed nothing, and succeed once there is space.
    """
    steps = history.changes()
    done = 0
    with full():
        while True:
            before = {**history.state}
            next(steps)
            done += 1
    steps.close()
    disk.is_freed()
    found = type(history)(history.path, history.seed)
    # A change of several transactions may be stored and then fail, for example at a checkpoint.
    assert found.state in (before, history.state), done
    with hr.Index.open(history.path) as index:
        assert index.check() == []
    again = found.changes()
    for _ in range(5):
        next(again)
    again.close()
    assert type(history)(history.path, history.seed).state == found.state
    print(done)


def remember_until_full(folder: Path, disk: Disk) -> None:
    """Write memories until the disk is full.

    Each acknowledged one must stay complete, and be found once there is space.
    """
    told: list[str] = []
    with hr.MemoryRoot.open(folder) as root:
        with contextlib.suppress(hr.HedgerowError, OSError):
            while True:
                text = f"word{len(told)} " + "filler " * FILLER
                done = root.remember(text, title="Memory", on_duplicate="keep")
                told.append(done.file)
                if not done.indexed:
                    break
        disk.is_freed()
        root.sync()
        for number, file in enumerate(told):
            text = (folder / file).read_text()
            assert text.endswith(f"word{number} " + ("filler " * FILLER).strip() + "\n"), file
        found = {memory.file for memory in root.recall("filler", limit=100_000)}
        assert found >= set(told), set(told) - found
    with hr.Index.open(folder / ".hedgerow/index.db") as index:
        assert index.check() == []
    print(len(told))


def main(kind: str, folder: Path, seed: str, size: int, disk: str) -> None:
    """Fill the disk of a folder."""
    # A full disk also stops background merges, which a warning reports.
    logging.getLogger("hedgerow.index").setLevel(logging.ERROR)
    fill: Callable[[Disk], None]
    if kind == "root":
        hr.MemoryRoot.open(folder).close()
        fill = lambda disk: remember_until_full(folder, disk)  # noqa: E731
    else:
        history = histories.HISTORIES[kind](folder / "memory.db", seed)
        fill = lambda disk: change_until_full(history, disk)  # noqa: E731
    fill(Disk(folder, size, disk))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5])
