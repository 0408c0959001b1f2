"""An index file is replaced at any moment while threads search and write it."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

import hedgerow as hr
from faults import Rounds
from waiting import LONGEST

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps open files in place")

COUNT = 30


def make(path: Path, name: str) -> Path:
    with hr.Index.open(path) as index:
        index.upsert(
            hr.Chunk(f"{name}-{n}", f"{name}.md", f"winter {name} {n}", embedding=[1.0, n])
            for n in range(COUNT)
        )
    return path


def use(index: hr.Index, work: str, outcomes: list[str]) -> None:
    """Call until the replaced file is detected."""
    try:
        for n in range(sys.maxsize):
            if work == "write":
                index.upsert([hr.Chunk("old-0", "old.md", f"winter {n}", embedding=[1.0, 0.0])])
                continue
            hits = (
                index.search_bm25("winter", 100)
                if work == "keywords"
                else index.search_vector([1.0, 0.0], 100)
            )
            if len(hits) != COUNT or {hit.path for hit in hits} != {"old.md"}:
                outcomes.append(f"{work}: {sorted(hit.id for hit in hits)}")
                return
    except hr.IndexFileError as error:
        outcomes.append(error.code)


@pytest.mark.parametrize("replace", [os.replace, shutil.copyfile])
def test_no_answer_is_of_two_files(replace, tmp_path: Path, rounds: Rounds) -> None:
    for chance in rounds.at_least(4):
        folder = tmp_path / str(rounds.done)
        folder.mkdir()
        path, other = make(folder / "index.db", "old"), make(folder / "other.db", "new")
        outcomes: list[str] = []
        works = [chance.choice(["keywords", "vectors", "write"]) for _ in range(4)]
        with hr.Index.open(path, ranking=chance.choice(["memory", "fts5"])) as index:
            threads = [threading.Thread(target=use, args=(index, w, outcomes)) for w in works]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0, 0.05))
            replace(other, path)
            for thread in threads:
                thread.join(LONGEST)
        # The remaining log belongs to the old file, and opening reports it.
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        expected = {"index_replaced"}
        if replace is shutil.copyfile and is_mixed(path):
            expected |= {"index_damaged", "not_an_index"}
            replace(other, path)
        assert len(outcomes) == len(works)
        assert expected.issuperset(outcomes), outcomes
        with hr.Index.open(path) as index:
            found = {hit.path for hit in index.search_bm25("winter", 100)}
            assert (index.check(), found) == ([], {"new.md"})
        shutil.rmtree(folder)


def is_mixed(path: Path) -> bool:
    """Whether a running checkpoint wrote old pages into the new file."""
    try:
        with hr.Index.open(path) as index:
            return index.check() != []
    except hr.IndexFileError:
        return True
