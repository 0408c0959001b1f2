"""`Index.sync_files`: like `hedgerow index`, on an open index."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import hedgerow as hr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "oak.md").write_text("# Oak\n\nAn oak.\n\n## Winter\n\nBare.\n")
    (folder / "elm.txt").write_text("An elm.")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    return folder


def test_it_reads_what_changed_and_says_what_it_did(empty_index: hr.Index, tree: Path) -> None:
    empty_index.upsert([hr.Chunk(id="own", path="own", content="kept")])
    report = empty_index.sync_files([tree])
    assert isinstance(report, hr.IndexReport)
    assert (report.files, report.added, report.ignored, report.embedded) == (2, 3, 1, None)
    assert [(one.path, one.code) for one in report.named] == [(str(tree / "photo.png"), "other")]
    (tree / "oak.md").write_text("# Oak\n\nA tall oak.\n")
    (tree / "elm.txt").unlink()
    report = empty_index.sync_files(str(tree))
    assert (report.changed, report.removed, report.removed_files) == (1, 2, 1)
    assert empty_index.get("own") is not None
    assert report.to_dict() == {
        "files": 1,
        "removedFiles": 1,
        "ignored": 1,
        "added": 0,
        "changed": 1,
        "unchanged": 0,
        "removed": 2,
        "skipped": [],
    }


def test_patterns(empty_index: hr.Index, tree: Path) -> None:
    (tree / ".hidden.md").write_text("Hidden.")
    empty_index.sync_files(tree, exclude=["*.txt"], include=[".hidden.md"])
    assert {Path(chunk.path).name for chunk in empty_index.chunks()} == {"oak.md", ".hidden.md"}


def test_new_chunks_are_embedded(empty_index: hr.Index, tree: Path) -> None:
    calls = []
    report = empty_index.sync_files(
        tree,
        embedder=lambda texts: [[1.0, len(text)] for text in texts],
        progress=lambda *numbers: calls.append(numbers),
    )
    assert report.embedded == empty_index.stats().vectors == 3
    assert report.to_dict()["embedded"] == 3
    assert calls[-1] == (3, 3)
    assert calls[0][1] == 2


def test_an_asynchronous_embedder_is_named(empty_index: hr.Index, tree: Path) -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return [[1.0] for _ in texts]

    with pytest.raises(hr.InvalidInputError, match="asynchronous, and sync_files cannot"):
        empty_index.sync_files(tree, embedder=embed)
    assert len(empty_index) == 0, "nothing is read for an embedder that cannot be asked"


def test_a_folder_without_files_is_an_error_unless_it_is_meant(
    empty_index: hr.Index, tree: Path
) -> None:
    empty_index.sync_files(tree)
    for file in tree.iterdir():
        file.unlink()
    with pytest.raises(hr.InvalidInputError) as caught:
        empty_index.sync_files(tree)
    assert caught.value.code == "nothing_found"
    assert empty_index.sync_files(tree, allow_empty=True).removed == 3


@pytest.mark.parametrize(
    ("paths", "options", "error", "message"),
    [
        ("nowhere", {}, hr.InvalidInputError, "nowhere: no such file or folder"),
        ("\ud800", {}, hr.InvalidInputError, r"^\\ud800: no such file or folder"),
        (5, {}, TypeError, "paths must be a path, or an iterable of paths, not int"),
        ([5], {}, TypeError, r"paths\[0\] must be a str or a path, not int"),
        (b"notes", {}, TypeError, "not bytes"),
        ([], {"exclude": "*.md"}, TypeError, "exclude must be a list of patterns, not one str"),
        ([], {"include": [5]}, TypeError, r"include\[0\] must be a str, not int"),
        ([], {"colour": 1}, TypeError, r"sync_files\(\) got an unexpected keyword .*'colour'"),
    ],
)
def test_what_is_wrong_is_named(empty_index, paths, options, error, message) -> None:
    with pytest.raises(error, match=message):
        empty_index.sync_files(paths, **options)
