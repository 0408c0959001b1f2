"""Whether nothing has changed: as the engine sees it, which has to be what a listing says."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow._engine import _KnownFiles
from hedgerow.ingest.discovery import list_folder
from hedgerow.memory import MemoryRoot, freshness
from hedgerow.memory.documents import memory_rules
from memory_doubles import put

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="asked of POSIX systems alone")

FOLDERS = ["a", ".hidden", "node_modules", "x.md", "Ünï", "deep/er", "__pycache__/b"]
NAMES = ["a.md", "B.MD", "c.txt", ".d.md", "CACHEDIR.TAG", "pyvenv.cfg", "é.mD", "md", "K.md"]
EXCLUDED = ["a", "deep/er/B.MD"]
PATHS = st.builds("/".join, st.tuples(st.sampled_from(["", *FOLDERS]), st.sampled_from(NAMES)))


def filled(folder: str, paths: set[str]) -> None:
    for path in paths:
        file = Path(folder, path.lstrip("/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")


@given(st.sets(PATHS), PATHS)
def test_it_is_what_a_listing_says(paths: set[str], other: str) -> None:
    rules = memory_rules([f"/{path}" for path in EXCLUDED])
    with tempfile.TemporaryDirectory() as folder:
        filled(folder, paths)
        found = list_folder(folder, rules).files
        known = _KnownFiles(list(found.items()))
        assert known.are_all_below(folder, ".md", EXCLUDED)
        filled(folder, {other})
        now = list_folder(folder, rules).files
        assert known.are_all_below(folder, ".md", EXCLUDED) == (now == found)
        assert _KnownFiles(list(now.items())).are_all_below(folder, ".md", EXCLUDED)
        for path in now:
            without = [(one, sign) for one, sign in now.items() if one != path]
            assert not _KnownFiles(without).are_all_below(folder, ".md", EXCLUDED)
            assert not _KnownFiles([*without, (path, "1.2.3.4")]).are_all_below(
                folder, ".md", EXCLUDED
            )
        assert not _KnownFiles([*now.items(), ("gone.md", "1.2.3.4")]).are_all_below(
            folder, ".md", EXCLUDED
        )


def test_links_are_none_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "folder").symlink_to(tmp_path)
    files = list_folder(str(tmp_path), memory_rules()).files
    assert list(files) == ["a.md"]
    assert _KnownFiles(list(files.items())).are_all_below(tmp_path, ".md", [])


@pytest.mark.parametrize("name", ["nul\n.md", "b\udcff.md"])
def test_what_cannot_be_read_is_left_to_a_listing(tmp_path: Path, name: str) -> None:
    try:
        Path(tmp_path, name).write_text("x")
    except OSError:
        pytest.skip("the file system has no such names")
    assert not _KnownFiles([]).are_all_below(tmp_path, ".md", [])


def test_a_pipe_is_left_to_a_listing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert not _KnownFiles([]).are_all_below(tmp_path, ".md", [])


def test_an_unchanged_root_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.md", "hedge\n")
    os.utime(tmp_path / "a.md", (1, 1))
    listed: list[str] = []

    def listing(folder: str, *options: object, **more: object) -> object:
        listed.append(folder)
        return list_folder(folder, *options, **more)  # type: ignore[arg-type]

    with MemoryRoot.open(tmp_path) as root:
        root.sync()
        monkeypatch.setattr("hedgerow.ingest.ledger._TICK", -(10**18))
        put(tmp_path, "a.md", "hedge!\n")
        root.sync()
        monkeypatch.setattr(freshness, "list_folder", listing)
        assert len(root.recall("hedge")) == 1
        assert listed == []
        put(tmp_path, "b.md", "hedge\n")
        assert len(root.recall("hedge")) == 2
        assert listed == [str(tmp_path)]
        put(tmp_path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["b.md"]}')
        assert len(root.recall("hedge")) == 1
