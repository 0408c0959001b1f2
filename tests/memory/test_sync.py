"""The index follows the files after every kind of change."""

from __future__ import annotations

import os
import shutil
import time

import pytest

from hedgerow import Index, InvalidInputError, MemoryRoot
from hedgerow._engine import _Ledger, _sync_root
from hedgerow.memory import sync
from hedgerow.memory.config import read_config
from hedgerow.memory.derived import Derived
from hedgerow.memory.root_files import FileCheck
from memory_doubles import counts, found, keys, put


class TestProgress:
    def test_it_counts_the_files_to_read(self, synced_root: MemoryRoot) -> None:
        told: list[tuple[int, int]] = []
        for number in range(130):
            put(synced_root.path, f"notes/n{number}.md", f"note {number}")
        synced_root.sync(progress=lambda *progress: told.append(progress))
        # The two existing notes were read so soon after being written that they may be read again.
        assert told[-1] in ((n, n) for n in range(130, 133))
        assert told == sorted(told)


class TestTokenizer:
    def test_a_root_of_an_earlier_version_gets_that_of_new_ones(
        self, synced_root: MemoryRoot
    ) -> None:
        put(synced_root.path, "notes/zh.md", "刺猬在树篱下冬眠。")
        synced_root.sync()
        synced_root.query("all | type:decision")  # creates the store
        derived = synced_root.path / ".hedgerow"
        for file in ("index.db", "store.db"):
            with Index.open(derived / file) as index:
                index.retokenize("porter unicode61")
        assert [hit.file for hit in synced_root.recall("冬眠", sync=False)] == []
        assert found(synced_root, "冬眠") == ["notes/zh.md"]
        assert counts(synced_root.sync()) == (3, 0, 0, 0)
        synced_root.query("all | type:decision")
        for file in ("index.db", "store.db"):
            with Index.open(derived / file, read_only=True) as index:
                assert index.tokenizer == "words"


class TestChanges:
    def test_nothing_changed(self, synced_root: MemoryRoot) -> None:
        assert counts(synced_root.sync()) == (2, 0, 0, 0)

    def test_a_new_file(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "deep/er/c.MD", "hawthorn")
        assert found(synced_root, "hawthorn") == ["deep/er/c.MD", "notes/a.md"]

    def test_an_edit_also_one_that_makes_fewer_passages(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "notes/b.md", "# B\n\nelder\n")
        assert found(synced_root, "sloes OR blackthorn") == []
        assert found(synced_root, "elder") == ["notes/b.md"]
        assert counts(synced_root.sync()) == (2, 0, 0, 0)

    def test_a_rename(self, synced_root: MemoryRoot) -> None:
        (synced_root.path / "notes/a.md").rename(synced_root.path / "notes/c.md")
        assert counts(synced_root.sync()) == (2, 1, 0, 1)
        assert found(synced_root, "hawthorn") == ["notes/c.md"]

    def test_two_files_that_change_places(self, synced_root: MemoryRoot) -> None:
        notes = synced_root.path / "notes"
        (notes / "a.md").rename(notes / "x.md")
        (notes / "b.md").rename(notes / "a.md")
        (notes / "x.md").rename(notes / "b.md")
        assert found(synced_root, "hawthorn") == ["notes/b.md"]
        assert found(synced_root, "sloes") == ["notes/a.md"]

    def test_a_delete(self, synced_root: MemoryRoot) -> None:
        (synced_root.path / "notes/a.md").unlink()
        assert found(synced_root, "hawthorn") == []
        (synced_root.path / "notes/b.md").unlink()
        assert counts(synced_root.sync()) == (0, 0, 0, 1)

    def test_a_root_that_has_lost_everything_keeps_its_index_until_it_is_told(
        self, synced_root: MemoryRoot
    ) -> None:
        (synced_root.path / "notes").rename(synced_root.path / ".unmounted")
        with pytest.raises(
            InvalidInputError, match=r"2 files .* root\.sync\(allow_empty=True\)"
        ) as raised:
            synced_root.recall("hawthorn")
        assert raised.value.code == "nothing_found"
        (synced_root.path / ".unmounted").rename(synced_root.path / "notes")
        assert found(synced_root, "hawthorn") == ["notes/a.md"]
        shutil.rmtree(synced_root.path / "notes")
        assert counts(synced_root.index(allow_empty=True)) == (0, 0, 0, 2)
        assert found(synced_root, "hawthorn") == []

    def test_an_edit_that_hides_its_time(self, synced_root: MemoryRoot) -> None:
        file = synced_root.path / "notes/a.md"
        before = file.stat()
        file.write_text("# A\n\nhornbeam\n"[: before.st_size])
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert found(synced_root, "hornbeam") == ["notes/a.md"]

    def test_edits_in_the_same_second_and_of_the_same_size(self, synced_root: MemoryRoot) -> None:
        for word in ("aspen", "cedar", "larch", "maple", "rowan") * 4:
            put(synced_root.path, "notes/a.md", word)
            assert found(synced_root, word) == ["notes/a.md"]

    def test_an_unchanged_file_is_not_written_again(self, synced_root: MemoryRoot) -> None:
        os.utime(synced_root.path / "notes/a.md", ns=(1, 1))
        time.sleep(0.15)
        assert counts(synced_root.sync()) == (2, 0, 0, 0)
        derived = sync.Derived.of(read_config(synced_root.path))
        with Index.open(derived.index, read_only=True) as index:
            looked = FileCheck(watch=False).look(
                derived, _Ledger(index, derived.index_scope, False)
            )
            assert looked.skips == []

    def test_one_that_is_behind_catches_up(self, synced_root: MemoryRoot) -> None:
        keys(synced_root)
        synced_root.close()
        kept = {
            name: (synced_root.path / ".hedgerow" / name).read_bytes()
            for name in ("index.db", "store.db")
        }
        put(synced_root.path, "notes/c.md", "zucchini [[a]]")
        for name, data in kept.items():
            assert found(synced_root, "zucchini") == ["notes/c.md"]
            assert keys(synced_root) == ["notes/a.md", "notes/b.md", "notes/c.md"]
            synced_root.close()
            (synced_root.path / ".hedgerow" / name).write_bytes(data)
        assert found(synced_root, "zucchini") == ["notes/c.md"]
        assert keys(synced_root) == ["notes/a.md", "notes/b.md", "notes/c.md"]
        assert len(synced_root.graph().edges) == 1


def test_what_has_no_signature_is_no_file_to_read(synced_root: MemoryRoot) -> None:
    with Index.open(synced_root.path / ".hedgerow/index.db") as index:
        ledger = _Ledger(index, Derived.of(read_config(synced_root.path)).index_scope, False)
        with pytest.raises(ValueError, match=r'a\.md has no signature: "x"'):
            _sync_root(index, ledger, None, None, None, [("a.md", "x")], synced_root.path, [])
