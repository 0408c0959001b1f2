"""What the commands on an index share that do not make one."""

from __future__ import annotations

import os

from hedgerow import IndexFileError


def check_there_is(db: str) -> None:
    """Raise IndexFileError, with the command that makes an index, where there is no file."""
    if not os.path.lexists(db):
        raise IndexFileError(
            f"there is no index at {db}; make it with: hedgerow index PATH --db {db}",
            code="index_not_found",
        )
