"""Memory runs out: acknowledged writes stay, and most calls raise an error (spec/index.md)."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

import hedgerow as hr
import no_memory
from faults import Rounds, finish, python
from waiting import LONGEST

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are kept on Linux")

ERRORS = re.compile(
    r"end (nothing"
    r"|MemoryError : .*"
    r"|IndexFileError out_of_memory: memory ran out, and nothing of this call was kept; .*"
    r"|EngineError engine_fault: no thread could be started to .*; raise the limit on threads or memory)"
)
"""The allowed errors of work that can continue once there is memory."""

ABORTS = re.compile(
    r"memory allocation of (\d+ bytes failed|memory allocation)"
    r"|cannot allocate memory for thread-local data"
    r"|failed to register TLS destructor"
)
"""The output of aborts that cannot become errors, from Rust and from the C library."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with chunks, vectors and nodes."""
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    finish(python(no_memory.__file__, "fill", path))
    return path


@pytest.mark.parametrize("work", no_memory.TIMES)
def test_memory_that_runs_out_loses_nothing(
    rounds: Rounds, filled: Path, tmp_path: Path, work: str
) -> None:
    for chance in rounds.at_least(2):
        path = tmp_path / f"{rounds.done}.db"
        shutil.copy(filled, path)
        more = int(no_memory.MEGABYTE * 2 ** chance.uniform(0, 6))
        process = python(no_memory.__file__, work, path, chance.random(), more)
        out, problem = process.communicate(timeout=LONGEST)
        told = [line.split() for line in out.split("\n")[:-1]]
        if process.returncode == 0:
            assert ERRORS.fullmatch(out.split("\n")[-2])
        else:
            assert process.returncode in (-6, 127)
            assert ABORTS.search(problem)
        nothing_is_lost(path, told)
        path.unlink()


def nothing_is_lost(path: Path, told: list[list[str]]) -> None:
    """Check that each acknowledged change is stored, and any other completely or not at all."""
    done = {line[1] for line in told if line[0] == "done"}
    with hr.Index.open(path) as index:
        assert index.check() == []
        found: dict[str, int] = {}
        for chunk in index.chunks():
            found[chunk.path] = found.get(chunk.path, 0) + 1
        for _, number, count in (line for line in told if line[0] == "begin"):
            there = found.get(f"a{number}", 0)
            assert there in ((int(count),) if number in done else (0, int(count)))
        assert index.upsert([hr.Chunk("after", "p", "after")]) == 1
