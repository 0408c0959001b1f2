"""The edges of a root's store are those of its files, after changes by any handle, process or refusal between."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hedgerow import HedgerowError, MemoryRoot, Store
from hedgerow.memory import rename, sync
from hedgerow.memory.doctor import diagnose
from memory_doubles import before_the_edges, edges, edges_of_files, put


@pytest.fixture
def linked(tmp_path: Path) -> MemoryRoot:
    """Make a root of two memories, one of which links to the other."""
    root = MemoryRoot.init(tmp_path / "memory")
    put(root.path, "notes/a.md", "# Alpha\n\njuniper meadow [[b]]\n")
    put(root.path, "notes/b.md", "# Beta\n\nelder and nettle\n")
    return root


def refused(*_: object, **__: object) -> None:
    raise HedgerowError("the disk is full", code="root_io")


def check(root: MemoryRoot) -> None:
    """Check the edges that an open handle sees, and those that a new handle sees after it."""
    expected = edges_of_files(root.path, root.path.parent / "copy")
    assert edges(root) == expected
    with MemoryRoot.open(root.path) as other:
        other.index()
        assert edges(other) == expected
        superseded = {target for _, target, relation, _ in expected if relation == "supersedes"}
        assert {one.file for one in other.list(superseded=True).memories} == superseded
    assert diagnose(root.path).edges.ok


class TestTwoHandles:
    @pytest.mark.parametrize("undone", [True, False])
    def test_a_mark_that_is_undone_by_hand(self, linked: MemoryRoot, *, undone: bool) -> None:
        with MemoryRoot.open(linked.path) as server:
            before = {file: file.read_bytes() for file in linked.path.glob("notes/*.md")}
            edges(server)
            linked.supersede("a", by="b")
            if undone:
                for file, data in before.items():
                    file.write_bytes(data)
            linked.recall("juniper")
            check(server)

    def test_a_link_that_is_written_again_by_hand(self, linked: MemoryRoot) -> None:
        with MemoryRoot.open(linked.path) as server:
            linked.link("a", "b", rel="see")
            file = linked.path / "notes/a.md"
            written = file.read_bytes()
            edges(server)
            linked.unlink("a", "b", rel="see")
            file.write_bytes(written)
            linked.recall("juniper")
            check(server)

    def test_a_mark_that_a_full_disk_keeps_from_the_edges(
        self, linked: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with MemoryRoot.open(linked.path) as server:
            before = {file: file.read_bytes() for file in linked.path.glob("notes/*.md")}
            edges(server)
            linked.supersede("a", by="b")
            for file, data in before.items():
                file.write_bytes(data)
            with monkeypatch.context() as patch:
                patch.setattr(sync, "_sync_root", before_the_edges)
                with pytest.raises(HedgerowError, match="the disk is full"):
                    edges(linked)
            check(server)


@pytest.mark.parametrize("step", ["_rewritten_pages", "read_documents", "sync", "remove"])
def test_a_forget_that_is_refused_keeps_the_edges(
    linked: MemoryRoot, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    edges(linked)
    with monkeypatch.context() as patch:
        patch.setattr(rename, step, refused)
        with pytest.raises(HedgerowError, match="the disk is full"):
            linked.forget("a", purge=True)
    assert (linked.path / "notes/a.md").exists()
    with MemoryRoot.open(linked.path) as other:
        other.recall("meadow")
    check(linked)


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.link("notes/b.md", "notes/a.md"),
        lambda store: store.unlink("notes/a.md", "notes/b.md"),
        lambda store: store.delete(["notes/a.md"]),
        lambda store: store._purge(["notes/a.md"]),
    ],
)
def test_a_store_that_others_wrote_is_linked_again(
    linked: MemoryRoot, change: Callable[[Store], object]
) -> None:
    edges(linked)
    linked.close()
    with Store.open(linked.path / ".hedgerow/store.db") as store:
        change(store)
    check(linked)


class TestDoctor:
    def test_edges_are_those_of_the_files(self, linked: MemoryRoot) -> None:
        found = diagnose(linked.path).edges
        assert (found.ok, found.message) == (
            True,
            "No store yet; the first query or graph makes it.",
        )
        edges(linked)
        found = diagnose(linked.path).edges
        assert (found.ok, found.message) == (True, "Those of the links of the files.")
        assert found.facts == {"different": []}

    def test_links_of_a_vault_are_read_as_by_a_sync(self, tmp_path: Path) -> None:
        put(tmp_path, ".obsidian/app.json", "{}")
        root = MemoryRoot.init(tmp_path)
        put(tmp_path, "a.md", "---\naliases: [first]\n---\n%% [[b]] %% [[other]] #[[b]]\n")
        put(tmp_path, "b.md", "---\ntitle: Other\nsee: '[[first]]'\n---\n[[a]]\n")
        assert {edge[:3] for edge in edges(root)} == {
            ("a.md", "b.md", "link"),
            ("b.md", "a.md", "link"),
            ("b.md", "a.md", "see"),
        }
        assert diagnose(tmp_path).edges.message == "Those of the links of the files."

    def test_a_store_that_is_behind_is_not_compared(self, linked: MemoryRoot) -> None:
        edges(linked)
        put(linked.path, "notes/b.md", "[[a]]")
        expected = (
            "Not compared: the store is behind the files; the next query or graph updates it."
        )
        assert diagnose(linked.path).edges.message == expected
        linked.recall("juniper")  # reads the nodes, and leaves their edges to the next query
        assert diagnose(linked.path).edges.message == expected

    def test_a_store_that_cannot_be_read_is_not_compared(self, linked: MemoryRoot) -> None:
        edges(linked)
        linked.close()
        (linked.path / ".hedgerow/store.db").write_bytes(b"no database at all" * 99)
        found = diagnose(linked.path).edges
        assert found.ok is False
        assert found.message.startswith("Not compared: ")

    def test_other_edges_are_named_with_the_fix(self, linked: MemoryRoot) -> None:
        edges(linked)
        linked.close()
        store = linked.path / ".hedgerow/store.db"
        with closing(sqlite3.connect(store, isolation_level=None)) as connection:
            connection.execute("DELETE FROM edges")
        found = diagnose(linked.path)
        assert (found.ok, found.edges.ok) == (True, False)
        assert found.edges.message == (
            "1 differ from the links of the files: notes/a.md -> notes/b.md (link). Move "
            f"{store} away while nothing uses it, and the next query or graph rebuilds it, without visits."
        )
        edge = {"from": "notes/a.md", "to": "notes/b.md", "relation": "link"}
        assert found.to_dict()["edges"]["different"] == [edge]
        store.rename(f"{store}.old")
        assert edges(linked) == [("notes/a.md", "notes/b.md", "link", 0.7)]
        assert diagnose(linked.path).edges.ok
