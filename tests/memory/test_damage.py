"""Damage that is not detected on opening: the derived file is rebuilt, once."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from hedgerow import IndexFileError, MemoryRoot
from hedgerow.memory import index_handle
from hedgerow.memory.doctor import diagnose
from index_doubles import run_sql
from memory_doubles import found, keys, put

PAGE = 4096
NOTES = 120


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    for number in range(NOTES):
        put(tmp_path, f"notes/{number}.md", f"# N{number}\n\nhedge {'elm ' * 30}\n")
    put(tmp_path, "notes/a.md", "# A\n\nhawthorn, see [[1]]\n")
    opened = MemoryRoot.open(tmp_path)
    opened.query("all | count")
    opened.close()
    return opened


def pages(file: Path) -> int:
    return file.stat().st_size // PAGE


def overwrite(file: Path, page: int, sound: bytes, what: str) -> None:
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    start = page * PAGE
    new = bytes(PAGE) if what == "zeros" else b"hedge elm " * 409 + b"hedge "
    file.write_bytes(sound[:start] + new + sound[start + PAGE :])


def assert_whole(root: MemoryRoot) -> None:
    assert found(root, "hawthorn") == ["notes/a.md"]
    # The best file is found by both kinds of query.
    assert "notes/7.md" in [one.file for one in root.recall("hedge elm", limit=500)]
    root.close()


def test_doctor_names_what_is_damaged_and_what_was_put_aside(root: MemoryRoot) -> None:
    assert diagnose(root.path).to_dict()["index"]["broken"] == []
    store = root.path / ".hedgerow/store.db"
    run_sql(store, "DELETE FROM knowledge_chunks WHERE id = 'notes/a.md'")
    index = diagnose(root.path).index
    assert not index.ok
    assert index.is_warning
    assert index.message.startswith("Damaged: store.db: ")
    assert "notes/a.md" in index.message
    for suffix in ("", "-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
    store.write_bytes(b"no database at all" * 99)
    assert "store.db: " in diagnose(root.path).index.message
    keys(root)
    root.close()
    index = diagnose(root.path).index
    assert index.ok
    assert index.message.endswith(" Quarantined by a sync: store.db.damaged.")


@pytest.mark.parametrize("what", ["zeros", "text"])
def test_a_recall_answers_whatever_page_of_the_index_is_damaged(
    root: MemoryRoot, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = root.path / ".hedgerow/index.db"
    sound = file.read_bytes()
    for page in range(pages(file)):
        overwrite(file, page, sound, what)
        assert_whole(root)
    rebuilt = [one for one in caplog.messages if one.endswith("; it is rebuilt from the files")]
    assert len(rebuilt) > pages(file) // 4
    assert str(file) in rebuilt[0]


@pytest.mark.parametrize("what", ["zeros", "text"])
def test_a_query_answers_whatever_page_of_the_store_is_damaged(
    root: MemoryRoot, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    file = root.path / ".hedgerow/store.db"
    sound = file.read_bytes()
    for page in range(pages(file)):
        overwrite(file, page, sound, what)
        assert len(keys(root)) == NOTES + 1
        assert len(root.graph().edges) == 1
        root.visit("agent", "notes/a.md", 1_700_000_000)
        root.close()
    assert file.with_name("store.db.damaged").exists()
    assert any("the old one kept as" in one for one in caplog.messages)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sources SET skips = '[x'",
        "UPDATE sources SET facts = '3', skips = '3'",
        "DELETE FROM knowledge_chunks",
        "UPDATE knowledge_chunks SET metadata = replace(metadata, 'front_matter', 'front_madter')",
        "UPDATE knowledge_chunks SET metadata = '{'",
        "DROP TABLE knowledge_fts_data",
    ],
)
def test_rows_that_make_no_sense_are_made_again(root: MemoryRoot, damage: str) -> None:
    run_sql(root.path / ".hedgerow/index.db", damage)
    put(root.path, "notes/b.md", "# B\n\nhawthorn\n")
    assert found(root, "hawthorn") == ["notes/a.md", "notes/b.md"]
    assert root.sync().documents == NOTES + 2


def test_without_sync_damage_is_said(root: MemoryRoot) -> None:
    run_sql(root.path / ".hedgerow/index.db", "DROP TABLE knowledge_fts_data")
    with pytest.raises(IndexFileError, match="sync=True") as raised:
        root.recall("hawthorn", sync=False)
    assert (raised.value.code, raised.value.path) == (
        "index_damaged",
        str(root.path / ".hedgerow/index.db"),
    )
    assert found(root, "hawthorn") == ["notes/a.md"]


def test_what_is_damaged_again_is_an_error(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = 0

    def search(*_: object, **__: object) -> None:
        nonlocal searches
        searches += 1
        raise IndexFileError(f"{root.path}/.hedgerow/index.db: damaged", code="index_damaged")

    monkeypatch.setattr(index_handle, "_Recall", search)
    with pytest.raises(IndexFileError, match="damaged"):
        root.recall("hawthorn")
    assert searches == 2


def test_an_index_that_another_thread_rebuilt_stays(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root.path / ".hedgerow/index.db"
    search = root._opened._search
    rebuilt: list[int] = []

    def damaged_once(*arguments: Any) -> Any:
        if rebuilt:
            return search(*arguments)
        file.unlink()
        root.sync()
        rebuilt.append(file.stat().st_ino)
        assert found(root, "hawthorn") == [
            "notes/a.md"
        ]  # as another thread does with the same handle
        raise IndexFileError(f"{file}: damaged", code="index_damaged")

    monkeypatch.setattr(root._opened, "_search", damaged_once)
    assert found(root, "hawthorn") == ["notes/a.md"]
    assert file.stat().st_ino == rebuilt[0]


@pytest.mark.parametrize("name", ["index.db", "store.db"])
def test_a_file_that_is_cut_short_while_it_is_open_is_rebuilt(root: MemoryRoot, name: str) -> None:
    with MemoryRoot.open(root.path) as opened:
        assert found(opened, "hawthorn") == ["notes/a.md"]
        opened.retract("notes/1.md")
        os.truncate(root.path / ".hedgerow" / name, PAGE)
        assert found(opened, "hawthorn") == ["notes/a.md"]
        opened.restore("notes/1.md")
        assert_whole(opened)
