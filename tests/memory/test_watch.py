"""A watched root: its files are checked only after a change."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hedgerow
from hedgerow._engine import _FileCheck
from hedgerow.memory import MemoryRoot, derived, index_handle, root_files
from memory_doubles import put

SOON = 5.0
"""Seconds within which a change is reported, even on a busy machine."""


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that were listed to look for changes."""
    folders: list[str] = []
    list_folder = derived.list_folder

    def listing(folder: Path, *options: Any, **more: Any) -> Any:
        folders.append(str(folder))
        return list_folder(folder, *options, **more)

    class Check:
        """A check that records each look at the files."""

        def __init__(self, ledger: Any, folder: Path, rules: Any) -> None:
            self._check = _FileCheck(ledger, folder, rules)
            self._folder = str(folder)

        def is_same(self, index: hedgerow.Index) -> bool:
            return self._check.is_same(index)

        def look(self, watch: Any) -> Any:
            before = self._check.looks
            looked = self._check.look(watch)
            folders.extend([self._folder] * (self._check.looks - before))
            return looked

    monkeypatch.setattr(derived, "list_folder", listing)
    monkeypatch.setattr(index_handle, "_FileCheck", Check)
    return folders


@pytest.fixture
def watched(tmp_path: Path, listed: list[str]) -> Iterator[MemoryRoot]:
    """A root with one old memory that was already recalled."""
    put(tmp_path, "notes/a.md", "hedge\n")
    os.utime(tmp_path / "notes/a.md", (1, 1))
    time.sleep(0.2)
    with MemoryRoot.open(tmp_path, watch=True) as root:
        assert found(root, "hedge") == ["notes/a.md"]
        assert found(root, "hedge") == ["notes/a.md"]
        listed.clear()
        yield root


def found(root: MemoryRoot, query: str) -> list[str]:
    return [one.file for one in root.recall(query)]


def soon(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.02)
    return False


def test_a_recall_looks_at_no_file(watched: MemoryRoot, listed: list[str]) -> None:
    for _ in range(5):
        assert found(watched, "hedge") == ["notes/a.md"]
    assert listed == []
    assert watched.status().watch == "active"


def test_what_is_not_read_does_not_count(watched: MemoryRoot, listed: list[str]) -> None:
    put(watched.path, "notes/a.txt", "x")
    put(watched.path, ".git/a.md", "x")
    found(watched, "hedge")  # a newly created file could be a folder, so this lists once
    time.sleep(0.3)
    found(watched, "hedge")
    listed.clear()
    put(watched.path, "notes/a.txt", "y")
    put(watched.path, ".git/a.md", "y")
    time.sleep(0.3)
    assert found(watched, "hedge") == ["notes/a.md"]
    assert listed == []


def test_what_a_person_writes_is_found(watched: MemoryRoot) -> None:
    put(watched.path, "new/deep/b.md", "hawthorn\n")
    assert soon(lambda: found(watched, "hawthorn") == ["new/deep/b.md"])
    put(watched.path, "new/deep/b.md", "blackthorn\n")
    assert soon(lambda: found(watched, "blackthorn") == ["new/deep/b.md"])
    (watched.path / "new").rename(watched.path / "moved")
    assert soon(lambda: found(watched, "blackthorn") == ["moved/deep/b.md"])
    (watched.path / "moved/deep/b.md").unlink()
    assert soon(lambda: found(watched, "blackthorn") == [])


def test_what_another_handle_remembers_is_found_at_once(watched: MemoryRoot) -> None:
    with MemoryRoot.open(watched.path) as other:
        file = other.remember("The sparrow nests in the hedge of hornbeam", title="Sparrow").file
    assert found(watched, "sparrow") == [file]


def test_a_folder_that_is_excluded_later_is_left_out(watched: MemoryRoot) -> None:
    put(watched.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["notes"]}')
    assert found(watched, "hedge") == []


def test_the_store_is_watched_too(watched: MemoryRoot, listed: list[str]) -> None:
    assert watched.query("all | select:key").rows == [["notes/a.md"]]
    assert soon(lambda: not listed_again(watched, listed))
    put(watched.path, "notes/b.md", "hedge\n")
    assert soon(lambda: len(watched.query("all | select:key").rows or []) == 2)


def listed_again(root: MemoryRoot, listed: list[str]) -> bool:
    listed.clear()
    root.query("all | select:key")
    return bool(listed)


def test_where_nothing_can_be_watched_it_looks_and_says_so(
    tmp_path: Path, listed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> object:
        raise OSError("it is on a network file system (NFS)")

    monkeypatch.setattr(root_files, "_Watch", refused)
    put(tmp_path, "a.md", "hedge\n")
    with MemoryRoot.open(tmp_path, watch=True) as root:
        assert found(root, "hedge") == ["a.md"]
        listed.clear()
        assert found(root, "hedge") == ["a.md"]
        assert listed == [str(tmp_path)]
        status = root.status()
    reason = "files are looked at before each recall: it is on a network file system (NFS)"
    assert status.watch == reason
    assert status.to_dict()["watch"] == reason


def test_a_watch_that_missed_a_change_is_begun_again(
    watched: MemoryRoot, listed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost:
        changes = None

    check = watched._check
    monkeypatch.setattr(check, "active", (Lost(),))
    assert found(watched, "hedge") == ["notes/a.md"]
    assert found(watched, "hedge") == ["notes/a.md"]
    assert len(listed) == 2
    assert "missed" in (watched.status().watch or "")
    monkeypatch.setattr(root_files, "_RETRY", 0.0)
    found(watched, "hedge")
    assert watched.status().watch == "active"


def test_without_a_watch_status_says_nothing(tmp_path: Path) -> None:
    with MemoryRoot.open(tmp_path) as root:
        assert root.status().watch is None
        assert "watch" not in root.status().to_dict()
