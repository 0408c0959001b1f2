"""A full disk: no acknowledged write is lost, and a failed one leaves no log behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hedgerow as hr

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is mounted elsewhere")

MIB = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MiB."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", tmp_path],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("nothing may be mounted here")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)


def texts(count: int, size: int, name: str) -> list[hr.Chunk]:
    return [
        hr.Chunk(f"{name}{number}", "p", " ".join(f"{name}{number}x{n}" for n in range(size)))
        for number in range(count)
    ]


def log_size(path: Path) -> int:
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


def is_written(index: hr.Index, chunks: list[hr.Chunk]) -> bool:
    try:
        index.upsert(chunks)
    except hr.IndexFileError as error:
        if error.code != "index_io":
            raise
        return False
    return True


@pytest.mark.parametrize("is_read", [False, True])
def test_a_full_disk_frees_itself(small_disk: Path, *, is_read: bool) -> None:
    path = small_disk / "index.db"
    with hr.Index.open(path) as index:
        index.upsert(texts(3, 500, "early"))
        chunks = index.chunks() if is_read else None
        if chunks is not None:
            next(chunks)
        for attempt in range(3):
            with pytest.raises(hr.IndexFileError, match="nothing of this write was kept") as caught:
                index.upsert(texts(400, 2000, f"large{attempt}"))
            assert caught.value.code == "index_io"
            assert caught.value.message.endswith(
                "call again after freeing some of the space on its disk"
            )
            assert log_size(path) < MIB // 2
            assert index.upsert(texts(2, 100, f"small{attempt}")) == 2
        ids = sorted(chunk.id for chunk in index.chunks())
        assert len(ids) == 3 + 3 * 2
        assert index.check() == []
    with hr.Index.open(path) as index:
        assert sorted(chunk.id for chunk in index.chunks()) == ids
        assert len(index.search_bm25("early1x7 small2")) == 1


def test_writing_until_it_is_full_loses_nothing(small_disk: Path) -> None:
    path, written = small_disk / "index.db", 0
    with hr.Index.open(path) as index:
        while is_written(index, texts(1, 2000, f"n{written}a")):
            written += 1
        # The log is full of acknowledged writes, and the file has no room for them.
        assert len(index) == written
        assert len(index.search_bm25("n0a0x7")) == 1
        subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
        assert index.upsert(texts(1, 100, "after")) == 1
    assert log_size(path) == 0
    with hr.Index.open(path) as index:
        assert len(index) == written + 1
        assert index.check() == []
