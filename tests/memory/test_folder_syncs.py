"""Folders are synced after names in them change; a disk that fails to is an error."""

from __future__ import annotations

import errno
import os
import stat
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
    # It is there, and the next call finds it.
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
