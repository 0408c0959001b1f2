"""The writers of a memory: stated, extended by edits, and used as a filter."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.memory.edit import with_writer, writers_of
from memory_doubles import put

SECTIONS = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")
WRAPUP = "\n".join(f"## {name}\n\nNone captured." for name in SECTIONS)


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    return MemoryRoot.init(tmp_path)


def text(root: MemoryRoot, file: str) -> str:
    return (root.path / file).read_text(encoding="utf-8")


def test_whatever_is_written_states_its_writer(root: MemoryRoot) -> None:
    done = root.remember("Cut in March.", title="Cutting", written_by="codex/s1")
    assert 'tags: []\nwritten_by: "codex/s1"\n---\n' in text(root, done.file)
    new = root.supersede("Cutting", text="Cut in August.", title="New", written_by="ana").written
    assert new is not None
    assert 'written_by: "ana"\nsupersedes: ["[[' in text(root, new)
    done_wrapup = root.wrapup(WRAPUP, title="Evening", written_by="小明")
    assert 'written_by: "小明"\n' in text(root, done_wrapup.file)


def test_an_edit_adds_a_writer(root: MemoryRoot) -> None:
    file = root.remember("Cut in March.", title="Cutting", written_by="codex").file
    for name in ("ana", "codex", "ana"):
        digest = root.show(file).digest
        root.edit(file, f"By {name}.", digest, append=True, written_by=name)
    read = root.show(file)
    assert 'written_by: ["codex","ana"]\n' in read.text
    assert read.text.count("updated_at") == 1
    assert 'updated_at: "2' in read.text
    created, updated = (
        next(line for line in read.text.splitlines() if line.startswith(name)).split()[1]
        for name in ("created_at", "updated_at")
    )
    assert updated > created


def test_an_edit_of_a_file_without_front_matter(tmp_path: Path) -> None:
    put(tmp_path, "notes/a.md", "\ufeffHedge\r\n")
    root = MemoryRoot.open(tmp_path)
    done = root.edit("a", "End", root.show("a").digest, append=True, written_by="ana")
    expected = '\ufeff---\r\nwritten_by: ["ana"]\r\n---\r\nHedge\r\n\r\nEnd\r\n'
    assert (tmp_path / "notes/a.md").read_bytes().decode() == expected
    assert done.digest == root.show("a").digest


def test_front_matter_that_cannot_be_edited_stops_the_edit(tmp_path: Path) -> None:
    put(tmp_path, "notes/a.md", "---\na: [\n---\nHedge\n")
    root = MemoryRoot.open(tmp_path)
    with pytest.raises(HedgerowError) as raised:
        root.edit("a", "End", root.show("a").digest, append=True, written_by="ana")
    assert raised.value.code == "invalid_front_matter"
    assert "End" not in root.show("a").text


@pytest.mark.parametrize("name", ["", "  ", "/", "#", "x" * 201])
def test_a_name_of_nobody(root: MemoryRoot, name: str) -> None:
    with pytest.raises(InvalidInputError, match="written_by must be a name of 1 to 200 characters"):
        root.remember("x", title="X", written_by=name)
    assert list((root.path / "notes").iterdir()) == []


def test_a_name_is_one_line(root: MemoryRoot) -> None:
    done = root.remember("x", title="X", written_by=" an\x1b[1ma\nb ")
    assert 'written_by: "an [1ma b"' in text(root, done.file)


def test_recall_and_list_by_writers(root: MemoryRoot) -> None:
    root.remember("Cut the hedge in March.", title="A", written_by="Codex/s1/mcp")
    root.remember("The hedge is of hawthorn.", title="B", written_by="ana")
    put(root.path, "notes/c.md", '---\nwritten_by: [codexes, "小明"]\n---\nhedge\n')
    put(root.path, "notes/d.md", "hedge\n")

    def found(*writers: str) -> list[str]:
        recalled = {one.file for one in root.recall("hedge", written_by=writers)}
        assert {one.file for one in root.list(written_by=writers).memories} == recalled
        return sorted(file.rpartition("-")[2] for file in recalled)

    assert found("codex") == ["a.md"]
    assert found("codex/S1") == ["a.md"]
    assert found("codex", "ana") == ["a.md", "b.md"]
    assert found("小明") == ["notes/c.md"]
    assert found("cod") == []
    assert root.recall("hedge", written_by=["ana"]).left_out == {"filtered": 3}
    assert len(root.context("hedge", written_by=["ana"]).passages) == 1
    assert len(root.recall("hedge")) == 4


def test_what_front_matter_states() -> None:
    assert writers_of({}) == []
    assert writers_of({"written_by": "ana\n"}) == ["ana"]
    assert writers_of({"written_by": ["ana", 7, "", None, "b"]}) == ["ana", "b"]
    assert "\nwritten_by: " in with_writer("---\na: 1\n---\nx", "x.md", "ana")
