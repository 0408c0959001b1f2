"""The log of an index: opening, creating, migrating, and loading into memory."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import hedgerow as hr
from index_doubles import without_ledger
from waiting import until


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "hedgerow")
    return caplog


def lines(log: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Return the level and text of each line, with `?` in place of seconds."""
    assert {record.name for record in log.records} <= {"hedgerow.index"}
    found = [
        (record.levelname, re.sub(r" in \d+\.\d\d s", " in ? s", record.getMessage()))
        for record in log.records
    ]
    log.clear()
    return found


def test_a_file_is_made_and_opened(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "notes.db"
    hr.Index.open(path).close()
    assert lines(log) == [("INFO", f"made {path}")]
    hr.Index.open(path).close()
    hr.Index.open(path, read_only=True).close()
    assert lines(log) == [("DEBUG", f"opened {path}"), ("DEBUG", f"opened {path}, read-only")]
    hr.Index.in_memory().close()
    assert lines(log) == []
    with pytest.raises(hr.IndexFileError):
        hr.Index.open(tmp_path / "none.db", read_only=True)
    assert lines(log) == []


def test_an_older_file_is_migrated_once(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "notes.db"
    with hr.Index.open(path) as index:
        index.upsert([hr.Chunk("a", "a.md", "oak")])
    without_ledger(path)
    lines(log)
    hr.Index.open(path).close()
    [(level, text)] = lines(log)
    assert (level, text.startswith(f"migrated {path} in ? s: format 4 to 7, ")) == ("INFO", True)
    assert re.search(r"\bsources 0 to \d+\b", text)
    hr.Index.open(path).close()
    assert lines(log) == [("DEBUG", f"opened {path}")]


def test_the_tables_of_a_store_are_a_migration(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "notes.db"
    hr.Store.open(path).close()
    assert lines(log) == [("INFO", f"made {path}")]
    other = tmp_path / "other.db"
    hr.Index.open(other).close()
    lines(log)
    hr.Store.open(other).close()
    [(level, text)] = lines(log)
    assert (level, text.startswith(f"migrated {other} in ? s: ")) == ("INFO", True)


def test_what_is_read_into_memory(log: pytest.LogCaptureFixture) -> None:
    with hr.Index.in_memory() as index:
        index.upsert(hr.Chunk(str(n), "a.md", "oak", embedding=[n, 1.0]) for n in range(20))
        index.search_vector([1.0, 1.0])
        assert lines(log) == [("DEBUG", "read the vectors into memory in ? s")]
        index.search_bm25("oak")
        index.search_bm25("oak")
        until(lambda: index.stats().ranking_bytes)
        index.search_bm25("oak")
        read, ranked = lines(log)
        assert read == ("DEBUG", "read the ranking into memory in ? s")
        assert (ranked[0], ranked[1][:25]) == ("INFO", "BM25 is ranked by memory:")
        index.search_bm25("oak")
        index.search_vector([1.0, 1.0])
        assert lines(log) == []
