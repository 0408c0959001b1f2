"""Errors after a file was written say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from hedgerow import HedgerowError, IndexFileError, MemoryRoot
from memory_doubles import put

FULL = "index.db cannot grow (database or disk is full)"


def refuse(*_: Any, **__: Any) -> None:
    raise IndexFileError(FULL, code="index_unwritable")


@pytest.mark.parametrize(
    ("work", "written"),
    [
        (lambda root, digest: root.edit("hedge", "New.\n", digest), "notes/hedge.md"),
        (lambda root, _: root.retract("hedge"), "notes/hedge.md"),
        (lambda root, _: root.link("hedge", "door"), "notes/hedge.md"),
        (
            lambda root, _: root.supersede("hedge", by="door"),
            "notes/door.md, notes/hedge.md",
        ),
    ],
)
def test_the_error_of_an_index_names_the_written_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[MemoryRoot, str], object],
    written: str,
) -> None:
    put(tmp_path, "notes/hedge.md", "The plan.\n")
    put(tmp_path, "notes/door.md", "The door.\n")
    with MemoryRoot.open(tmp_path) as root:
        digest = root.show("hedge").digest
        with monkeypatch.context() as patch:
            patch.setattr("hedgerow.memory.sync.sync_written", refuse)
            with pytest.raises(IndexFileError) as raised:
                work(root, digest)
    assert raised.value.message == (
        f"{FULL}. Written before that: {written}. The next recall reads all changes."
    )


def test_the_error_of_an_index_after_an_import_counts_the_written_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "Slugs eat hostas."}\n{"text": "Ivy flowers."}\n')
    monkeypatch.setattr("hedgerow.memory.sync.sync", refuse)
    with MemoryRoot.init(tmp_path / "root") as root, pytest.raises(IndexFileError) as raised:
        root.import_from(tmp_path / "a.jsonl", "jsonl", apply=True)
    assert f"{FULL}. Written before that: 2 imported files." in raised.value.message
    assert len(list((tmp_path / "root" / "notes").iterdir())) == 2


@pytest.mark.usefixtures("here")
def test_an_import_that_cannot_write_a_memory_fails(here: Path) -> None:
    MemoryRoot.init(here / "memory").close()
    (here / "memory" / "findings").rmdir()
    (here / "memory" / "findings").write_text("a file")
    (here / "a.jsonl").write_text('{"text": "Slugs.", "type": "finding"}\n{"text": "Ivy."}\n')
    done = run("import", "jsonl", "a.jsonl", "--apply")
    assert done.exit_code == 1
    assert "2 memories: 1 new" not in done.stdout
    assert "1 memory could not be written; run the same command again to finish." in done.stderr


@pytest.mark.parametrize(
    "work",
    [
        lambda root: root.supersede("hedge", text="Cut it in March.", title="March"),
        lambda root: root.remember(
            "Cut the hedge in August.", title="March", on_duplicate="supersede"
        ),
    ],
)
def test_the_error_of_a_mark_names_the_new_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[MemoryRoot], object]
) -> None:
    put(tmp_path, "notes/hedge.md", "Cut the hedge in August.\n")

    def changed(*_: Any) -> None:
        raise HedgerowError("notes/hedge.md was changed", code="file_changed")

    monkeypatch.setattr("hedgerow.memory.remembering.supersede", changed)
    with MemoryRoot.open(tmp_path) as root:
        root.index()
        with pytest.raises(HedgerowError) as raised:
            work(root)
        [new] = [one.file for one in root.list().memories if one.title == "March"]
        assert root.validity("hedge").by == (new,)
    assert raised.value.message == (
        f"notes/hedge.md was changed. Written before that: {new}. The next recall reads all changes."
    )
