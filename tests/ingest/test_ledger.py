"""What was read before is not read again, unless something else changed it meanwhile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hedgerow import Chunk, Index
from hedgerow.ingest import IndexRun, Rules, discover, index_run, index_target
from hedgerow.ingest import sync as file_sync
from index_doubles import without_ledger
from ingest_runs import codes, counts, ids, run

pytestmark = pytest.mark.usefixtures("two_notes")


class TestLedger:
    """What was read before is not read again, unless something else changed it meanwhile."""

    def read(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        read: list[str] = []
        real = file_sync.read_source
        monkeypatch.setattr(
            file_sync, "read_source", lambda source: read.append(source.path) or real(source)
        )
        return read

    def test_only_what_changed_is_read(
        self, empty_index: Index, two_notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run(empty_index)
        time.sleep(0.15)
        run(empty_index)
        read = self.read(monkeypatch)
        report = run(empty_index)
        assert (counts(report), report.files, read) == ((0, 0, 3, 0), 2, [])
        (two_notes / "b.txt").write_text("Other.\n")
        (two_notes / "c.md").write_text("New.\n")
        assert counts(run(empty_index)) == (1, 1, 2, 0)
        assert read == ["notes/b.txt", "notes/c.md"]

    def test_what_could_not_be_read_is_named_each_time(
        self, empty_index: Index, two_notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (two_notes / "c.md").write_bytes(b"\xff")
        (two_notes / "d.md").write_text("---\na: b: c\n---\nx\n")
        first = run(empty_index)
        time.sleep(0.15)
        run(empty_index)
        read = self.read(monkeypatch)
        assert run(empty_index).skips == first.skips
        assert codes(first) == [("notes/c.md", "not_utf8"), ("notes/d.md", "bad_front_matter")]
        assert (read, first.files) == ([], 3)

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
        self, empty_index: Index, two_notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(index_run, "_LONGEST_QUEUE", 600)
        file = two_notes / "c.jsonl"
        lines = [json.dumps({"content": f"line {number}"}) + "\n" for number in range(2500)]
        file.write_text("".join(lines))
        assert counts(run(empty_index)) == (2503, 0, 0, 0)
        file.write_text("".join(lines[:1500]))
        assert counts(run(empty_index)) == (0, 0, 1503, 1000)
        assert empty_index.check() == []

    def test_a_kill_between_two_parts_leaves_the_file_to_be_read_again(
        self, empty_index: Index, two_notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(index_run, "_LONGEST_QUEUE", 600)
        lines = [json.dumps({"content": f"line {number}"}) + "\n" for number in range(2500)]
        (two_notes / "c.jsonl").write_text("".join(lines))
        written = []

        def sync_index(*args: object, **more: object) -> tuple[int, int, int, int]:
            written.append(1)
            if len(written) == 3:
                raise KeyboardInterrupt
            return real(*args, **more)

        real = index_target._sync_index
        with monkeypatch.context() as patch:
            patch.setattr(index_target, "_sync_index", sync_index)
            with pytest.raises(KeyboardInterrupt):
                run(empty_index)
        assert 0 < len(empty_index) < 2503
        report = run(empty_index)
        assert report.added + report.unchanged == len(empty_index) == 2503
