"""A lock that allows one server for each root or index.

The locked file has the address of the server.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.errors import HedgerowError
from hedgerow.memory.files import try_lock, unlock

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_LONGEST = 4_096


@contextmanager
def single_instance(file: Path, url: str) -> Iterator[None]:
    """Hold the lock of a server; the system frees it however the process ends.

    Raises HedgerowError (`already_served`), which names the server that holds the lock.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, _FLAGS, 0o600)
    except OSError as error:
        raise HedgerowError(
            f"{file} cannot be written ({error.strerror}); a server needs it to be the only one",
            code="root_io",
        ) from error
    try:
        if not try_lock(descriptor):
            raise HedgerowError(
                f"{_holder(descriptor)} serves this already; use it, or stop it first",
                code="already_served",
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "url": url}).encode())
        yield
        os.ftruncate(descriptor, 0)
        unlock(descriptor)
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    try:
        found = json.loads(os.read(descriptor, _LONGEST))
        return f"the process {int(found['pid'])} at {str(found['url'])[:200]}"
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return "another process"
