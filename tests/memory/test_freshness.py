"""Every file is read in its current state: checked before each recall, without a lock."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Index
from hedgerow._engine import _Ledger
from hedgerow.ingest.source import list_folder
from hedgerow.memory import MemoryRoot
from hedgerow.memory.config import read_config
from hedgerow.memory.derived import Derived
from hedgerow.memory.documents import memory_rules
from hedgerow.memory.root_files import FileCheck
from memory_doubles import put

FOLDERS = ["a", ".hidden", "node_modules", "x.md", "Ünï", "deep/er", "__pycache__/b"]
NAMES = ["a.md", "B.MD", "c.txt", ".d.md", "CACHEDIR.TAG", "pyvenv.cfg", "é.mD", "md", "K.md"]
PATHS = st.tuples(st.sampled_from(["", *FOLDERS]), st.sampled_from(NAMES))
OLD = 0.15
"""Seconds after which a change of a file is visible in its file status."""


def fill(folder: str, paths: set[tuple[str, str]]) -> None:
    for path in paths:
        file = Path(folder, *path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")


def is_fresh(folder: str) -> bool:
    derived = Derived.of(read_config(Path(folder)))
    with Index.open(derived.index, read_only=True) as index:
        ledger = _Ledger(index, derived.index_scope, False)
        return FileCheck(watch=False).look(derived, ledger).skips is not None


def listed(folder: str) -> dict[str, str]:
    return list_folder(folder, memory_rules()).files


@settings(max_examples=30)
@given(st.sets(PATHS), PATHS)
def test_a_file_that_is_read_makes_the_index_stale(
    paths: set[tuple[str, str]], other: tuple[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryRoot.open(folder) as root:
        fill(folder, paths)
        time.sleep(OLD)
        root.sync()
        assert is_fresh(folder)
        before = listed(folder)
        fill(folder, {other})
        assert is_fresh(folder) == (listed(folder) == before)


def test_a_recall_reads_what_a_person_wrote(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "hedge\n")
    os.utime(tmp_path / "a.md", (1, 1))
    with MemoryRoot.open(tmp_path) as root:
        assert len(root.recall("hedge")) == 1
        put(tmp_path, "b.md", "hedge\n")
        assert len(root.recall("hedge")) == 2
        put(tmp_path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["b.md"]}')
        assert len(root.recall("hedge")) == 1
