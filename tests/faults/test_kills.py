"""A writer is killed at any moment: acknowledged writes are stored, and nothing is damaged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import hedgerow as hr
import histories
from faults import Rounds, killed, python
from histories import HISTORIES, WORDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL here")


@pytest.mark.parametrize("kind", ["index", "store"])
def test_all_that_was_acknowledged_is_there(rounds: Rounds, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "memory.db"
    for chance in rounds.at_least(6):
        seed = str(chance.random())
        expected = HISTORIES[kind](path, seed)
        told = killed(python(histories.__file__, kind, path, seed), chance, longest=0.3)
        assert told == [str(number) for number in range(len(told))]
        found = HISTORIES[kind](path, seed).read()
        assert found in expected.states(len(told) - 1)
        is_healthy(path)


def is_healthy(path: Path) -> None:
    """Check that nothing is damaged, both rankings agree, and the file can be written."""
    with (
        hr.Index.open(path, ranking="fts5") as truth,
        hr.Index.open(path, ranking="memory") as memory,
    ):
        assert truth.check() == []
        for word in WORDS:
            hits = [(hit.id, hit.score) for hit in truth.search_bm25(word, 1000)]
            assert [(hit.id, hit.score) for hit in memory.search_bm25(word, 1000)] == hits
        assert truth.upsert([hr.Chunk("after", "p", "after")]) == 1
        assert truth.delete(["after"]) == 1
