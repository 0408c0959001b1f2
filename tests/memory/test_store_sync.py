"""The store of a memory root follows its files, whatever has happened to either."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.memory import sync
from hedgerow.memory.doctor import diagnose
from memory_doubles import NOW, before_the_edges, edges, keys, put


def changes(root: hr.MemoryRoot) -> dict[str, int]:
    """Return the change number with which the store wrote each file."""
    # Use a copy: a second SQLite in this process would drop the locks of the first.
    with tempfile.TemporaryDirectory() as folder:
        for file in (root.path / ".hedgerow").glob("store.db*"):
            shutil.copy(file, folder)
        with contextlib.closing(sqlite3.connect(f"{folder}/store.db")) as connection:
            return dict(connection.execute("SELECT path, changed FROM sources ORDER BY path"))


class TestSync:
    def test_only_what_changed_is_read(self, root: hr.MemoryRoot) -> None:
        for name in "abc":
            put(root.path, f"{name}.md", name)
        # A file read within one tick of the file clock is read again with the next change.
        time.sleep(0.15)
        keys(root)
        before = changes(root)
        assert len(keys(root)) == 3
        assert changes(root) == before
        put(root.path, "b.md", "changed")
        put(root.path, "d.md", "new")
        (root.path / "c.md").unlink()
        assert keys(root) == ["a.md", "b.md", "d.md"]
        written = changes(root)
        assert [path for path in written if written[path] != before.get(path)] == ["b.md", "d.md"]

    @pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed")
    def test_a_store_that_is_deleted_or_damaged_is_made_again(
        self, root: hr.MemoryRoot, caplog: pytest.LogCaptureFixture
    ) -> None:
        put(root.path, "a.md", "[[b]]")
        put(root.path, "b.md", "x")
        assert len(edges(root)) == 1
        shutil.rmtree(root.path / ".hedgerow")
        assert len(edges(root)) == 1
        root.close()
        for file in (root.path / ".hedgerow").glob("store.db*"):
            file.unlink()
        (root.path / ".hedgerow" / "store.db").write_bytes(b"no database at all" * 99)
        put(root.path, "c.md", "x")
        with caplog.at_level(logging.WARNING, "hedgerow"):
            assert keys(root) == ["a.md", "b.md", "c.md"]
        assert (
            "it is rebuilt from the files, without visits, and the old one kept as" in caplog.text
        )
        kept = root.path / ".hedgerow" / "store.db.damaged"
        assert kept.read_bytes().startswith(b"no database at all")

    def test_a_sync_that_stops_on_the_way_is_finished_by_the_next(
        self, root: hr.MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(root.path, "a.md", "[[b]]")
        put(root.path, "gone.md", "x")
        keys(root)
        put(root.path, "b.md", "x")
        put(root.path, "stray.md", "x")
        (root.path / "gone.md").unlink()
        monkeypatch.setattr(sync, "_sync_root", before_the_edges)
        with pytest.raises(hr.HedgerowError, match="the disk is full"):
            keys(root)
        monkeypatch.undo()
        # A file that was written meanwhile and then deleted is removed too.
        (root.path / "stray.md").unlink()
        assert keys(root) == ["a.md", "b.md"]
        assert edges(root) == [("a.md", "b.md", "link", 0.7)]

    def test_without_sync_the_store_is_read_as_it_stands(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "x")
        with pytest.raises(hr.IndexFileError, match="has no store yet"):
            root.query("all", sync=False)
        keys(root)
        put(root.path, "b.md", "x")
        assert root.query("all", sync=False).keys == ["a.md"]
        assert [one.file for one in root.list(sync=False).memories] == ["a.md"]
        for read in (root.show, root.history, root.links):
            assert read("a", sync=False)
            with pytest.raises(hr.InvalidInputError, match="there is no memory 'b'"):
                read("b", sync=False)

    def test_a_file_in_the_place_of_the_folder_is_named(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "x")
        (root.path / ".hedgerow").write_text("")
        with pytest.raises(
            hr.HedgerowError, match=r"\.hedgerow is a file, and the index needs a folder"
        ):
            root.recall("x")
        diagnosis = diagnose(root.path)
        assert not diagnosis.ok
        found = diagnosis.index
        assert not found.ok
        assert found.message.endswith(
            ".hedgerow is a file, and the index needs a folder of that name; move it away."
        )

    def test_visits_stay_while_files_change(self, root: hr.MemoryRoot) -> None:
        file = put(root.path, "a.md", "x")
        root.visit("linker", "a", NOW)
        put(root.path, "a.md", "y")
        assert keys(root, "visited:linker") == ["a.md"]
        text = file.read_text()
        file.unlink()
        assert keys(root) == []
        put(root.path, "a.md", text)
        assert keys(root, "visited:linker") == ["a.md"]

    @settings(max_examples=20, deadline=None)
    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(["a.md", "b.md", "d/a.md", "d/c.md"]),
                st.sampled_from(
                    ["[[a]]", "[[c]] [[d/a]]", "---\ntitle: b\n---\n", "# c\n[[b]]", "x"]
                ),
            ),
            max_size=4,
        )
    )
    def test_any_history_ends_where_a_fresh_store_begins(
        self, tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]]
    ) -> None:
        base = tmp_path_factory.mktemp("history")
        with hr.MemoryRoot.open(base) as root:
            for files in [*history, {"a.md": "[[c]]"}]:
                for path in ("a.md", "b.md", "d/a.md", "d/c.md"):
                    if path in files:
                        put(base, path, files[path])
                    elif (base / path).exists():
                        (base / path).unlink()
                if not any(base.rglob("*.md")):
                    root.sync(allow_empty=True)
                lived = (keys(root), root.graph())
        shutil.rmtree(base / ".hedgerow")
        with hr.MemoryRoot.open(base) as root:
            assert (keys(root), root.graph()) == lived


def test_a_file_that_comes_back_has_no_links_of_earlier_ones(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "See [[b]].\n")
    put(tmp_path, "b.md", "The bridge.\n")
    with hr.MemoryRoot.open(tmp_path) as root:
        assert root.query("neighbors:b.md").keys == ["a.md"]
        (tmp_path / "b.md").rename(tmp_path / "c.md")
        put(tmp_path, "a.md", "See [[c]] now.\n")
        assert root.query("neighbors:a.md").keys == ["c.md"]
        put(tmp_path, "b.md", "Another bridge.\n")
        assert root.query("neighbors:a.md").keys == ["c.md"]
        assert root.query("neighbors:b.md").keys == []
