"""Dimensions of writes: transactions, deletions, handles, processes and the age of a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import IO

import hedgerow as hr
from suite.load import start

from .base import Base, Dimension, Probe, nothing, powers


def batch(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a transaction and the first search after it, with a separate index for each size."""
    index = base.opened(stack)
    chunks: list[hr.Chunk] = []
    search = base.search(index)
    grouped = base.search(index, group_by="path")
    filtered = base.search(index, filters={"author": "author 7"})

    def prepare() -> None:
        """Search before the write, so that the next search follows only the write."""
        for settle in (search, grouped, filtered):
            settle()
        chunks[:] = base.replacing(base.corpus, size, f"batch-{base.new_path().stem}")

    return {
        "write, each chunk": Probe(
            lambda: index.upsert(chunks), prepare, growth="constant", each=size
        ),
        "first search": Probe(search, nothing),
        "then a grouped search": Probe(grouped, nothing),
        "then a filtered search": Probe(filtered, nothing),
    }


def deletions(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a transaction that deletes. Each round starts with a new copy of the file."""
    opened: list[hr.Index] = []
    inner = stack.enter_context(ExitStack())

    def renew() -> None:
        inner.close()
        opened[:] = [base.opened(inner, small=True)]

    def delete() -> None:
        opened[0].delete(str(row) for row in range(1, size + 1))

    def search() -> object:
        return base.search(opened[0])()

    return {
        "delete, each chunk": Probe(delete, renew, growth="constant", each=size),
        "first search": Probe(search, nothing),
        "warm search": Probe(search, search, growth="constant"),
    }


def handles(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe handles on one file in one process. Each has its own memory."""
    path = base.copied(small=True)
    before = resident()
    opened = [base.opened(stack, path=path) for _ in range(size)]
    grown = resident() - before
    first, last = opened[0], opened[-1]
    write = base.writing(first, base.small, 1)
    others = [base.search(index) for index in opened]

    def written() -> None:
        write()

    made = {
        "warm search": Probe(others[-1], others[-1], growth="constant"),
        "write": Probe(write, others[0], growth="constant"),
        "search after a write of another handle": Probe(
            base.search(last), written, growth="constant"
        ),
        "search of all handles after a write, each": Probe(
            lambda: [search() for search in others], written, growth="constant", each=size
        ),
    }
    if before:
        made["memory of a handle"] = Probe(lambda: grown, growth="constant", each=size, unit="MB")
    return made


def resident() -> int:
    """Return the memory of the process in bytes. 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class Other:
    """Another process with a handle on the file, which writes one chunk per command."""

    def __init__(self, path: Path) -> None:
        self._process = start("serve", __name__)
        self._told = _pipe(self._process.stdin)
        self._said = _pipe(self._process.stdout)
        self._told.write(f"{path}\n".encode())
        self._told.flush()

    def begin(self) -> None:
        """Send the command to write."""
        self._told.write(b"write\n")
        self._told.flush()

    def wait(self) -> None:
        """Wait until the process has opened the file, or written."""
        if not self._said.readline():
            raise RuntimeError("a writing process has ended")

    def close(self) -> None:
        """Stop the process."""
        self._told.close()
        self._process.wait()
        self._said.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("a process was started without its pipes")
    return pipe


def serve() -> None:
    """Open the file that the first input line names, and write a chunk for each further line."""
    path = sys.stdin.readline().rstrip("\n")
    with hr.Index.open(path) as index:
        print("open", flush=True)
        for number, _ in enumerate(sys.stdin):
            index.upsert([hr.Chunk(f"{os.getpid()}-{number}", "other.md", f"word {number}")])
            print("written", flush=True)


def processes(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe other processes that have the file open and write on command."""
    path = base.copied(small=True)
    index = base.opened(stack, path=path)
    others = [Other(path) for _ in range(size)]
    for other in others:
        stack.callback(other.close)
        other.wait()
    search, write = base.search(index), base.writing(index, base.small, 1)

    def begin() -> None:
        for other in others:
            other.begin()

    def wait() -> None:
        for other in others:
            other.wait()

    def written() -> None:
        begin()
        wait()

    def together() -> None:
        """Write while all other processes write, then wait for them."""
        begin()
        write()
        wait()

    return {
        "warm search": Probe(search, search, growth="constant"),
        "write": Probe(write, search, growth="constant"),
        "search after a write of each": Probe(search, written),
        "write of each at the same time": Probe(together, search),
    }


def age(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a file after `size` transactions of one chunk each."""
    index = base.opened(stack, small=True)
    numbers = count()

    def write() -> None:
        number = next(numbers)
        row = number % len(base.small) + 1
        index.upsert([hr.Chunk(str(row), f"notes/{row // 10}.md", f"word {number} of this chunk")])

    for _ in range(size):
        write()
    search = base.search(index)
    ranked = base.search(base.opened(stack, path=index.path, ranking="fts5"), mode="bm25")

    def reopen() -> None:
        with hr.Index.open(index.path or "", ranking="memory") as other:
            base.search(other)()

    return {
        "write": Probe(write, growth="constant"),
        "first search": Probe(search, write, growth="constant"),
        "warm search": Probe(search, search, growth="constant"),
        "search ranked by FTS5": Probe(ranked, ranked, growth="constant"),
        "open and search": Probe(reopen, growth="constant"),
    }


def behind(base: Base, size: int, stack: ExitStack) -> dict[str, Probe]:
    """Probe a handle that has not searched for the last `size` transactions of another handle."""
    index = base.opened(stack, small=True)
    search = base.search(index)
    grouped = base.search(index, group_by="path")
    writer = hr.Index.open(index.path or "")
    stack.callback(writer.close)
    numbers = count()

    def write() -> None:
        grouped()
        search()
        for _ in range(size):
            row = next(numbers) % len(base.small) + 1
            writer.upsert([hr.Chunk(str(row), f"notes/{row // 10}.md", f"word of chunk {row}")])

    return {
        "first search": Probe(search, write),
        "then a grouped search": Probe(grouped, nothing),
    }


def _few(most: int) -> Callable[[Base], list[int]]:
    return lambda _: powers(most, factor=4)


DIMENSIONS = [
    Dimension("batch", lambda base: powers(base.chunks // 4), batch),
    Dimension("deletions", lambda base: powers(len(base.small) // 2), deletions),
    Dimension("handles", _few(65), handles, in_order=True),
    Dimension("processes", lambda _: powers(16, factor=2), processes, in_order=True),
    Dimension("age", lambda base: powers(base.chunks // 4, factor=8), age),
    Dimension("behind", lambda base: powers(min(1_025, base.chunks)), behind),
]
