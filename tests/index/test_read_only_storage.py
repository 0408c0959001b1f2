"""An index can be searched on a read-only mount and in a folder of another user."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import hedgerow as hr
import read_only

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders have no such permissions")

Locked = Callable[[Path], AbstractContextManager[None]]


@pytest.fixture(params=[read_only.permissions, read_only.mount], ids=["permissions", "mount"])
def locked(request: pytest.FixtureRequest) -> Locked:
    return request.param


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can read, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        # A name with characters that have a meaning in URIs.
        inner = folder / "an index? 100%#é&mode=rwc"
        inner.mkdir()
        yield inner


def write(path: Path) -> None:
    with hr.Store.open(path) as store:
        store.upsert([hr.Node("n", content="winter garden")])
        store.index.upsert([hr.Chunk("c", "p", "a hedgehog", embedding=[1.0, 0.0])])


def listed(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_is_read(folder: Path, locked: Locked) -> None:
    path = folder / "index.db"
    write(path)
    assert path.read_bytes()[18:20] == b"\x02\x02", "it has a write-ahead log"
    with locked(folder):
        with hr.Index.open(path, read_only=True) as index:
            assert [hit.id for hit in index.search_bm25("hedgehog")] == ["c"]
            assert [hit.id for hit in index.search_vector([1.0, 0.0])] == ["c"]
            assert len(list(index.chunks())) == 2
            assert index.check() == []
            assert hr.Retriever(index).search("hedgehog").results[0].id == "c"
        with hr.Store.open(path, read_only=True) as store:
            assert store.query("all").keys == ["n"]
            with pytest.raises(hr.IndexFileError, match="reading only") as caught:
                store.visit("agent", "n", 1)
            assert caught.value.code == "index_read_only"
    assert listed(folder) == ["index.db"]
    with hr.Index.open(path) as index:
        assert index.upsert([hr.Chunk("d", "p", "later")]) == 1


def test_it_is_not_opened_to_write(folder: Path, locked: Locked) -> None:
    path = folder / "index.db"
    write(path)
    message = (
        f"the index {path} cannot be written, since its folder is read-only; open it with "
        "read_only to search it, or get write permission on the folder"
    )
    with locked(folder):
        for open_it in (hr.Index.open, hr.Store.open):
            with pytest.raises(hr.IndexFileError) as caught:
                open_it(path)
            assert (caught.value.code, caught.value.message) == ("index_read_only", message)
        with pytest.raises(hr.IndexFileError) as caught:
            hr.Index.open(folder / "new.db")
        assert caught.value.code == "index_io"
    assert listed(folder) == ["index.db"]


KILLED = """
import os, sys, hedgerow as hr
index = hr.Index.open(sys.argv[1])
index.upsert([hr.Chunk("late", "p", "a late hedgehog")])
os._exit(0)
"""


def leave_a_log(path: Path) -> None:
    """Write in a process that is killed before the log is merged into the file."""
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True)
    assert path.with_name("index.db-wal").stat().st_size > 0


def test_a_log_is_not_passed_over(folder: Path, locked: Locked) -> None:
    path = folder / "index.db"
    write(path)
    leave_a_log(path)
    path.with_name("index.db-shm").unlink()
    with locked(folder):
        with pytest.raises(hr.IndexFileError) as caught:
            hr.Index.open(path, read_only=True)
        assert caught.value.code == "index_read_only"
        assert caught.value.message == (
            f"the index {path} has writes in {path}-wal that are not in the file yet, and reading "
            "them needs write permission on the folder; open it once without read_only where there "
            "is, or copy both files to such a folder"
        )
    with tempfile.TemporaryDirectory() as elsewhere:
        for file in ("index.db", "index.db-wal"):
            shutil.copyfile(folder / file, Path(elsewhere) / file)
        with hr.Index.open(Path(elsewhere) / "index.db", read_only=True) as index:
            assert len(index) == 3


def test_a_log_with_its_index_is_read(folder: Path, locked: Locked) -> None:
    path = folder / "index.db"
    write(path)
    leave_a_log(path)
    with locked(folder), hr.Index.open(path, read_only=True) as index:
        assert sorted(hit.id for hit in index.search_bm25("hedgehog")) == ["c", "late"]
