"""Folders without write access.

Root ignores permission bits, so a root process drops its privileges.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534


@contextmanager
def permissions(folder: Path) -> Iterator[None]:
    """Remove write permission from a folder and its content."""
    entries = [folder, *folder.rglob("*")]
    before = [(entry, entry.stat().st_mode & 0o7777) for entry in entries]
    for entry in entries:
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.seteuid(NOBODY)
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for entry, mode in before:
            entry.chmod(mode)


def own(folder: Path) -> None:
    """Give a folder to the user that `permissions` switches to."""
    if os.geteuid() == 0:
        for entry in [folder, *folder.rglob("*")]:
            os.chown(entry, NOBODY, -1)


@contextmanager
def mount(folder: Path) -> Iterator[None]:
    """Mount a folder over itself as read-only. Skips the test if that is not permitted."""
    if not _do("mount", "--bind", folder, folder):
        pytest.skip("nothing may be mounted here")
    try:
        if not _do("mount", "-o", "remount,ro,bind", folder):
            pytest.skip("nothing may be mounted read-only here")
        yield
    finally:
        _do("umount", folder)


def _do(*command: object) -> bool:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


@contextmanager
def unreadable(entry: Path, folder: Path) -> Iterator[None]:
    """Make a file or a folder below `folder` unreadable, and act as the user that owns `folder`."""
    mode, is_root = entry.stat().st_mode & 0o7777, os.geteuid() == 0
    own(folder)
    entry.chmod(0)
    try:
        if is_root:
            os.seteuid(NOBODY)
        yield
    finally:
        if is_root:
            os.seteuid(0)
        entry.chmod(mode)
