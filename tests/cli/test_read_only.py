"""Read-only commands on storage that cannot be written."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import hedgerow as hr
import read_only
from command_line import failed, ok, run
from memory_doubles import put

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders have no such permissions")

Locked = Callable[[Path], AbstractContextManager[None]]


@pytest.fixture(params=[read_only.permissions, read_only.mount], ids=["permissions", "mount"])
def locked(request: pytest.FixtureRequest) -> Locked:
    return request.param


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A synced memory root in a folder that every user can read, with the user's own files."""
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.setenv("HEDGEROW_CONFIG_DIR", str(Path(name) / "user"))
        root = Path(name) / "memory"
        put(root, "notes/a.md", "# A\n\nhawthorn, see [[b]]\n")
        put(root, "notes/b.md", "# B\n\nsloes\n")
        Path(name).chmod(0o755)
        with hr.MemoryRoot.init(root) as memory:
            memory.query("all | count")
            memory.recall("hawthorn")
        read_only.own(Path(name) / "user")
        yield root


def listed(root: Path) -> list[str]:
    return sorted(str(file.relative_to(root)) for file in root.rglob("*"))


def test_a_root_is_read(root: Path, locked: Locked) -> None:
    def read() -> None:
        where = ("--root", str(root))
        said = ok("recall", *where, "--topic", "hawthorn", "--no-sync", "--json")
        assert [one["provenance"]["file"] for one in json.loads(said)["results"]] == ["notes/a.md"]
        assert "notes/b.md" in ok("search", "sloes", *where, "--no-sync")
        query = ("query", "search:sloes | spread", *where, "--no-sync", "--keys")
        assert sorted(ok(*query).split()) == ["notes/a.md", "notes/b.md"]

    # A user without permissions may be unable to import modules that are loaded late.
    read()
    before = listed(root)
    with locked(root):
        read()
    assert listed(root) == before


def test_what_has_to_be_synced_says_how_to_do_without(root: Path, locked: Locked) -> None:
    put(root, "notes/c.md", "# C\n\nhawthorn\n")
    with locked(root):
        where = ("--root", str(root))
        for command in (["recall", "--topic", "x", *where], ["query", "all", *where]):
            assert "--no-sync" in failed(1, *command)


def test_a_root_without_an_index_is_indexed_elsewhere(root: Path, locked: Locked) -> None:
    where = ("--root", str(root))

    def files(*command: str) -> list[str]:
        results = json.loads(ok("recall", *command, *where, "--json"))["results"]
        return [one["provenance"]["file"] for one in results]

    # Loads the modules that a user without permissions may be unable to import.
    assert files("hawthorn") == ["notes/a.md"]
    assert "cannot" not in ok("query", "all | count", *where)
    shutil.rmtree(root / ".hedgerow")
    before = listed(root)
    with locked(root):
        assert "has no index yet" in failed(1, "recall", "hawthorn", "--no-sync", *where)
        assert files("hawthorn") == ["notes/a.md"]
        assert ok("query", "all | count", *where).split() == ["2"]
        assert "cannot write" in failed(1, "remember", "Moles dig.", "--title", "Moles", *where)
    assert listed(root) == before
    put(root, "notes/c.md", "# C\n\nmedlar\n")
    with locked(root):
        assert files("medlar") == ["notes/c.md"]
    elsewhere = list((root.parent / "user" / "read-only").rglob("index.db"))
    assert len(elsewhere) == 1
    assert run("forget", "notes/c.md", "--purge", *where).exit_code == 0
    assert not elsewhere[0].exists()


def test_an_index_of_another_path_is_not_used(root: Path, locked: Locked) -> None:
    moved = root.rename(root.with_name("moved"))
    try:
        with locked(moved):
            assert "notes/b.md" in ok("recall", "sloes", "--root", str(moved))
    finally:
        moved.rename(root)


def test_the_file_of_an_index_or_a_store_is_read(root: Path, locked: Locked) -> None:
    index, store = (str(root / ".hedgerow" / name) for name in ("index.db", "store.db"))

    def read() -> None:
        assert "notes/a.md" in ok("search", "hawthorn", "--db", index)
        assert ok("query", "all", "--keys", "--db", store).split() == ["notes/a.md", "notes/b.md"]
        assert "notes/b.md" in ok("graph", "--db", store)

    read()
    with locked(root):
        read()


def test_index_files_are_looked_into(root: Path, locked: Locked) -> None:
    index = str(root / ".hedgerow" / "index.db")

    def read() -> None:
        assert "chunks      2, of 2 paths" in ok("stats", "--db", index)
        assert "hawthorn" in ok("show", "notes/a.md", "--db", index)

    read()
    assert ok("check", "--db", index).splitlines() == [
        "hedgerow check: ok",
        f"index: ok: {index}, 2 chunks",
    ]
    with locked(root):
        read()
        assert ok("check", "--db", index).splitlines() == [
            "hedgerow check: ok",
            f"index: ok: {index}, 2 chunks",
            "index: warning: it cannot be written, so only the rows were compared",
        ]
        refused = run("delete", "--path", "notes/a.md", "--yes", "--db", index)
        assert (refused.exit_code, "cannot be written" in refused.stderr) == (1, True)


def test_no_sync_is_for_roots(root: Path) -> None:
    store = str(root / ".hedgerow/store.db")
    assert "--no-sync goes with --root" in failed(2, "query", "all", "--no-sync", "--db", store)
