"""Files that are no text, and exports that are no archive: named, and left alone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.memory import files
from hedgerow.memory.imports.item import time_from


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
