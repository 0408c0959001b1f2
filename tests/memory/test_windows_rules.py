"""Simulated restrictions of Windows: file names, and files that another program has open."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.memory import derived, files, rename
from hedgerow.memory.names import is_refused_by_windows
from memory_doubles import put


@pytest.mark.parametrize(
    "path",
    [
        "aux.md",
        "notes/CON.md",
        "notes/com1.x.md",
        "notes/COM¹.md",
        "lpt0/a.md",
        "nul .md",
        "conin$",
        "a:b.md",
        "C:/a.md",
        'say "hi".md',
        "why?.md",
        "a*.md",
        "a|b.md",
        "a<b>.md",
        "folder./a.md",
        "folder /a.md",
        "a.md.",
        "bell\a.md",
    ],
)
def test_windows_has_no_such_path(path: str) -> None:
    assert is_refused_by_windows(path)


@pytest.mark.parametrize(
    "path", ["notes/a.md", "console.md", "com.md", "com10.md", "a.aux", ".hidden", "Żółw #1 (é).md"]
)
def test_windows_has_a_path(path: str) -> None:
    assert not is_refused_by_windows(path)


@pytest.mark.parametrize("to", ["aux", "C:x/hedge", "notes/a:b.md", "folder./a.md", "why?"])
def test_a_memory_is_not_renamed_to_what_windows_refuses(
    root: MemoryRoot, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rename, "_IS_WINDOWS", True)
    put(root.path, "notes/a.md", "aspen")
    with pytest.raises(InvalidInputError, match="Windows has no file") as caught:
        root.rename("notes/a.md", to)
    assert caught.value.code == "invalid_option"
    assert (root.path / "notes/a.md").read_text() == "aspen"


def test_the_case_of_a_name_changes_where_a_file_has_a_number_for_each_spelling(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On exFAT, for example, both names refer to one file, and `samefile` returns False."""
    put(root.path, "notes/hedge.md", "hawthorn")
    put(root.path, "notes/links.md", "[[hedge]] and [it](hedge.md)\n")
    exists, lstat = Path.exists, Path.lstat
    spelled = {root.path / "notes/Hedge.md": root.path / "notes/hedge.md"}

    def existing(path: Path) -> bool:
        return exists(spelled.get(path, path))

    monkeypatch.setattr(Path, "exists", existing)
    monkeypatch.setattr(Path, "lstat", lambda path: lstat(spelled.get(path, path)))
    monkeypatch.setattr(Path, "samefile", lambda *_: False)
    root.rename("notes/hedge.md", "notes/Hedge.md")
    assert names(root.path / "notes") == ["Hedge.md", "links.md"]
    assert (root.path / "notes/links.md").read_text() == "[[hedge]] and [it](Hedge.md)\n"


def test_another_file_whose_name_differs_in_case_is_not_replaced(root: MemoryRoot) -> None:
    put(root.path, "notes/hedge.md", "hawthorn")
    put(root.path, "notes/Hedge.md", "beech")
    if len(names(root.path / "notes")) == 1:
        pytest.skip("a file system without case")
    with pytest.raises(InvalidInputError, match="there is a file"):
        root.rename("notes/hedge.md", "notes/Hedge.md")
    assert (root.path / "notes/Hedge.md").read_text() == "beech"


class Shared:
    """Fails renames like Windows does while another program has the file open."""

    def __init__(self, times: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.left, self.meanwhile = times, meanwhile
        self.replace, self.unlink = Path.replace, Path.unlink

    def check(self) -> None:
        if self.left:
            self.left -= 1
            self.meanwhile()
            raise PermissionError(13, "The process cannot access the file")

    def install(self, monkeypatch: pytest.MonkeyPatch, *, windows: bool = True) -> None:
        def replace(path: Path, target: Path) -> Any:
            self.check()
            return self.replace(path, target)

        monkeypatch.setattr(Path, "replace", replace)
        monkeypatch.setattr(files, "_IS_WINDOWS", windows)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208 - names alone


def test_a_file_that_a_scanner_has_open_is_replaced_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"old")
    shared = Shared(3)
    shared.install(monkeypatch)
    files.update(file, b"new", expected=b"old", root=tmp_path)
    assert (file.read_bytes(), shared.left, names(tmp_path)) == (b"new", 0, ["a.md"])


def test_what_the_other_program_wrote_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"old")
    Shared(1, lambda: file.write_bytes(b"theirs")).install(monkeypatch)
    with pytest.raises(HedgerowError) as caught:
        files.update(file, b"new", expected=b"old", root=tmp_path)
    assert caught.value.code == "file_changed"
    assert (file.read_bytes(), names(tmp_path)) == (b"theirs", ["a.md"])


def test_a_file_that_stays_open_is_named_and_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"old")
    monkeypatch.setattr(files, "_SHARING_PATIENCE", 0.02)
    Shared(10_000).install(monkeypatch)
    with pytest.raises(HedgerowError, match=r"cannot write .*a\.md: The process cannot") as caught:
        files.update(file, b"new", expected=b"old", root=tmp_path)
    assert caught.value.code == "root_io"
    assert (file.read_bytes(), names(tmp_path)) == (b"old", ["a.md"])


def test_other_systems_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    shared = Shared(2)
    shared.install(monkeypatch, windows=False)
    with pytest.raises(HedgerowError):
        files.replace(file, "new")
    assert shared.left == 1


def test_a_temporary_file_that_a_scanner_has_open_is_removed_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Shared(2)

    def unlink(path: Path, *, missing_ok: bool = False) -> None:
        shared.check()
        shared.unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    monkeypatch.setattr(files, "_IS_WINDOWS", True)
    assert files.write_new(tmp_path / "a.md", "new")
    assert (shared.left, names(tmp_path)) == (0, ["a.md"])


def test_a_read_only_file_leaves_no_temporary_file_that_windows_would_not_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows cannot delete or replace a file without write permission."""
    file = tmp_path / "a.md"
    file.write_bytes(b"old")
    file.chmod(0o444)
    unlink = Path.unlink

    def of_windows(path: Path, *, missing_ok: bool = False) -> None:
        if path.exists() and not path.stat().st_mode & 0o200:
            raise PermissionError(13, "Access is denied")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", of_windows)
    monkeypatch.setattr(files, "_SHARING_PATIENCE", 0.02)
    Shared(10_000).install(monkeypatch)
    with pytest.raises(HedgerowError, match="The process cannot access") as caught:
        files.update(file, b"new", expected=b"old", root=tmp_path)
    assert caught.value.code == "root_io"
    assert (file.read_bytes(), names(tmp_path)) == (b"old", ["a.md"])


def test_a_user_who_may_make_no_links_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoPrivilegeError(OSError):
        winerror = 1314

    def refuse(*_: object, **__: object) -> None:
        raise NoPrivilegeError(22, "A required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    with pytest.raises(HedgerowError, match="developer mode") as caught:
        derived.link_to(tmp_path / "@", tmp_path)
    assert caught.value.code == "root_io"
