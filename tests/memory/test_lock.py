"""The lock of a root, with threads, processes and forks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hedgerow import HedgerowError, IndexFileError
from hedgerow.memory import files
from hedgerow.memory.files import locked

no_fork = pytest.mark.skipif(
    not hasattr(os, "fork") or sys.version_info >= (3, 12),
    reason="no fork, or a warning of one in a process with threads",
)

HOLD = """
import sys
from pathlib import Path
from hedgerow.memory.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    return tmp_path / ".hedgerow/lock"


def test_one_thread_at_a_time(lock_file: Path) -> None:
    inside = most = 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with locked(lock_file):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0001)
                inside -= 1

    files.PATIENCE = 60.0
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside) == (1, 0)


def test_another_thread_that_holds_it_is_named(lock_file: Path) -> None:
    with locked(lock_file), pytest.raises(IndexFileError) as caught, locked(lock_file):
        pass
    assert caught.value.code == "index_busy"
    assert caught.value.message == (
        f"another thread of this process has been writing to {lock_file.parent} for over 0 seconds; "
        "wait for it"
    )
    assert [fix.arguments for fix in caught.value.fixes] == [{"sync": False}]


def test_another_process_that_holds_it_is_named_until_it_is_killed(lock_file: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(lock_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with (
            pytest.raises(IndexFileError, match=f"process {holder.pid} has been writing"),
            locked(lock_file),
        ):
            pass
        holder.kill()
        holder.wait()
        with locked(lock_file):
            pass


@no_fork
def test_a_child_that_was_forked_meanwhile_does_not_keep_it(lock_file: Path) -> None:
    read, write = os.pipe()
    with locked(lock_file):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
    try:
        with locked(lock_file):
            pass
    finally:
        os.close(write)
        os.waitpid(child, 0)
        os.close(read)


@no_fork
def test_a_child_that_leaves_the_block_does_not_unlock_for_its_parent(lock_file: Path) -> None:
    child = -1
    try:
        with locked(lock_file):
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                with pytest.raises(IndexFileError), locked(lock_file):
                    pass
    finally:
        if child == 0:
            os._exit(0)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed")
@pytest.mark.skipif(sys.platform == "win32", reason="there every error means that it is held")
def test_a_file_system_without_locks_is_named(
    lock_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files, "try_lock", refuse)
    for hold in (locked, files.locked_at_once):
        with pytest.raises(HedgerowError, match=r"cannot lock .*: No locks available") as raised:
            hold(lock_file).__enter__()
        assert raised.value.code == "root_io"


def test_a_folder_that_is_removed_meanwhile_is_made_again(lock_file: Path) -> None:
    with locked(lock_file):
        lock_file.unlink()
        lock_file.parent.rmdir()
        with locked(lock_file):
            assert lock_file.exists()
