"""A full disk: stored data stays, failed changes leave no trace, and freeing space is enough."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import full_disk
from faults import Rounds, finish, python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and mounts of Unix")

MEGABYTE = 1 << 20
MOUNT = 'mount -t tmpfs -o size=4m none "$0" && exec "$@"'
OWN_DISK = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT]


@functools.cache
def may_mount(folder: str) -> bool:
    """Whether this user can mount a disk in a private namespace."""
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run([*OWN_DISK, folder, "true"], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize("disk", ["limit", "tmpfs"])
@pytest.mark.parametrize("kind", ["index", "store", "root"])
def test_a_full_disk_loses_nothing(rounds: Rounds, tmp_path: Path, kind: str, disk: str) -> None:
    if disk == "tmpfs" and not may_mount(str(tmp_path)):
        pytest.skip("this user may not mount a disk")
    for chance in rounds.at_least(2):
        folder = tmp_path / str(rounds.done)
        folder.mkdir()
        # The free space of the disk, or the limit of each file.
        left = chance.randint(MEGABYTE // 2, 3 * MEGABYTE)
        size = 4 * MEGABYTE - left if disk == "tmpfs" else left
        arguments = [full_disk.__file__, kind, folder, chance.random(), size, disk]
        before = [*OWN_DISK, folder] if disk == "tmpfs" else []
        [done] = finish(python(*arguments, before=before))
        assert int(done) >= 0
