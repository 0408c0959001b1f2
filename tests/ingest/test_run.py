"""Runs over an index: written chunks, deletions, and interrupted runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow import Chunk, Filters, Index
from hedgerow.ingest import IndexRun, discover
from ingest_runs import codes, counts, ids, run

pytestmark = pytest.mark.usefixtures("two_notes")


class TestDifferences:
    def test_a_first_run_adds_everything(self, empty_index: Index) -> None:
        report = run(empty_index)
        assert counts(report) == (3, 0, 0, 0)
        assert (report.files, report.total_files, report.skips) == (2, 2, [])
        assert ids(empty_index) == ["notes/a.md#0", "notes/a.md#1", "notes/b.txt#0"]

    def test_a_second_run_writes_nothing(self, empty_index: Index) -> None:
        run(empty_index)
        assert counts(run(empty_index)) == (0, 0, 3, 0)

    def test_a_changed_section_is_replaced(self, empty_index: Index, two_notes: Path) -> None:
        run(empty_index)
        (two_notes / "a.md").write_text("# A\n\nFirst.\n\n# B\n\nOther.\n")
        assert counts(run(empty_index)) == (0, 1, 2, 0)
        assert empty_index.search_bm25("second") == []
        assert [hit.id for hit in empty_index.search_bm25("other")] == ["notes/a.md#1"]

    def test_a_vanished_section_goes(self, empty_index: Index, two_notes: Path) -> None:
        run(empty_index)
        (two_notes / "a.md").write_text("# A\n\nFirst.\n")
        report = run(empty_index)
        assert counts(report) == (0, 0, 2, 1)
        assert report.removed_files == 0
        assert ids(empty_index) == ["notes/a.md#0", "notes/b.txt#0"]

    def test_a_removed_file_goes(self, empty_index: Index, two_notes: Path) -> None:
        run(empty_index)
        (two_notes / "a.md").unlink()
        report = run(empty_index)
        assert counts(report) == (0, 0, 1, 2)
        assert report.removed_files == 1
        assert ids(empty_index) == ["notes/b.txt#0"]

    def test_a_removed_folder_goes_with_the_one_above_it(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        (two_notes / "sub").mkdir()
        (two_notes / "sub" / "c.md").write_text("x")
        run(empty_index)
        (two_notes / "sub" / "c.md").unlink()
        (two_notes / "sub").rmdir()
        assert run(empty_index).removed == 1

    def test_a_file_that_became_empty_goes_and_is_named(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        run(empty_index)
        (two_notes / "b.txt").write_text("")
        report = run(empty_index)
        assert counts(report) == (0, 0, 2, 1)
        assert codes(report) == [("notes/b.txt", "empty")]

    def test_other_folders_and_chunks_of_other_origin_stay(
        self, empty_index: Index, two_notes: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "notes-2").mkdir()
        (tmp_path / "notes-2" / "c.md").write_text("x")
        empty_index.upsert([Chunk("mine", "notes/mine.md", "Upserted by hand.")])
        run(empty_index, "notes", "notes-2")
        (two_notes / "a.md").unlink()
        run(empty_index, "notes")
        assert ids(empty_index) == ["mine", "notes-2/c.md#0", "notes/b.txt#0"]

    def test_a_file_indexed_by_name_stays_though_its_folder_passes_it_by(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        (two_notes / "x.cfg").write_text("setting")
        run(empty_index, "notes/x.cfg")
        run(empty_index)
        assert "notes/x.cfg#0" in ids(empty_index)


class TestEmbeddings:
    def test_a_vector_in_json_lines_is_searched(self, empty_index: Index, two_notes: Path) -> None:
        lines = ['{"id": "n", "content": "north", "embedding": [0, 1]}']
        lines.append('{"id": "e", "content": "east", "embedding": [2, 0]}')
        lines.append('{"id": "w", "content": "no vector"}')
        (two_notes / "v.jsonl").write_text("\n".join(lines))
        report = run(empty_index, two_notes / "v.jsonl")
        assert (report.added, report.skips) == (3, [])
        assert [hit.id for hit in empty_index.search_vector([1.0, 0.1])] == ["e", "n"]

    def test_one_of_another_length_is_refused_by_name(
        self, empty_index: Index, two_notes: Path
    ) -> None:
        lines = [f'{{"content": "x", "embedding": {one}}}' for one in ("[0, 1]", "[1]", "[1, 0]")]
        (two_notes / "v.jsonl").write_text("\n".join(lines))
        report = run(empty_index, two_notes / "v.jsonl")
        assert report.added == 2
        assert [(skip.code, skip.line) for skip in report.skips] == [("refused", 2)]
        assert "dimension" in report.skips[0].reason


def test_front_matter_can_be_filtered_by(empty_index: Index, two_notes: Path) -> None:
    (two_notes / "c.md").write_text("---\nyear: 2025\nday: 2025-03-04\ntags: [x]\n---\nfirst\n")
    run(empty_index)
    for filters in (
        Filters(metadata={"year": 2025}),
        Filters(metadata={"day": "2025-03-04"}),
        Filters(tags=["x"]),
        Filters(path_prefix="notes/c"),
    ):
        assert [hit.path for hit in empty_index.search_bm25("first", filters=filters)] == [
            "notes/c.md"
        ]


def test_progress_is_told_after_each_file(empty_index: Index) -> None:
    seen: list[tuple[int, int]] = []
    IndexRun(empty_index, discover(["notes"])).run(lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_a_stopped_run_leaves_whole_files_and_the_next_one_finishes(
    empty_index: Index, two_notes: Path
) -> None:
    for number in range(300):
        (two_notes / f"n{number:03}.md").write_text("# One\n\nx\n\n# Two\n\ny\n\n# Three\n\nz\n")

    def stop(done: int, _total: int) -> None:
        if done == 250:
            raise KeyboardInterrupt

    stopped = IndexRun(empty_index, discover(["notes"]))
    with pytest.raises(KeyboardInterrupt):
        stopped.run(stop)
    assert 0 < len(empty_index) < 903
    assert stopped.report.added == len(empty_index)
    of_files: dict[str, int] = {}
    for chunk in empty_index.chunks():
        of_files[chunk.path] = of_files.get(chunk.path, 0) + 1
    assert all(count == 3 for path, count in of_files.items() if Path(path).name[0] == "n")
    report = run(empty_index)
    assert report.added + report.unchanged == len(empty_index) == 903
