"""Processes that each open an index, write one chunk and close it, one after the other.

The processes are forked from one that has imported hedgerow but opened nothing.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import hedgerow as hr

from .load import start

CAN_FORK = hasattr(os, "fork")
_SECONDS = struct.Struct("d")


@dataclass(frozen=True, slots=True)
class Plan:
    """One process for each chunk. No process starts after `seconds`."""

    path: Path
    chunks: Sequence[hr.Chunk]
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """The seconds that each process took to open, write and close, and the number that failed."""

    seconds: Sequence[float]
    failed: int


def ask(plan: Plan) -> Report:
    """Run a plan in a separate process, which forks. Raises RuntimeError if that process fails."""
    with start("serve", __name__) as process:
        told, _ = process.communicate(pickle.dumps(plan))
    if process.returncode:
        raise RuntimeError(f"the writers have ended with status {process.returncode}")
    report: Report = pickle.loads(told)  # noqa: S301 - our own
    return report


def serve() -> None:
    """Read a plan, run it and write the report."""
    plan: Plan = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own
    pickle.dump(run(plan), sys.stdout.buffer)


def run(plan: Plan) -> Report:
    """Fork a process for each chunk and wait for its end before the next one."""
    seconds: list[float] = []
    failed = 0
    end = perf_counter() + plan.seconds
    for chunk in plan.chunks:
        if seconds and perf_counter() >= end:
            break
        took = _forked(plan.path, chunk)
        if took is None:
            failed += 1
        else:
            seconds.append(took)
    return Report(seconds, failed)


def _forked(path: Path, chunk: hr.Chunk) -> float | None:
    """Return the seconds that a new process took, or None if it failed."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            began = perf_counter()
            with hr.Index.open(path) as index:
                index.upsert([chunk])
            os.write(writes, _SECONDS.pack(perf_counter() - began))
            status = 0
        except hr.HedgerowError as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    os.close(writes)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reads, "rb") as pipe:
        told = pipe.read()
    return _SECONDS.unpack(told)[0] if status == 0 and told else None


def segments(record: bytes) -> int:
    """Return the number of segments that a structure record of FTS5 lists.

    The record is row 10 of the data table: a cookie of four bytes, four more bytes in the second
    version of the format, then the numbers of levels and of segments.
    """
    rest = record[8:] if record[4:8] == b"\xff\x00\x00\x01" else record[4:]
    _, rest = _number(rest)
    count, _ = _number(rest)
    return count


def _number(record: bytes) -> tuple[int, bytes]:
    """Read an integer as SQLite stores it: seven bits a byte, the most significant first."""
    value = 0
    for place, byte in enumerate(record):
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, record[place + 1 :]
    raise ValueError("the record ends within a number")
