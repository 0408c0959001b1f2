"""Unchanged files are not read again, unless the index was changed otherwise."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from hedgerow import Chunk, Index, IndexFileError
from hedgerow._engine import _FilesRun, _Ledger
from hedgerow.ingest import IndexRun, Rules, discover
from index_doubles import without_ledger
from ingest_runs import codes, counts, ids, run
from waiting import until

pytestmark = pytest.mark.usefixtures("two_notes")


def noted(index: Index) -> tuple[int, list[str]]:
    """Return the ledger's last change number, and its files."""
    ledger = _Ledger(index, "files", False)
    return ledger.generation, ledger.paths()


def in_parts(index: Index) -> tuple[int, int, int, int]:
    """Run with a queue of at most 600 chunks. Return the same counts as `counts`."""
    found = [(one.path, one.file, one.signature, False) for one in discover(["notes"]).sources]
    files = _FilesRun()
    files.run(index, _Ledger.of_files(index), found, [], longest_queue=600)
    return files.report()[2:6]


class TestLedger:
    """Unchanged files are not read again, unless the index was changed otherwise."""

    def test_only_what_changed_is_read(self, empty_index: Index, two_notes: Path) -> None:
        run(empty_index)
        time.sleep(0.15)
        run(empty_index)
        before = noted(empty_index)
        report = run(empty_index)
        assert (counts(report), report.files) == ((0, 0, 3, 0), 2)
        assert noted(empty_index) == before
        (two_notes / "b.txt").write_text("Other.\n")
        (two_notes / "c.md").write_text("New.\n")
        assert counts(run(empty_index)) == (1, 1, 2, 0)
        assert [Path(file).name for file in noted(empty_index)[1]] == ["a.md", "b.txt", "c.md"]

    def test_what_could_not_be_read_is_named_each_time(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        (two_notes / "c.md").write_bytes(b"\xff")
        (two_notes / "d.md").write_text("---\na: b: c\n---\nx\n")
        first = run(empty_index)
        time.sleep(0.15)
        run(empty_index)
        before = noted(empty_index)
        assert run(empty_index).skips == first.skips
        assert codes(first) == [("notes/c.md", "not_utf8"), ("notes/d.md", "bad_front_matter")]
        assert (noted(empty_index), first.files) == (before, 3)

    def test_what_others_changed_is_read_again(self, empty_index: Index) -> None:
        run(empty_index)
        time.sleep(0.15)
        run(empty_index)
        empty_index.delete(["notes/a.md#1"])
        chunk = empty_index.get("notes/b.txt#0")
        assert chunk is not None
        empty_index.upsert([Chunk(chunk.id, chunk.path, "by hand", metadata=chunk.metadata)])
        assert counts(run(empty_index)) == (1, 1, 1, 0)
        assert ids(empty_index) == ["notes/a.md#0", "notes/a.md#1", "notes/b.txt#0"]

    def test_an_index_of_an_earlier_version_keeps_its_chunks_and_vectors(
        self, tmp_path: Path, two_notes: Path
    ) -> None:
        path = tmp_path / "i.db"
        with Index.open(path) as index:
            index.upsert([Chunk("mine", "notes/mine.md", "Upserted by hand.")])
            run(index)
            [first, *_] = (chunk for chunk in index.chunks() if chunk.path == "notes/a.md")
            index.upsert([first._with_embedding([1.0, 2.0])])
        without_ledger(path)
        (two_notes / "b.txt").unlink()
        with Index.open(path) as index:
            report = run(index)
            assert (counts(report), report.removed_files) == ((0, 0, 2, 1), 1)
            assert index.stats().vectors == 1
            assert ids(index) == ["mine", "notes/a.md#0", "notes/a.md#1"]

    def test_a_folder_that_is_excluded_goes(self, empty_index: Index, two_notes: Path) -> None:
        (two_notes / "drafts").mkdir()
        (two_notes / "drafts" / "c.md").write_text("x")
        run(empty_index)
        found = discover(["notes"], Rules(exclude=("drafts",)))
        report = IndexRun(empty_index, found).run()
        assert (report.removed, report.removed_files) == (1, 1)

    def test_a_file_of_json_lines_may_be_written_in_parts(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        file = two_notes / "c.jsonl"
        lines = [json.dumps({"content": f"line {number}"}) + "\n" for number in range(2500)]
        file.write_text("".join(lines))
        assert in_parts(empty_index) == (2503, 0, 0, 0)
        file.write_text("".join(lines[:1500]))
        assert in_parts(empty_index) == (0, 0, 1503, 1000)
        assert empty_index.check() == []

    @pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
    def test_a_kill_between_two_parts_leaves_the_file_to_be_read_again(
        self, tmp_path: Path, two_notes: Path
    ) -> None:
        lines = [json.dumps({"content": f"line {number}"}) + "\n" for number in range(20_000)]
        (two_notes / "c.jsonl").write_text("".join(lines))
        path = tmp_path / "i.db"
        code = "import sys; from hedgerow import Index; from test_ledger import in_parts; in_parts(Index.open(sys.argv[1]))"
        with subprocess.Popen([sys.executable, "-c", code, path], cwd=two_notes.parent, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}) as worker:  # fmt: skip
            with Index.open(path) as index:
                until(lambda: len(index) > 1000)
            worker.kill()
        with Index.open(path) as index:
            report = run(index)
            assert report.added + report.unchanged == len(index) == 20_003
            assert index.check() == []


@pytest.mark.parametrize("column", ["facts", "skips"])
def test_damaged_notes_are_an_error_that_names_the_index(tmp_path: Path, column: str) -> None:
    path = tmp_path / "damaged.db"
    with Index.open(path) as index:
        run(index, "notes")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"UPDATE sources SET {column} = '['")  # noqa: S608 - one of two names
    with Index.open(path) as index, pytest.raises(IndexFileError, match="are not JSON") as raised:
        run(index, "notes")
    assert raised.value.code == "index_damaged"
