"""Reading the files of agents: regular ones, within their folder (spec/agents.md, "A folder of agents").

The folder may have come with somebody else's repository, and a daemon reads it again and again.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["LARGEST", "RefusedFileError", "read_inside"]

LARGEST = 1 << 20
"""The most bytes of a definition or a template."""

# Without O_NONBLOCK, opening a FIFO waits until another process writes to it.
_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")
)

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class RefusedFileError(OSError):
    """A file that the system could read but this package refuses; the message says why."""


def read_inside(file: Path, folder: Path) -> bytes:
    """Read a regular file in a folder; a symbolic link may point elsewhere in it.

    Raises OSError if that is impossible, RefusedFileError for any other file.
    """
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise RefusedFileError(
            f"is a link to {real}, outside the folder of the agents; put the file itself there"
        )
    _check(real.lstat())
    with open(os.open(real, _FLAGS), "rb") as stream:  # noqa: PTH123 - with flags
        # The file may have been replaced since it was checked.
        _check(os.fstat(stream.fileno()))
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise RefusedFileError(f"has more than {LARGEST:,} bytes; shorten it")
    return data


def _check(status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind == stat.S_IFLNK:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if kind != stat.S_IFREG:
        raise RefusedFileError(f"is {_KINDS.get(kind, 'no file')}; put a regular file there")
