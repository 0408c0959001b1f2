"""The environment of a simulated root: its clock and time zone, and failing system calls.

Only hedgerow.memory in this process is affected. Files keep the times that the system gives them.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from unittest import mock

import hedgerow as hr
from hedgerow.memory import files, index_handle, note, root, sync

ZONES = ("UTC", "America/Los_Angeles", "Pacific/Auckland", "Asia/Kolkata")
BEGIN = datetime(2026, 3, 28, 22, 30, tzinfo=timezone.utc)
"""The first time of a history: shortly before a change to summer time, and before midnight."""

TICK = timedelta(milliseconds=1500)
"""The duration of an operation."""


class Clock:
    """The clock of hedgerow.memory, which moves only when `move` is called."""

    def __init__(self) -> None:
        self.now = BEGIN

    def move(self, by: timedelta) -> None:
        """Move the clock forward or backward."""
        self.now += by

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let hedgerow.memory use this clock, in UTC until the time zone is changed."""
        clock = self

        class Datetime(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return clock.now.astimezone(tz)

        class Time:
            def __getattr__(self, name: str) -> Any:
                return getattr(time, name)

            def time_ns(self) -> int:
                since = clock.now - datetime(1970, 1, 1, tzinfo=timezone.utc)
                return (since // timedelta(microseconds=1)) * 1000

            def time(self) -> float:
                return self.time_ns() / 1e9

        before = os.environ.get("TZ")
        with (
            mock.patch.object(note, "datetime", Datetime),
            mock.patch.object(index_handle, "time", Time()),
            mock.patch.object(root, "time", Time()),
        ):
            try:
                set_zone("UTC")
                yield
            finally:
                set_zone(before)


def set_zone(name: str | None) -> None:
    """Set the time zone of the process.

    None resets it to the machine's. Does nothing on Windows.
    """
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    if hasattr(time, "tzset"):
        time.tzset()


class CrashError(BaseException):
    """Simulates a killed process: no error handler catches it."""


def _no_space() -> BaseException:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _not_permitted() -> BaseException:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _of_index() -> BaseException:
    return hr.IndexFileError("the disk is full", code="index_io")


_ERRORS: dict[str, tuple[Callable[[], BaseException], Callable[[], BaseException]]] = {
    "crash": (CrashError, CrashError),
    "no space": (_no_space, _of_index),
    "not permitted": (_not_permitted, _of_index),
}
"""By kind of fault, the errors of file calls and of index calls."""

_POINTS = [(files, "sync"), (files, "_rename"), (files, "_link"), (sync, "_sync_root")]
"""Syncing to disk, renaming a file, and updating index and store."""


@dataclass
class Fault:
    """The failure of one call: the `number`-th call from now that can fail.

    The call fails before it does anything or, with `is_late`, after it has done its work.
    """

    kind: str
    number: int
    is_late: bool
    has_happened: bool = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let the call fail if it occurs within the block."""
        left = self.number

        def failing(call: Callable[..., Any], error: Callable[[], BaseException]) -> Any:
            def wrapped(*arguments: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left != 0:
                    return call(*arguments, **named)
                self.has_happened = True
                if self.is_late:
                    call(*arguments, **named)
                raise error()

            return wrapped

        of_files, of_index = _ERRORS[self.kind]
        patches = [
            mock.patch.object(
                module,
                name,
                failing(getattr(module, name), of_index if module is sync else of_files),
            )
            for module, name in _POINTS
        ]
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of files in this process, as on a full disk. Does nothing on Windows."""
    if sys.platform == "win32":
        yield
        return
    import resource  # noqa: PLC0415 - not on Windows

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
