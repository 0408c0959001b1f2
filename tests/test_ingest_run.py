"""Runs over an index: what is written, what goes, and what must stay."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from hedgerow import Chunk, Filters, Index, InvalidInputError
from hedgerow.ingest import IndexRun, Rules, RunReport, discover, index_run, index_target
from hedgerow.ingest import sync as file_sync
from index_doubles import without_ledger

posix = pytest.mark.skipif(sys.platform == "win32", reason="names and links of POSIX")


@pytest.fixture
def index() -> Index:
    return Index.in_memory()


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `notes` with two files in the current directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nFirst.\n\n# B\n\nSecond.\n")
    (folder / "b.txt").write_text("Third.\n")
    return folder


def run(index: Index, *paths: object) -> RunReport:
    return IndexRun(index, discover([str(path) for path in paths or ["notes"]])).run()


def counts(report: RunReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.removed


def ids(index: Index) -> list[str]:
    return sorted(chunk.id for chunk in index.chunks())


def codes(report: RunReport) -> list[tuple[str, str]]:
    return [(skip.path, skip.code) for skip in report.skips]


class TestDifferences:
    def test_a_first_run_adds_everything(self, index: Index) -> None:
        report = run(index)
        assert counts(report) == (3, 0, 0, 0)
        assert (report.files, report.total_files, report.skips) == (2, 2, [])
        assert ids(index) == ["notes/a.md#0", "notes/a.md#1", "notes/b.txt#0"]

    def test_a_second_run_writes_nothing(self, index: Index) -> None:
        run(index)
        assert counts(run(index)) == (0, 0, 3, 0)

    def test_a_changed_section_is_replaced(self, index: Index, notes: Path) -> None:
        run(index)
        (notes / "a.md").write_text("# A\n\nFirst.\n\n# B\n\nOther.\n")
        assert counts(run(index)) == (0, 1, 2, 0)
        assert index.search_bm25("second") == []
        assert [hit.id for hit in index.search_bm25("other")] == ["notes/a.md#1"]

    def test_a_vanished_section_goes(self, index: Index, notes: Path) -> None:
        run(index)
        (notes / "a.md").write_text("# A\n\nFirst.\n")
        report = run(index)
        assert counts(report) == (0, 0, 2, 1)
        assert report.removed_files == 0
        assert ids(index) == ["notes/a.md#0", "notes/b.txt#0"]

    def test_a_removed_file_goes(self, index: Index, notes: Path) -> None:
        run(index)
        (notes / "a.md").unlink()
        report = run(index)
        assert counts(report) == (0, 0, 1, 2)
        assert report.removed_files == 1
        assert ids(index) == ["notes/b.txt#0"]

    def test_a_removed_folder_goes_with_the_one_above_it(self, index: Index, notes: Path) -> None:
        (notes / "sub").mkdir()
        (notes / "sub" / "c.md").write_text("x")
        run(index)
        (notes / "sub" / "c.md").unlink()
        (notes / "sub").rmdir()
        assert run(index).removed == 1

    def test_a_file_that_became_empty_goes_and_is_named(self, index: Index, notes: Path) -> None:
        run(index)
        (notes / "b.txt").write_text("")
        report = run(index)
        assert counts(report) == (0, 0, 2, 1)
        assert codes(report) == [("notes/b.txt", "empty")]

    def test_other_folders_and_chunks_of_other_origin_stay(
        self, index: Index, notes: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "notes-2").mkdir()
        (tmp_path / "notes-2" / "c.md").write_text("x")
        index.upsert([Chunk("mine", "notes/mine.md", "Upserted by hand.")])
        run(index, "notes", "notes-2")
        (notes / "a.md").unlink()
        run(index, "notes")
        assert ids(index) == ["mine", "notes-2/c.md#0", "notes/b.txt#0"]

    def test_a_file_indexed_by_name_stays_though_its_folder_passes_it_by(
        self, index: Index, notes: Path
    ) -> None:
        (notes / "x.cfg").write_text("setting")
        run(index, "notes/x.cfg")
        run(index)
        assert "notes/x.cfg#0" in ids(index)


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
        self, index: Index, notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run(index)
        time.sleep(0.15)
        run(index)
        read = self.read(monkeypatch)
        report = run(index)
        assert (counts(report), report.files, read) == ((0, 0, 3, 0), 2, [])
        (notes / "b.txt").write_text("Other.\n")
        (notes / "c.md").write_text("New.\n")
        assert counts(run(index)) == (1, 1, 2, 0)
        assert read == ["notes/b.txt", "notes/c.md"]

    def test_what_could_not_be_read_is_named_each_time(
        self, index: Index, notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (notes / "c.md").write_bytes(b"\xff")
        (notes / "d.md").write_text("---\na: b: c\n---\nx\n")
        first = run(index)
        time.sleep(0.15)
        run(index)
        read = self.read(monkeypatch)
        assert run(index).skips == first.skips
        assert codes(first) == [("notes/c.md", "not_utf8"), ("notes/d.md", "bad_front_matter")]
        assert (read, first.files) == ([], 3)

    def test_what_others_changed_is_read_again(self, index: Index) -> None:
        run(index)
        time.sleep(0.15)
        run(index)
        index.delete(["notes/a.md#1"])
        chunk = index.get("notes/b.txt#0")
        assert chunk is not None
        index.upsert([Chunk(chunk.id, chunk.path, "by hand", metadata=chunk.metadata)])
        assert counts(run(index)) == (1, 1, 1, 0)
        assert ids(index) == ["notes/a.md#0", "notes/a.md#1", "notes/b.txt#0"]

    def test_an_index_of_an_earlier_version_keeps_its_chunks_and_vectors(
        self, tmp_path: Path, notes: Path
    ) -> None:
        path = tmp_path / "i.db"
        with Index.open(path) as index:
            index.upsert([Chunk("mine", "notes/mine.md", "Upserted by hand.")])
            run(index)
            [first, *_] = (chunk for chunk in index.chunks() if chunk.path == "notes/a.md")
            index.upsert([first._with_embedding([1.0, 2.0])])
        without_ledger(path)
        (notes / "b.txt").unlink()
        with Index.open(path) as index:
            report = run(index)
            assert (counts(report), report.removed_files) == ((0, 0, 2, 1), 1)
            assert index.stats().vectors == 1
            assert ids(index) == ["mine", "notes/a.md#0", "notes/a.md#1"]

    def test_a_folder_that_is_excluded_goes(self, index: Index, notes: Path) -> None:
        (notes / "drafts").mkdir()
        (notes / "drafts" / "c.md").write_text("x")
        run(index)
        found = discover(["notes"], Rules(exclude=("drafts",)))
        report = IndexRun(index, found).run()
        assert (report.removed, report.removed_files) == (1, 1)

    def test_a_file_of_json_lines_may_be_written_in_parts(
        self, index: Index, notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(index_run, "_LONGEST_QUEUE", 600)
        file = notes / "c.jsonl"
        lines = [json.dumps({"content": f"line {number}"}) + "\n" for number in range(2500)]
        file.write_text("".join(lines))
        assert counts(run(index)) == (2503, 0, 0, 0)
        file.write_text("".join(lines[:1500]))
        assert counts(run(index)) == (0, 0, 1503, 1000)
        assert index.check() == []

    def test_a_kill_between_two_parts_leaves_the_file_to_be_read_again(
        self, index: Index, notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(index_run, "_LONGEST_QUEUE", 600)
        lines = [json.dumps({"content": f"line {number}"}) + "\n" for number in range(2500)]
        (notes / "c.jsonl").write_text("".join(lines))
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
                run(index)
        assert 0 < len(index) < 2503
        report = run(index)
        assert report.added + report.unchanged == len(index) == 2503


class TestEmbeddings:
    def test_a_vector_in_json_lines_is_searched(self, index: Index, notes: Path) -> None:
        lines = ['{"id": "n", "content": "north", "embedding": [0, 1]}']
        lines.append('{"id": "e", "content": "east", "embedding": [2, 0]}')
        lines.append('{"id": "w", "content": "no vector"}')
        (notes / "v.jsonl").write_text("\n".join(lines))
        report = run(index, notes / "v.jsonl")
        assert (report.added, report.skips) == (3, [])
        assert [hit.id for hit in index.search_vector([1.0, 0.1])] == ["e", "n"]

    def test_one_of_another_length_is_refused_by_name(self, index: Index, notes: Path) -> None:
        lines = [f'{{"content": "x", "embedding": {one}}}' for one in ("[0, 1]", "[1]", "[1, 0]")]
        (notes / "v.jsonl").write_text("\n".join(lines))
        report = run(index, notes / "v.jsonl")
        assert report.added == 2
        assert [(skip.code, skip.line) for skip in report.skips] == [("refused", 2)]
        assert "dimension" in report.skips[0].reason


class TestFailedIsNotGone:
    def test_an_unreadable_file_keeps_what_the_index_had(self, index: Index, notes: Path) -> None:
        run(index)
        (notes / "a.md").write_bytes(b"\xff\xfe bad")
        report = run(index)
        assert codes(report) == [("notes/a.md", "not_utf8")]
        assert report.removed == 0
        assert "notes/a.md#1" in ids(index)

    @posix
    def test_so_does_one_behind_a_broken_link(self, index: Index, notes: Path) -> None:
        target = notes.parent / "target.md"
        target.write_text("x")
        (notes / "c.md").symlink_to(target)
        run(index, "notes/c.md")
        target.unlink()
        assert run(index, "notes/c.md").removed == 0
        assert "notes/c.md#0" in ids(index)

    def test_bad_lines_remove_nothing(self, index: Index, notes: Path) -> None:
        file = notes / "c.jsonl"
        file.write_text('{"content": "one"}\n{"content": "two"}\n')
        run(index)
        file.write_text('{"content": "one"}\n{"content": "tw\n')
        report = run(index)
        assert codes(report) == [("notes/c.jsonl", "bad_line")]
        assert report.removed == 0
        file.write_text('{"content": "one"}\n')
        assert run(index).removed == 1

    def test_a_folder_that_has_lost_everything_may_not_be_mounted(
        self, index: Index, notes: Path
    ) -> None:
        run(index)
        notes.rename(notes.parent / "away")
        notes.mkdir()
        (notes / "other.png").write_bytes(b"x")
        with pytest.raises(InvalidInputError, match=r"notes: nothing .* 2 files .* --allow-empty"):
            run(index)
        (notes.parent / "more").mkdir()
        (notes.parent / "more" / "c.md").write_text("x")
        with pytest.raises(InvalidInputError) as raised:
            run(index, "more", "notes")
        assert raised.value.code == "nothing_found"
        assert len(index) == 3
        report = IndexRun(index, discover(["notes"]), allow_empty=True).run()
        assert (report.removed, report.removed_files, len(index)) == (3, 2, 0)

    def test_a_missing_path_changes_nothing(self, index: Index) -> None:
        run(index)
        with pytest.raises(InvalidInputError, match="no such file or folder"):
            run(index, "notes", "nots")
        assert len(index) == 3


class TestNames:
    def test_another_spelling_of_a_path_makes_no_second_copy(
        self, index: Index, notes: Path
    ) -> None:
        run(index)
        report = run(index, notes)
        assert counts(report) == (3, 0, 0, 3)
        assert ids(index) == [
            f"{notes.as_posix()}/{name}" for name in ("a.md#0", "a.md#1", "b.txt#0")
        ]

    def test_two_folders_under_one_name_do_not_overwrite_each_other(
        self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "x.md").write_text(f"text {name}")
        monkeypatch.chdir(tmp_path / "one")
        run(index, ".")
        monkeypatch.chdir(tmp_path / "two")
        report = run(index, ".")
        assert codes(report) == [("x.md", "path_taken")]
        assert str(tmp_path / "two" / "x.md") in report.skips[0].reason
        assert [chunk.content for chunk in index.chunks()] == ["text one"]
        assert run(index, tmp_path / "two").added == 1

    def test_a_moved_folder_takes_its_names_along(
        self, index: Index, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run(index)
        (tmp_path / "elsewhere").mkdir()
        notes.rename(tmp_path / "elsewhere" / "notes")
        monkeypatch.chdir(tmp_path / "elsewhere")
        report = run(index)
        assert (report.added, report.changed, report.removed, report.skips) == (0, 3, 0, [])

    def test_an_id_used_twice_is_named(self, index: Index, notes: Path) -> None:
        (notes / "c.jsonl").write_text(
            '{"id": "same", "content": "one"}\n{"id": "same", "content": "two"}\n'
        )
        report = run(index)
        assert [str(skip) for skip in report.skips] == [
            'notes/c.jsonl:2: the id "same" is used twice; make it unique'
        ]
        chunk = index.get("same")
        assert chunk is not None
        assert chunk.content == "one"

    def test_an_id_of_another_origin_is_left_alone(self, index: Index, notes: Path) -> None:
        index.upsert([Chunk("mine", "p", "by hand")])
        (notes / "c.jsonl").write_text('{"id": "mine", "content": "one"}\n')
        report = run(index)
        assert codes(report) == [("notes/c.jsonl", "bad_line")]
        assert "not made from files" in report.skips[0].reason
        chunk = index.get("mine")
        assert chunk is not None
        assert chunk.content == "by hand"

    def test_an_id_may_move_to_another_line(self, index: Index, notes: Path) -> None:
        file = notes / "c.jsonl"
        file.write_text('{"id": "x", "content": "one"}\n{"id": "y", "content": "two"}\n')
        run(index)
        file.write_text('{"id": "y", "content": "two"}\n{"id": "x", "content": "one"}\n')
        report = run(index)
        assert (report.changed, report.removed, report.skips) == (2, 0, [])


def test_front_matter_can_be_filtered_by(index: Index, notes: Path) -> None:
    (notes / "c.md").write_text("---\nyear: 2025\nday: 2025-03-04\ntags: [x]\n---\nfirst\n")
    run(index)
    for filters in (
        Filters(metadata={"year": 2025}),
        Filters(metadata={"day": "2025-03-04"}),
        Filters(tags=["x"]),
        Filters(path_prefix="notes/c"),
    ):
        assert [hit.path for hit in index.search_bm25("first", filters=filters)] == ["notes/c.md"]


def test_progress_is_told_after_each_file(index: Index) -> None:
    seen: list[tuple[int, int]] = []
    IndexRun(index, discover(["notes"])).run(lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_a_stopped_run_leaves_whole_files_and_the_next_one_finishes(
    index: Index, notes: Path
) -> None:
    for number in range(300):
        (notes / f"n{number:03}.md").write_text("# One\n\nx\n\n# Two\n\ny\n\n# Three\n\nz\n")

    def stop(done: int, _total: int) -> None:
        if done == 250:
            raise KeyboardInterrupt

    stopped = IndexRun(index, discover(["notes"]))
    with pytest.raises(KeyboardInterrupt):
        stopped.run(stop)
    assert 0 < len(index) < 903
    assert stopped.report.added == len(index)
    of_files: dict[str, int] = {}
    for chunk in index.chunks():
        of_files[chunk.path] = of_files.get(chunk.path, 0) + 1
    assert all(count == 3 for path, count in of_files.items() if Path(path).name[0] == "n")
    report = run(index)
    assert report.added + report.unchanged == len(index) == 903
