"""Chunks that a run must keep in an index, and the ids of chunks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hedgerow import Chunk, Index, InvalidInputError
from hedgerow.ingest import IndexRun, discover
from ingest_runs import codes, counts, ids, run

posix = pytest.mark.skipif(sys.platform == "win32", reason="names and links of POSIX")
pytestmark = pytest.mark.usefixtures("two_notes")


class TestFailedIsNotGone:
    def test_an_unreadable_file_keeps_what_the_index_had(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        run(empty_index)
        (two_notes / "a.md").write_bytes(b"\xff\xfe bad")
        report = run(empty_index)
        assert codes(report) == [("notes/a.md", "not_utf8")]
        assert report.removed == 0
        assert "notes/a.md#1" in ids(empty_index)

    @posix
    def test_so_does_one_behind_a_broken_link(self, empty_index: Index, two_notes: Path) -> None:
        target = two_notes.parent / "target.md"
        target.write_text("x")
        (two_notes / "c.md").symlink_to(target)
        run(empty_index, "notes/c.md")
        target.unlink()
        assert run(empty_index, "notes/c.md").removed == 0
        assert "notes/c.md#0" in ids(empty_index)

    @posix
    @pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may all")
    def test_so_does_one_that_may_not_be_looked_at(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        run(empty_index)
        before = ids(empty_index)
        two_notes.chmod(0o444)  # it can be listed, but not entered
        try:
            report = run(empty_index)
        finally:
            two_notes.chmod(0o755)
        assert {skip.reason for skip in report.skips} == {"permission denied; make it readable"}
        assert (report.removed, report.removed_files) == (0, 0)
        assert ids(empty_index) == before
        (two_notes / "a.md").unlink()
        assert run(empty_index).removed_files == 1

    def test_bad_lines_remove_nothing(self, empty_index: Index, two_notes: Path) -> None:
        file = two_notes / "c.jsonl"
        file.write_text('{"content": "one"}\n{"content": "two"}\n')
        run(empty_index)
        file.write_text('{"content": "one"}\n{"content": "tw\n')
        report = run(empty_index)
        assert codes(report) == [("notes/c.jsonl", "bad_line")]
        assert report.removed == 0
        file.write_text('{"content": "one"}\n')
        assert run(empty_index).removed == 1

    def test_a_folder_that_has_lost_everything_may_not_be_mounted(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        run(empty_index)
        two_notes.rename(two_notes.parent / "away")
        two_notes.mkdir()
        (two_notes / "other.png").write_bytes(b"x")
        with pytest.raises(
            InvalidInputError, match=r"notes: nothing .* 2 files .* allow_empty=True"
        ):
            run(empty_index)
        (two_notes.parent / "more").mkdir()
        (two_notes.parent / "more" / "c.md").write_text("x")
        with pytest.raises(InvalidInputError) as raised:
            run(empty_index, "more", "notes")
        assert raised.value.code == "nothing_found"
        assert len(empty_index) == 3
        report = IndexRun(empty_index, discover(["notes"]), allow_empty=True).run()
        assert (report.removed, report.removed_files, len(empty_index)) == (3, 2, 0)

    def test_a_missing_path_changes_nothing(self, empty_index: Index) -> None:
        run(empty_index)
        with pytest.raises(InvalidInputError, match="no such file or folder"):
            run(empty_index, "notes", "nots")
        assert len(empty_index) == 3


class TestNames:
    def test_another_spelling_of_a_path_makes_no_second_copy(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        run(empty_index)
        report = run(empty_index, two_notes)
        assert counts(report) == (3, 0, 0, 3)
        assert ids(empty_index) == [
            f"{two_notes.as_posix()}/{name}" for name in ("a.md#0", "a.md#1", "b.txt#0")
        ]

    def test_two_folders_under_one_name_do_not_overwrite_each_other(
        self, empty_index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "x.md").write_text(f"text {name}")
        monkeypatch.chdir(tmp_path / "one")
        run(empty_index, ".")
        monkeypatch.chdir(tmp_path / "two")
        report = run(empty_index, ".")
        assert codes(report) == [("x.md", "path_taken")]
        assert str(tmp_path / "two" / "x.md") in report.skips[0].reason
        assert [chunk.content for chunk in empty_index.chunks()] == ["text one"]
        assert run(empty_index, tmp_path / "two").added == 1

    def test_a_moved_folder_takes_its_names_along(
        self, empty_index: Index, two_notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run(empty_index)
        (tmp_path / "elsewhere").mkdir()
        two_notes.rename(tmp_path / "elsewhere" / "notes")
        monkeypatch.chdir(tmp_path / "elsewhere")
        report = run(empty_index)
        assert (report.added, report.changed, report.removed, report.skips) == (0, 3, 0, [])

    def test_an_id_used_twice_is_named(self, empty_index: Index, two_notes: Path) -> None:
        (two_notes / "c.jsonl").write_text(
            '{"id": "same", "content": "one"}\n{"id": "same", "content": "two"}\n'
        )
        report = run(empty_index)
        assert [str(skip) for skip in report.skips] == [
            'notes/c.jsonl:2: the id "same" is used twice; make it unique'
        ]
        chunk = empty_index.get("same")
        assert chunk is not None
        assert chunk.content == "one"

    def test_an_id_of_another_origin_is_left_alone(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        empty_index.upsert([Chunk("mine", "p", "by hand")])
        (two_notes / "c.jsonl").write_text('{"id": "mine", "content": "one"}\n')
        report = run(empty_index)
        assert codes(report) == [("notes/c.jsonl", "bad_line")]
        assert "not made from files" in report.skips[0].reason
        chunk = empty_index.get("mine")
        assert chunk is not None
        assert chunk.content == "by hand"

    def test_an_id_may_move_to_another_line(self, empty_index: Index, two_notes: Path) -> None:
        file = two_notes / "c.jsonl"
        file.write_text('{"id": "x", "content": "one"}\n{"id": "y", "content": "two"}\n')
        run(empty_index)
        file.write_text('{"id": "y", "content": "two"}\n{"id": "x", "content": "one"}\n')
        report = run(empty_index)
        assert (report.changed, report.removed, report.skips) == (2, 0, [])
