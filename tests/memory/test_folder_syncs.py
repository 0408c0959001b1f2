"""Folders are synced to disk after their names change, and a failed sync is an error."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.memory import files


def fail_for_folders(number: int, patch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    patch.setattr(os, "fsync", failing)


def test_a_disk_that_fails_to_sync_a_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    fail_for_folders(errno.EIO, monkeypatch)
    with hr.MemoryRoot.open(tmp_path) as root, pytest.raises(hr.HedgerowError) as caught:
        root.remember("oak", title="Oak", type="note")
    assert caught.value.code == "root_io"
    assert "was changed, but the disk did not confirm it" in caught.value.message
    # The memory exists, and the next call finds it.
    monkeypatch.undo()
    with hr.MemoryRoot.open(tmp_path) as root:
        assert len(root.recall("oak").results) == 1


def test_a_system_that_cannot_sync_folders_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for_folders(errno.EINVAL, monkeypatch)
    with hr.MemoryRoot.open(tmp_path) as root:
        assert root.remember("oak", title="Oak", type="note").indexed


def test_folders_that_are_made_are_synced_into_those_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    files.make_folders(tmp_path / "a" / "b")
    assert synced == [tmp_path, tmp_path / "a"]
    files.make_folders(tmp_path / "a" / "b")
    assert len(synced) == 2


def test_files_that_are_replaced_together_are_synced_before_any_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {tmp_path / name: (b"new", b"old") for name in ("a/1.md", "a/2.md", "b/3.md")}
    for path in changes:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"old")
    synced: list[tuple[bool, bytes]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append((is_folder, b"".join(path.read_bytes() for path in changes)))

    monkeypatch.setattr(os, "fsync", noted)
    files.update_all(changes, root=tmp_path)
    # Each folder is synced once.
    assert synced == [(False, b"oldoldold")] * 3 + [(True, b"newnewnew")] * 2
    assert sorted(tmp_path.rglob("*.*")) == sorted(changes)


def test_of_files_that_are_replaced_together_none_is_if_one_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = tmp_path / "1.md", tmp_path / "2.md"
    for path in (first, last):
        path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", lambda _: last.write_bytes(b"by hand"))
    with pytest.raises(hr.HedgerowError, match=r"2\.md was not changed") as caught:
        files.update_all({first: (b"new", b"old"), last: (b"new", b"old")}, root=tmp_path)
    assert caught.value.code == "file_changed"
    assert (first.read_bytes(), last.read_bytes()) == (b"old", b"by hand")
    assert len(list(tmp_path.iterdir())) == 2


def test_an_error_names_the_files_that_were_replaced_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = tmp_path / "1.md", tmp_path / "2.md"
    for path in (first, last):
        path.write_bytes(b"old")
    replace = Path.replace

    def failing(path: Path, target: Path) -> Path:
        if target == last:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(hr.HedgerowError, match=r"1\.md was changed before that") as caught:
        files.update_all({first: (b"new", b"old"), last: (b"new", b"old")}, root=tmp_path)
    assert caught.value.code == "root_io"
    assert (first.read_bytes(), last.read_bytes()) == (b"new", b"old")


def test_without_threads_files_are_synced_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    paths = [tmp_path / f"{number}.md" for number in range(20)]
    files.update_all(dict.fromkeys(paths, (b"new", None)), root=tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_the_first_error_of_a_disk_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    changes = {tmp_path / f"{number}.md": (b"new", None) for number in range(20)}
    with pytest.raises(hr.HedgerowError, match="cannot write"):
        files.update_all(changes, root=tmp_path)
    assert list(tmp_path.iterdir()) == []
