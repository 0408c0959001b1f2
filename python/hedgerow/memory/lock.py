"""The lock of a root: one writer of what is derived at a time, among all threads and processes.

Ours rather than `filelock`, which neither names the holder nor survives the deletion of `.hedgerow/`
by somebody while it waits, and takes about as long to import as all of a root.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hedgerow.errors import HedgerowError, IndexFileError

if sys.platform == "win32":
    import msvcrt

    # A locked byte cannot be read by others: lock one behind the name of the holder.
    _LOCKED_BYTE = 1 << 30

    def try_lock(descriptor: int) -> bool:
        """Lock an open file, unless another has; the system frees it when the process ends."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Free an open file."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock an open file, unless another has; the system frees it when the process ends."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Free an open file."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


PATIENCE = 60.0
"""Seconds to wait for the lock; a first index of many notes takes some of them."""

_PAUSE = 0.005
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_LONGEST_NAME = 32


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock, which is not reentrant; the system frees it when the process ends.

    Raises IndexFileError, which names the process that holds it, after `PATIENCE` seconds.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        descriptor = _open(file)
        try:
            while not _try_lock(descriptor, file):
                if time.monotonic() > deadline:
                    raise IndexFileError(
                        f"{_holder(descriptor)} has been writing to {file.parent} for over "
                        f"{PATIENCE:.0f} seconds; wait for it, or recall with --no-sync",
                        code="index_busy",
                    )
                time.sleep(_PAUSE)
            if _is_same(descriptor, file):
                with _held(descriptor):
                    yield
                return
        finally:
            os.close(descriptor)


@contextmanager
def locked_at_once(file: Path) -> Iterator[bool]:
    """Hold a lock if it is free; yields whether it was, and waits for nobody."""
    descriptor = _open(file)
    try:
        if _try_lock(descriptor, file):
            with _held(descriptor):
                yield True
        else:
            yield False
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, file: Path) -> bool:
    """Lock an open file, unless another has; HedgerowError where the file system has no locks."""
    try:
        return try_lock(descriptor)
    except OSError as error:
        reason = error.strerror or str(error)
        raise HedgerowError(
            f"cannot lock {file}: {reason}; move the root to a file system that has locks",
            code="root_io",
        ) from error


@contextmanager
def _held(descriptor: int) -> Iterator[None]:
    holder = os.getpid()
    # On a full disk the lock holds all the same, without a name.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, str(holder).encode())
    try:
        yield
    finally:
        # A child that was forked meanwhile has the descriptor too: closing ours would not unlock,
        # and the child must not unlock for us.
        if os.getpid() == holder:
            unlock(descriptor)


def _holder(descriptor: int) -> str:
    """Name the process that wrote its id into the file when it took the lock."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    holder = os.read(descriptor, _LONGEST_NAME).decode(errors="replace")
    if holder == str(os.getpid()):
        return "another thread of this process"
    return f"process {holder}" if holder.isdecimal() else "another process"


def _open(file: Path) -> int:
    try:
        file.parent.mkdir(exist_ok=True)
        # The name of the holder is written into it: not into what a link leads to.
        if file.is_symlink():
            file.unlink(missing_ok=True)
        return os.open(file, _FLAGS, 0o644)
    except OSError as error:
        reason = error.strerror or str(error)
        raise HedgerowError(
            f"cannot write {file}: {reason}; check permissions and free space, or read what the "
            "index has with --no-sync (sync=False)",
            code="root_io",
        ) from error


def _is_same(descriptor: int, file: Path) -> bool:
    """Report whether the file is still the one that was locked: the folder may be deleted."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
