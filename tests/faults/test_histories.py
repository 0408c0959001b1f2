"""Histories of concurrent readers and writers are consistent, and violations are detected."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import consistency
from consistency import Claim, Read, Write, overlaps, violations
from faults import Rounds

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the clocks of processes may differ"
)

WRITES = [
    Write("ash", 1, 0, 10),
    Write("ash", 2, 20, 30),
    Write("elm", 1, 5, 25),
    Write("elm", 2, 40, None),
]


def read(begin: int, end: int, ash: int, elm: int, reader: str = "one") -> Read:
    return Read(reader, begin, end, {"ash": [ash] * 2, "elm": [elm] * 2})


def found(*reads: Read, snapshots: bool = True) -> list[str]:
    return violations(WRITES, reads, items=2, snapshots=snapshots)


def test_consistent_histories_are_accepted():
    assert found() == []
    assert found(read(11, 12, 1, 0), read(13, 19, 1, 1), read(35, 39, 2, 1)) == []
    # An unacknowledged write may be visible to one reader and not to a concurrent one.
    assert found(read(45, 60, 2, 2), read(46, 50, 2, 1, "two")) == []
    assert found(read(1, 9, 1, 0), Read("two", 1, 2, {})) == []


@pytest.mark.parametrize(
    ("reads", "what"),
    [
        ([Read("one", 35, 36, {"ash": [2, 1], "elm": [1, 1]})], "mixes rounds"),
        ([Read("one", 35, 36, {"ash": [2], "elm": [1, 1]})], "mixes rounds"),
        ([read(11, 12, 0, 0)], "lost round 1 of ash"),
        ([read(31, 32, 1, 1)], "lost round 2 of ash"),
        ([read(35, 36, 2, 2)], "saw more than round 1 of elm"),
        ([read(11, 12, 1, 1), read(13, 14, 1, 0)], "is older than"),
        ([read(11, 12, 1, 1), read(13, 14, 1, 0, "two")], "is older than"),
        ([read(41, 50, 2, 2), read(51, 52, 2, 1)], "is older than"),
        ([read(20, 26, 2, 0), read(21, 27, 1, 1, "two")], "in another order"),
    ],
)
def test_bad_histories_are_rejected(reads: list[Read], what: str):
    problems = found(*reads)
    assert problems
    assert any(what in one for one in problems), problems


def test_files_of_a_root_have_no_snapshots():
    beside = [read(20, 26, 2, 0), read(21, 27, 1, 1, "two")]
    assert found(*beside, snapshots=False) == []


def test_claims_of_one_key_do_not_overlap():
    one = Claim("one", 0, 10, frozenset("ab"))
    assert (
        overlaps([one, Claim("two", 10, 20, frozenset("a")), Claim("two", 5, 8, frozenset("c"))])
        == []
    )
    assert len(overlaps([Claim("two", 9, 20, frozenset("bc")), one])) == 1
    long, short = Claim("two", 0, 100, frozenset("a")), Claim("two", 1, 2, frozenset("c"))
    assert len(overlaps([long, short, Claim("one", 50, 60, frozenset("a"))])) == 1


@pytest.mark.parametrize("kind", consistency.KINDS)
def test_what_processes_saw_is_consistent(tmp_path: Path, rounds: Rounds, kind: str):
    for _ in rounds.at_least(1):
        folder = tmp_path / str(rounds.done)
        folder.mkdir()
        problems, calls = consistency.problems(kind, folder, 2.0)
        assert problems == []
        assert calls > 0
