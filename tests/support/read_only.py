"""Folders in which nothing can be written: permission bits do not bind root, so it lets go of its rights."""

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
    """Take all rights to write from a folder and what is in it."""
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
    """Give a folder to the user as whom `permissions` goes on."""
    if os.geteuid() == 0:
        for entry in [folder, *folder.rglob("*")]:
            os.chown(entry, NOBODY, -1)


@contextmanager
def mount(folder: Path) -> Iterator[None]:
    """Mount a folder over itself, to be read only; the test is skipped where that is not allowed."""
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
