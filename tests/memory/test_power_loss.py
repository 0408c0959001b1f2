"""Power failures at any moment of a write to a root.

The next call repairs the root, and no acknowledged write is lost.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hedgerow as hr
from lost_power import Disk, Files, files_in, folders_in, recorded
from memory_doubles import put

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of descriptors are in /proc")

Write = Callable[[hr.MemoryRoot], object]

WORDS = {"notes/a.md": "hawthorn", "notes/b.md": "blackthorn", "plans/c.md": "buckthorn"}
"""A word of each initial memory, which no write removes."""


def edit(root: hr.MemoryRoot) -> object:
    read = root.show("notes/a.md")
    return root.edit("notes/a.md", "# A\n\nhawthorn and sloes\n", read.digest)


def restore(root: hr.MemoryRoot) -> object:
    root.supersede("notes/a.md", by="plans/c.md")
    return root.restore("notes/a.md")


WRITES: dict[str, Write] = {
    "remember": lambda root: root.remember("dormouse", title="D", type="note"),
    "remember in a new folder": lambda root: root.remember("dormouse", title="D", type="decision"),
    "edit": edit,
    "supersede": lambda root: root.supersede("notes/a.md", text="whitethorn"),
    "supersede by another": lambda root: root.supersede("notes/a.md", by="notes/b.md"),
    "supersede by another in another folder": lambda root: root.supersede("a", by="plans/c.md"),
    "restore": restore,
    "retract": lambda root: root.retract("notes/a.md"),
    "rename": lambda root: root.rename("notes/a.md", "plants/hedges/a.md"),
    "forget": lambda root: root.forget("notes/a.md", purge=True),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_power_failure_loses_nothing_acknowledged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "root"
    put(folder, "notes/a.md", "# A\n\nhawthorn\n")
    put(folder, "notes/b.md", "# B\n\nblackthorn, see [a](a.md)\n")
    put(folder, "plans/c.md", "# C\n\nbuckthorn\n")
    with hr.MemoryRoot.open(folder, durability="full") as root:
        root.query("all")  # creates the store
        root.sync()
    before, folders = files_in(folder), folders_in(folder)
    derived = [tmp_path / "missing", kept(folder, tmp_path / "behind")]
    with hr.MemoryRoot.open(folder, durability="full") as root:
        with recorded(folder, monkeypatch) as recorder:
            WRITES[name](root)
        after = files_in(folder)
    derived.append(kept(folder, tmp_path / "ahead"))

    disk = Disk(before, folders)
    whole = {*before.values(), *after.values(), *recorder.contents.values()}
    states = list(disk.left())
    for call in recorder.calls:
        disk.apply(call, recorder.contents)
        states += disk.left()
    # Everything that was not synced by now is lost.
    final = [memories(state) for state in disk.left()]
    assert final
    assert all(state == memories(after) for state in final)
    distinct = {tuple(sorted(state.items())): state for state in states}
    assert len(distinct) > 1, recorder.calls
    for state in distinct.values():
        left = memories(state)
        assert whole.issuperset(left.values())
        for path, word in WORDS.items():
            if (name, path) != ("forget", "notes/a.md"):
                assert any(word.encode() in text for text in left.values()), (path, state)
        for kept_folder in derived:
            mended(folder, state, kept_folder)


def memories(files: Files) -> Files:
    """Return the files without leftovers of interrupted writes."""
    return {path: text for path, text in files.items() if not path.endswith(".tmp")}


def kept(folder: Path, to: Path) -> Path:
    """Copy index and store in the state that a killed process leaves."""
    shutil.copytree(folder / ".hedgerow", to, ignore=shutil.ignore_patterns("*-shm"))
    return to


def mended(folder: Path, state: Files, derived: Path) -> None:
    """Restore a state with an index and a store, and use the root."""
    shutil.rmtree(folder)
    folder.mkdir()
    for path, text in state.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    if derived.exists():
        shutil.copytree(derived, folder / ".hedgerow")
    expected = sorted(memories(state))
    with hr.MemoryRoot.open(folder, durability="full") as root:
        assert sorted(one.file for one in root.list(limit=50).memories) == expected
        assert sorted(root.query("all").keys) == expected
        for path, text in memories(state).items():
            assert root.show(path).text.encode() == text
        found = root.recall("hawthorn blackthorn dormouse whitethorn", limit=50)
        assert {one.file for one in found} <= set(expected)
    for file in ("index.db", "store.db"):
        with hr.Index.open(folder / ".hedgerow" / file) as index:
            assert index.check() == []
