"""A file of another kind, or of another root, in the place of the index or the store is replaced."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hedgerow import MemoryRoot
from hedgerow._engine import _last_visits
from memory_doubles import NOW, edges, found, keys, put

FILES = ("index.db", "store.db")
NOTES = [f"notes/{name}.md" for name in ("elm", "oak", "yew")]


def made(folder: Path) -> Path:
    for number, name in enumerate(NOTES):
        put(folder, name, f"# T {number}\n\nA tree. [[T {(number + 1) % 3}]]\n")
    with MemoryRoot.init(folder) as root:
        root.index()
        assert len(edges(root)) == 3
        root.visit("linker", NOTES[0], NOW)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "root")


def other(name: str) -> str:
    return FILES[1 - FILES.index(name)]


def put_database(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE trees (name)")
    connection.close()


INTRUDERS: dict[str, Callable[[Path, bytes, Path], object]] = {
    "other kind": lambda file, swapped, _: file.write_bytes(swapped),
    "empty file": lambda file, *_: file.write_bytes(b""),
    "text": lambda file, *_: file.write_text("A tree.\n" * 300),
    "database": lambda file, *_: put_database(file),
    "other root": lambda file, _, strange: shutil.copy(strange / file.name, file),
    "other root, other kind": lambda file, _, strange: shutil.copy(strange / other(file.name), file),
    "folder": lambda file, *_: file.mkdir(),
    "full folder": lambda file, *_: put(file, "x", "x"),
}  # fmt: skip

CALLS: dict[str, Callable[[MemoryRoot], object]] = {
    "query": keys,
    "graph": edges,
    "recall": lambda root: found(root, "tree"),
    "index": lambda root: root.index(),
    "visit": lambda root: root.visit("linker", NOTES[0], NOW),
    "link": lambda root: root.link(NOTES[0], NOTES[1]),
    "remember": lambda root: root.remember("A hedge.", title="Hedge").indexed,
}


def assert_is_right(root: MemoryRoot, count: int = 3) -> None:
    assert keys(root, "all | sort:key")[-3:] == NOTES
    assert len(edges(root)) == count
    assert found(root, "tree") == NOTES


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("intruder", INTRUDERS)
def test_whatever_is_in_the_place_of_a_file_is_replaced(
    folder: Path, tmp_path: Path, name: str, intruder: str
) -> None:
    strange = made(tmp_path / "strange") / ".hedgerow"
    derived = folder / ".hedgerow"
    swapped = (derived / other(name)).read_bytes()
    (derived / name).unlink()
    INTRUDERS[intruder](derived / name, swapped, strange)
    with MemoryRoot.open(folder) as root:
        assert_is_right(root)
    with MemoryRoot.open(folder) as root:
        assert_is_right(root)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("call", CALLS)
def test_each_call_replaces_a_file_of_the_other_kind(folder: Path, name: str, call: str) -> None:
    derived = folder / ".hedgerow"
    shutil.copy(derived / other(name), derived / name)
    with MemoryRoot.open(folder) as root:
        CALLS[call](root)
        assert_is_right(root, 4 if call == "link" else 3)
    assert (derived / "store.db.foreign").exists() is (name == "store.db")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("is_in_place", [True, False])
def test_an_open_handle_replaces_it_too(
    folder: Path, name: str, call: str, is_in_place: bool
) -> None:
    file = folder / ".hedgerow" / name
    with MemoryRoot.open(folder) as root:
        assert_is_right(root)
        data = file.with_name(other(name)).read_bytes()
        if is_in_place:
            file.write_bytes(data)
        else:
            put(folder, "new", "").write_bytes(data)
            (folder / "new").replace(file)
        assert CALLS[call](root) is not False
        assert_is_right(root, 4 if call == "link" else 3)


def test_a_restored_store_keeps_its_visits_although_the_old_one_was_open(
    folder: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    with MemoryRoot.open(folder) as root:
        root.store().index.backup(backup)
        root.remember("A hedge.", title="Hedge")
        root.visit("linker", NOTES[0], NOW + 1)
        shutil.copy(backup, tmp_path / "new")
        (tmp_path / "new").replace(folder / ".hedgerow/store.db")
        assert_is_right(root)
        assert _last_visits(root.store(), "linker", NOTES[:1]) == [NOW]
    assert not (folder / ".hedgerow/store.db.foreign").exists()
