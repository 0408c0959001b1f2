"""One writer of a root's index at a time, among all processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.errors import IndexFileError

from . import files

if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


PATIENCE = 60.0
"""Seconds to wait for another process; a first index of many notes takes some of them."""

_PAUSE = 0.005


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock; the system lets go of it when a process ends, however it ends.

    Raises IndexFileError when another process holds it all the time.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        descriptor = _open(file)
        try:
            while not _try(descriptor):
                if time.monotonic() > deadline:
                    raise IndexFileError(
                        f"another process has been indexing {file.parent.parent} for over "
                        f"{PATIENCE:.0f} seconds; wait for it, or recall with --no-sync",
                        code="index_busy",
                    )
                time.sleep(_PAUSE)
            if _is_same(descriptor, file):
                yield
                return
        finally:
            os.close(descriptor)


@contextmanager
def locked_at_once(file: Path) -> Iterator[bool]:
    """Hold a lock if it is free; yields whether it was, and waits for nobody."""
    descriptor = _open(file)
    try:
        yield _try(descriptor)
    finally:
        os.close(descriptor)


def _open(file: Path) -> int:
    with files.system_errors("write", file):
        file.parent.mkdir(exist_ok=True)
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o644)


def _is_same(descriptor: int, file: Path) -> bool:
    """Tell whether the file is still the one that was locked: the folder may be deleted."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
