"""The file of an open index is replaced (spec/index.md, "Replacing the file")."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import hedgerow as hr
from index_doubles import run_sql

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps open files in place")

Replace = Callable[[Path, Path], object]


def fill(index: hr.Index, name: str, count: int = 30) -> None:
    index.upsert(
        hr.Chunk(f"{name}-{n}", f"{name}.md", f"winter {name} {n}", embedding=[1.0, n])
        for n in range(count)
    )


def make(path: Path, name: str, count: int = 30) -> Path:
    with hr.Index.open(path) as index:
        fill(index, name, count)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make(tmp_path / "index.db", "old")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return make(tmp_path / "other.db", "new", 40)


@pytest.fixture(params=[os.replace, shutil.copyfile], ids=["renamed", "copied"])
def replace(request: pytest.FixtureRequest) -> Replace:
    """Return a function that replaces a file."""
    return request.param


def replaced(path: Path, call: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(hr.IndexFileError) as caught:
        call(*arguments)
    assert (caught.value.code, caught.value.message) == (
        "index_replaced",
        f"the index {path} was replaced by another file while it was open; close it and open it again",
    )


def names(path: Path) -> set[str]:
    with hr.Index.open(path) as index:
        assert index.check() == []
        return {hit.path for hit in index.search_bm25("winter", 100)}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("ranking", ["memory", "fts5"])
def test_every_call_notices(path, other, replace, read_only, ranking):
    index = hr.Index.open(path, read_only=read_only, ranking=ranking)
    assert len(index.search_bm25("winter", 100)) == 30
    assert len(index.search_vector([1.0, 0.0], 100)) == 30
    replace(other, path)
    replaced(path, index.search_bm25, "winter")
    for call, argument in [
        (index.search_vector, [1.0, 0.0]),
        (index.get, "old-1"),
        (len, index),
        (iter, index),
        (index.backup, path.with_name("backup.db")),
    ]:
        replaced(path, call, argument)
    for call in (index.stats, index.check):
        replaced(path, call)
    if not read_only:
        replaced(path, index.upsert, [hr.Chunk("late", "p", "c")])
        replaced(path, index.optimize)
    index.close()
    assert names(path) == {"new.md"}
    assert not path.with_name("backup.db").exists()


@pytest.mark.parametrize("call", ["search_vector", "chunks", "len", "upsert", "retriever"])
def test_whichever_call_comes_first_notices(path, other, replace, call):
    with hr.Index.open(path) as index:
        calls = {
            "search_vector": lambda: index.search_vector([1.0, 0.0]),
            "chunks": lambda: list(index.chunks()),
            "len": lambda: len(index),
            "upsert": lambda: index.upsert([hr.Chunk("late", "p", "c")]),
            "retriever": lambda: hr.Retriever(index).search("winter"),
        }
        len(index)
        replace(other, path)
        if call == "retriever":
            with pytest.raises(hr.HedgerowError, match="was replaced by another file"):
                calls[call]()
        else:
            replaced(path, calls[call])
    assert names(path) == {"new.md"}


def test_a_store_notices(tmp_path, replace):
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    for name, file in [("old", path), ("new", other)]:
        with hr.Store.open(file) as store:
            store.upsert([hr.Node(f"{name}-{n}") for n in range(5)])
    with hr.Store.open(path) as store:
        assert store.query("all | count").count == 5
        replace(other, path)
        replaced(path, store.query, "all | count")
        replaced(path, store.upsert, [hr.Node("late")])
    with hr.Store.open(path) as store:
        assert store.get("new-1") is not None
        assert store.get("old-1") is None


def test_a_backup_that_is_put_back(path, replace, tmp_path):
    """A backup has its own identity, though its content comes from the file."""
    with hr.Index.open(path) as index:
        index.backup(tmp_path / "backup.db")
        replace(tmp_path / "backup.db", path)
        replaced(path, index.search_bm25, "winter")
    assert names(path) == {"old.md"}


def test_what_was_in_the_log_is_not_mixed_in(path, other, replace):
    """The old file's write-ahead log stays next to the new file until it is removed."""
    index = hr.Index.open(path)
    fill(index, "unmerged")
    before = other.read_bytes()
    replace(other, path)
    replaced(path, index.search_bm25, "winter")
    index.close()
    assert path.read_bytes() == before
    for read_only in (False, True):
        with pytest.raises(hr.IndexFileError) as caught:
            hr.Index.open(path, read_only=read_only)
        assert (caught.value.code, caught.value.message) == (
            "index_replaced",
            f"the index {path} has beside it the write-ahead log of a file that it replaced; close "
            f"it in every process, remove {path}-wal and {path}-shm, and open it again",
        )
        assert path.read_bytes() == before
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink()
    assert names(path) == {"new.md"}


def test_a_handle_that_is_closed_before_it_notices_leaves_the_new_file_alone(path, other, replace):
    index = hr.Index.open(path)
    fill(index, "unmerged")
    before = other.read_bytes()
    replace(other, path)
    index.close()
    assert path.read_bytes() == before


def test_threads_answer_from_one_file_only(path, other, replace):
    """Until one thread notices, all hits come from the old file. After that there are none."""
    started = threading.Barrier(5)
    outcomes: list[str] = []

    def search() -> None:
        started.wait()
        try:
            while True:
                hits = index.search_bm25("winter", 100) + index.search_vector([1.0, 0.0], 100)
                if len(hits) != 60 or {hit.path for hit in hits} != {"old.md"}:
                    outcomes.append("mixed")
                    return
        except hr.IndexFileError as error:
            outcomes.append(error.code)

    with hr.Index.open(path) as index:
        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        started.wait()
        replace(other, path)
        for thread in threads:
            thread.join(60)
    assert outcomes == ["index_replaced"] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork(path, other, replace):
    """A fork closes all connections. New ones would be to the other file."""
    with hr.Index.open(path) as index:
        assert len(index.search_bm25("winter", 100)) == 30
        if (child := os.fork()) == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        replace(other, path)
        replaced(path, index.search_bm25, "winter")
    assert names(path) == {"new.md"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_before_a_fork(path, other, replace):
    """At the fork, SQLite must not move the old file's log into the new file."""
    with hr.Index.open(path) as index:
        fill(index, "unmerged")
        before = other.read_bytes()
        replace(other, path)
        if (child := os.fork()) == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert path.read_bytes() == before
        replaced(path, index.search_bm25, "winter")


def test_another_process_that_writes_is_no_replacement(path):
    with hr.Index.open(path) as index, hr.Index.open(path, read_only=True) as reader:
        for n in range(5):
            fill(index, f"more{n}")
            # The main file is written only at a checkpoint.
            run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
            assert len(reader.search_bm25("winter", 1000)) == 30 * (n + 2)
            assert len(index) == 30 * (n + 2)
            assert index.check() == reader.check() == []


def test_a_file_that_was_moved_away_and_back_is_the_same(path):
    with hr.Index.open(path) as index:
        path.rename(path.with_name("away.db"))
        # A read meanwhile uses the open file, or fails.
        path.with_name("away.db").rename(path)
        assert len(index.search_bm25("winter", 100)) == 30


def identity(path: Path) -> tuple[str, str]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        ((in_file,),) = connection.execute("SELECT value FROM identity")
        named = connection.execute("SELECT value FROM settings WHERE name = 'identity'")
        ((in_settings,),) = named
    return in_file, in_settings


def test_each_file_has_an_identity_of_its_own(path, other, tmp_path):
    with hr.Index.open(path) as index:
        index.backup(tmp_path / "backup.db")
    with hr.Index.in_memory() as memory:
        memory.backup(tmp_path / "memory.db")
    files = [path, other, tmp_path / "backup.db", tmp_path / "memory.db"]
    found = {identity(file)[0] for file in files}
    assert len(found) == 4
    for file in files:
        in_file, in_settings = identity(file)
        assert in_file == in_settings
        assert len(bytes.fromhex(in_file)) == 16
        hr.Index.open(file).close()
        assert identity(file) == (in_file, in_file)


def test_a_file_of_an_earlier_hedgerow(path, other):
    """The file gets an identity when it is opened for writing.

    Until then its inode identifies it.
    """
    run_sql(path, "DROP TABLE identity; DELETE FROM settings WHERE name = 'identity'")
    with hr.Index.open(path, read_only=True) as index:
        assert len(index.search_bm25("winter", 100)) == 30
        run_sql(path, "UPDATE settings SET value = value WHERE name = 'generation'")
        assert len(index.search_bm25("winter", 100)) == 30
        with hr.Index.open(path) as writer:
            assert len(writer) == 30
            assert identity(path)[0] == identity(path)[1]
            assert len(index) == 30
        other.replace(path)
        replaced(path, index.search_bm25, "winter")


def test_an_identity_that_is_damaged(path):
    run_sql(path, "UPDATE identity SET value = 'x'")
    with pytest.raises(hr.IndexFileError) as caught:
        hr.Index.open(path)
    assert (caught.value.code, caught.value.message) == (
        "index_damaged",
        f"the index {path} is damaged (its identity is not the one in its settings); restore a backup, "
        "or make a new index and upsert the chunks again",
    )
