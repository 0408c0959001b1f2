"""Files that are not text and exports that are not archives are reported and left alone."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.memory import files
from hedgerow.memory.config import read_config
from hedgerow.memory.derived import Derived
from hedgerow.memory.imports.exports import time_from


@pytest.fixture
def fresh_root(tmp_path: Path) -> hr.MemoryRoot:
    return hr.MemoryRoot.init(tmp_path / "memory")


def test_a_page_that_is_no_text_is_not_written_over(fresh_root: hr.MemoryRoot) -> None:
    fresh_root.remember("Beer traps took forty slugs.", title="Beer")
    page = fresh_root.path / "pages" / "slugs.md"
    page.write_bytes(b"\xff\xfe")
    with pytest.raises(hr.HedgerowError, match=r"slugs\.md is in the way: .*; move it elsewhere"):
        fresh_root.process("synthesize", topic="slugs", apply=True)
    assert page.read_bytes() == b"\xff\xfe"


@pytest.mark.parametrize("kind", ["chatgpt", "claude"])
def test_an_export_that_is_no_archive_is_refused(
    fresh_root: hr.MemoryRoot, tmp_path: Path, kind: str
) -> None:
    export = tmp_path / "export.zip"
    with zipfile.ZipFile(export, "w") as archive:
        archive.writestr("conversations.json", "[]  ")
    export.write_bytes(export.read_bytes().replace(b"[]  ", b"[]]]"))
    with pytest.raises(hr.HedgerowError, match="it is no ZIP archive that can be read"):
        fresh_root.import_from(export, kind)


def test_a_name_that_is_always_taken_is_refused(
    fresh_root: hr.MemoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "write_new", lambda *_: False)
    with pytest.raises(hr.HedgerowError, match="give the memory another title"):
        fresh_root.remember("Once more.", title="Taken")


@pytest.mark.parametrize("value", [True, 1e300, float("nan"), -1e18, "soon", None])
def test_what_is_no_time_is_none(value: object) -> None:
    assert time_from(value) is None


def test_a_control_character_in_a_topic_does_not_make_the_page_binary(
    fresh_root: hr.MemoryRoot,
) -> None:
    fresh_root.remember("Beer traps took forty slugs.", title="Beer")
    done = fresh_root.process("synthesize", topic="slugs\0 \x1b", apply=True)
    assert (done.topic, done.files) == ("slugs", ("pages/slugs.md",))
    assert not fresh_root.sync().skips


@pytest.mark.skipif(os.name == "nt", reason="no file there has such a name")
def test_the_path_of_a_source_does_not_end_the_generated_part(fresh_root: hr.MemoryRoot) -> None:
    source = fresh_root.path / "notes" / "<!-- hedgerow:end -->.md"
    source.write_text("Slugs like beer.\n")
    pages = []
    for _ in range(2):
        done = fresh_root.process("synthesize", topic="slugs", apply=True)
        text = (fresh_root.path / done.files[0]).read_text()
        pages.append(text[text.index("<!-- hedgerow:begin -->") :])
    assert pages[0] == pages[1]
    assert "`notes/&lt;!-- hedgerow:end -->.md`" in pages[0]


@pytest.mark.parametrize("offset", [-1, True, "2"])
def test_an_offset_that_is_none_is_refused(fresh_root: hr.MemoryRoot, offset: int) -> None:
    with pytest.raises(hr.InvalidInputError, match="offset must be an integer of at least 0"):
        fresh_root.list(offset=offset)


def test_half_of_a_surrogate_pair_in_a_reason_is_named(fresh_root: hr.MemoryRoot) -> None:
    done = fresh_root.remember("Beer traps took forty slugs.", title="Beer")
    with pytest.raises(hr.InvalidInputError, match="reason has half of a surrogate pair"):
        fresh_root.retract(done.file, "\ud800")


def test_an_indexed_folder_on_another_drive_is_named_by_its_path(
    fresh_root: hr.MemoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    derived = Derived.of(read_config(fresh_root.path))
    monkeypatch.setattr("os.path.relpath", refuse)
    assert derived.index_scope.startswith(f"{fresh_root.path.as_posix()} ")


def test_words_are_no_flags(fresh_root: hr.MemoryRoot, tmp_path: Path) -> None:
    """Words are rejected, because a string such as "no" is true."""
    kept = fresh_root.remember("Beer traps took forty slugs.", title="Beer").file
    calls = [
        lambda: fresh_root.forget("Beer", purge="no"),  # type: ignore[arg-type]
        lambda: fresh_root.process("dedupe", apply="false"),  # type: ignore[arg-type]
        lambda: fresh_root.import_from(tmp_path, "jsonl", apply="no"),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(
            hr.InvalidInputError, match=r"must be (T|t)rue or (F|f)alse, not '(no|false)'"
        ):
            call()
    assert (fresh_root.path / kept).exists()
