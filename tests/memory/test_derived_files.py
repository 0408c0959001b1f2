"""Derived files in .hedgerow are built from the files, and rebuilt if damaged or missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hedgerow import Chunk, Index, IndexFileError, MemoryRoot, Node
from hedgerow.memory import files
from index_doubles import without_ledger
from memory_doubles import counts, found, keys, put


class TestDerivedFiles:
    @pytest.mark.parametrize(
        "names", [["index.db"], ["store.db"], ["index.db", "store.db"], ["lock"], None]
    )
    def test_any_of_them_may_be_deleted(
        self, synced_root: MemoryRoot, names: list[str] | None
    ) -> None:
        keys(synced_root)
        synced_root.close()
        derived = synced_root.path / ".hedgerow"
        if names is None:
            shutil.rmtree(derived)
        for name in names or ():
            (derived / name).unlink()
        put(synced_root.path, "notes/a.md", "aspen")
        (synced_root.path / "notes/b.md").unlink()
        assert found(synced_root, "aspen") == ["notes/a.md"]
        assert found(synced_root, "hawthorn OR sloes OR blackthorn") == []
        assert keys(synced_root) == ["notes/a.md"]

    @pytest.mark.parametrize(
        "damage", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 999]
    )
    def test_an_index_that_is_none_is_made_again(
        self, synced_root: MemoryRoot, damage: bytes
    ) -> None:
        synced_root.close()
        for file in (synced_root.path / ".hedgerow").glob("index.db*"):
            file.unlink()
        (synced_root.path / ".hedgerow/index.db").write_bytes(damage)
        assert found(synced_root, "hawthorn") == ["notes/a.md"]
        assert counts(synced_root.sync()) == (2, 0, 0, 0)

    def test_a_root_of_an_earlier_version_is_read_again(self, synced_root: MemoryRoot) -> None:
        keys(synced_root)
        synced_root.close()
        derived = synced_root.path / ".hedgerow"
        with Index.open(derived / "index.db") as index:
            before = [(chunk.id, chunk.content) for chunk in index.chunks()]
        for name in ("index.db", "store.db"):
            without_ledger(derived / name)
        for name in ("ledger", "nodes.json"):
            (derived / name).write_text("of an earlier version")
        (synced_root.path / "notes/b.md").unlink()
        assert synced_root.index_state() is None
        assert found(synced_root, "hawthorn") == ["notes/a.md"]
        assert found(synced_root, "sloes") == []
        assert keys(synced_root) == ["notes/a.md"]
        with Index.open(derived / "index.db", read_only=True) as index:
            assert [(chunk.id, chunk.content) for chunk in index.chunks()] == before[:1]
            assert index.check() == []
        assert not (derived / "ledger").exists()
        assert not (derived / "nodes.json").exists()

    def test_chunks_and_nodes_that_no_file_stands_behind_go(self, synced_root: MemoryRoot) -> None:
        keys(synced_root)
        with Index.open(synced_root.path / ".hedgerow/index.db") as index:
            index.upsert([Chunk("x", "x.md", "hawthorn")])
        synced_root.store().upsert(
            [Node("y.md", content="by hand"), Node("notes/a.md", content="other")]
        )
        put(synced_root.path, "notes/c.md", "elder")
        assert keys(synced_root) == ["notes/a.md", "notes/b.md", "notes/c.md"]
        assert found(synced_root, "hawthorn") == ["notes/a.md"]
        node = synced_root.store().get("notes/a.md")
        assert node is not None
        assert node.content == "# A\n\nhawthorn"

    @pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed")
    def test_without_sync_the_index_is_read_as_it_stands(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "notes/c.md", "hawthorn")
        assert [one.file for one in synced_root.recall("hawthorn", sync=False)] == ["notes/a.md"]
        shutil.rmtree(synced_root.path / ".hedgerow")
        with pytest.raises(IndexFileError, match=r"to make it: root\.sync\(\)$") as raised:
            synced_root.recall("hawthorn", sync=False)
        assert raised.value.code == "index_not_found"

    def test_an_index_that_lost_what_the_ledger_tells_is_made_whole(
        self, synced_root: MemoryRoot
    ) -> None:
        with Index.open(synced_root.path / ".hedgerow/index.db") as index:
            index.delete_path("notes/a.md")
        synced_root.sync()
        assert found(synced_root, "hawthorn") == ["notes/a.md"]

    def test_the_manifest_is_json_whatever_decimals_a_file_has(self, tmp_path: Path) -> None:
        huge = "9" * 400 + ".5"
        put(tmp_path, "a.md", f"---\nprice: 1.50\nhuge: {huge}\n---\nhedge\n")
        MemoryRoot(tmp_path).index()

        def no_number(word: str) -> None:
            raise AssertionError(word)

        text = (tmp_path / ".hedgerow/index.json").read_text(encoding="utf-8")
        [document] = json.loads(text, parse_constant=no_number)["documents"]
        assert document["frontmatter"] == {"price": 1.5, "huge": huge}

    def test_the_manifest_is_written_by_index_only(self, synced_root: MemoryRoot) -> None:
        manifest = synced_root.path / ".hedgerow/index.json"
        synced_root.remember("x", title="T")
        synced_root.recall("x")
        assert not manifest.exists()
        synced_root.index()
        assert len(json.loads(manifest.read_text())["documents"]) == 3

    def test_another_index_root_is_read_anew(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "hedgerow.json", '{"schemaVersion": 1, "indexRoot": "notes"}')
        assert found(synced_root, "hawthorn") == ["a.md"]
        done = synced_root.remember("x", title="T", type="page")
        assert done.indexed is False
        assert done.problem == (
            f"Not indexed: it lies outside indexRoot ({synced_root.path}/notes), which alone is searched. "
            "No recall finds it."
        )
        assert done.to_dict() == {
            "root": str(synced_root.path),
            "file": done.file,
            "indexed": False,
            "problem": done.problem,
        }

    def test_what_a_writer_elsewhere_left_is_removed_when_old(
        self, synced_root: MemoryRoot
    ) -> None:
        old = put(synced_root.path, "notes/.hedgerow-0-1-ab.tmp", "half")
        young = put(synced_root.path, "notes/.hedgerow-0-2-ab.tmp", "half")
        os.utime(old, (1, 1))
        synced_root.sync()
        assert (old.exists(), young.exists()) == (False, True)

    @pytest.mark.skipif(
        sys.platform == "win32", reason="Windows does not say whether a process runs"
    )
    @pytest.mark.parametrize(
        "write",
        [
            lambda root: root.recall("hawthorn"),
            lambda root: root.index(),
            lambda root: root.supersede("a", by="b"),
        ],
    )
    def test_what_a_killed_writer_left_is_removed_by_the_next(
        self, synced_root: MemoryRoot, write: Callable[[MemoryRoot], object]
    ) -> None:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        folders = ("notes", ".hedgerow/reports", ".hedgerow")
        left, living = (
            [
                put(synced_root.path, f"{folder}/.hedgerow-{files._HOST}-{process}-ab.tmp", "half")
                for folder in folders
            ]
            for process in (gone.pid, os.getpid())
        )
        write(synced_root)
        assert [file.exists() for file in (*left, *living)] == [False] * 3 + [True] * 3

    @pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
    def test_what_a_killed_writer_left_may_be_kept_by_the_system(
        self, synced_root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = put(synced_root.path, "notes/.hedgerow-0-1-ab.tmp", "half")
        os.utime(old, (1, 1))
        unlink = Path.unlink

        def refused(self: Path, *, missing_ok: bool = False) -> None:
            if self == old:
                raise PermissionError(1, "Operation not permitted", str(self))
            unlink(self, missing_ok=missing_ok)

        monkeypatch.setattr(Path, "unlink", refused)
        assert found(synced_root, "hawthorn") == ["notes/a.md"]

    def test_a_lock_that_is_held_for_too_long_is_an_error(
        self, synced_root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "PATIENCE", 0.05)
        with files.locked(synced_root.path / ".hedgerow/lock"):
            with pytest.raises(IndexFileError, match="sync=False") as raised:
                synced_root.sync()
            assert raised.value.code == "index_busy"
