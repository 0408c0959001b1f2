"""Files of a root that cannot be read."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hedgerow.memory.rename  # noqa: F401 - a user without permissions may be unable to import it late
import read_only
from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.memory.doctor import diagnose
from memory_doubles import put

BINARY = b"\x00\x01 see [[hedge]] \xff\xfe"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A root with two notes and a trash, in a folder that every user can enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        monkeypatch.setenv("HEDGEROW_CONFIG_DIR", str(Path(name) / "root" / "user"))
        root = Path(name) / "root"
        put(root, "notes/hedge.md", "# Hedge plan\n\nCut the hawthorn hedge in August.\n")
        put(root, "notes/door.md", "See [[hedge]].\n")
        put(root, "trash/old.txt", "Cut the hawthorn hedge in August.\n")
        yield root


def test_a_rename_names_the_files_whose_links_it_cannot_read(tmp_path: Path) -> None:
    put(tmp_path, "notes/hedge.md", "The plan.\n")
    put(tmp_path, "notes/door.md", "See [[hedge]].\n")
    (tmp_path / "notes/scan.md").write_bytes(BINARY)
    put(tmp_path, "notes/odd.md", "---\ntitle: a: b\n---\nOdd.\n")
    with MemoryRoot.open(tmp_path) as root:
        done = root.rename("hedge", "hawthorn")
    assert done.changed == ("notes/door.md",)
    assert [one.path for one in done.by_hand] == ["notes/scan.md"]
    assert done.by_hand[0].reason.startswith("its links were not read: ")


def test_a_key_of_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    put(tmp_path, "notes/hedge.md", "The plan.\n")
    (tmp_path / "notes/scan.md").write_bytes(BINARY)
    with MemoryRoot.open(tmp_path) as root:
        with pytest.raises(InvalidInputError, match=r"'notes/scan\.md' cannot be read: "):
            root.show("notes/scan.md")
        scoped = root.scoped(user="ana")
        with pytest.raises(InvalidInputError, match=r"there is no memory 'notes/scan\.md'"):
            scoped.show("notes/scan.md")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such permissions")
@pytest.mark.parametrize("entry", ["notes/door.md", "trash/old.txt", "trash"])
def test_forgetting_names_what_it_cannot_search(folder: Path, entry: str) -> None:
    with MemoryRoot.open(folder) as root:
        root.index()
        with read_only.unreadable(folder / entry, folder):
            done = root.forget("notes/hedge.md", purge=True)
    assert not (folder / "notes/hedge.md").exists()
    assert f"{entry} (permission denied; make it readable)" in done.out_of_reach
    assert done.copies == (("trash/old.txt",) if entry == "notes/door.md" else ())


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such permissions")
@pytest.mark.parametrize("entry", [".hedgerow", "."])
def test_a_folder_without_permissions_is_an_error_that_doctor_names(
    folder: Path, entry: str
) -> None:
    with MemoryRoot.open(folder) as root:
        root.index()
        diagnose(folder)
        root.remember("Sloes are bitter.", title="Sloes")
    with read_only.unreadable(folder / entry, folder):
        for work in (lambda: root.recall("hedge"), root.list, lambda: root.retract("hedge")):
            with pytest.raises(HedgerowError, match=r"cannot read .*: Permission denied") as raised:
                work()
            assert raised.value.code == "root_io"
        found = diagnose(folder)
        assert not found.ok
        assert found.permissions.message.startswith("You may not read, write, enter ")
        if entry == ".hedgerow":
            done = root.remember("Haws are red.", title="Haws")
            assert "Not indexed yet: cannot read" in (done.problem or "")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such permissions")
def test_an_index_without_permissions_is_not_called_damaged(folder: Path) -> None:
    with MemoryRoot.open(folder) as root:
        root.index()
        diagnose(folder)
    with read_only.unreadable(folder / ".hedgerow" / "index.db", folder):
        found = diagnose(folder)
        assert "Damaged" not in found.index.message
        assert f"You may not read, write {folder.resolve()}/.hedgerow/index.db" in (
            found.permissions.message
        )


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such permissions")
@pytest.mark.parametrize("watch", [False, True])
def test_a_root_without_write_permission_is_read(folder: Path, watch: bool) -> None:
    with MemoryRoot.open(folder) as before:
        before.query("all")
        before.recall("hedge")
    read_only.own(folder)
    with read_only.permissions(folder), MemoryRoot.open(folder, watch=watch) as root:
        for _ in range(2):
            assert [one.file for one in root.recall("hawthorn")] == ["notes/hedge.md"]
            assert root.list().count == 2
    put(folder, "notes/elm.md", "Elms.\n")
    root = MemoryRoot.open(folder, watch=watch)
    with read_only.permissions(folder), pytest.raises(HedgerowError, match="sync=False"):
        root.recall("hawthorn")
    root.close()
