"""Opening files that are read by a fixed name, in whose place there may be something else."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

# Without O_NONBLOCK, opening a FIFO waits until another process writes to it.
FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
"""The flags to open a file with that may be no regular one."""

KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""The names of files that are not regular, by the type in their mode."""


def open_regular(file: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read, through links. Never blocks.

    Raises OSError for anything but a regular file: reading a FIFO waits for a writer, and a device may
    have no end.
    """
    _check(os.stat(file))  # noqa: PTH116 - names may not be UTF-8
    stream = open(os.open(file, FLAGS), "rb")  # noqa: PTH123, SIM115 - the caller closes it
    try:
        # The file may have been replaced since it was checked.
        _check(os.fstat(stream.fileno()))
    except OSError:
        stream.close()
        raise
    return stream


def read_regular(file: str | os.PathLike[str], limit: int = -1) -> bytes:
    """Return the first `limit` bytes of a file, by default all. Raises OSError as `open_regular` does."""
    with open_regular(file) as stream:
        return stream.read(limit)


def _check(status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"it is {KINDS.get(kind, 'no file')}, not a regular file")
