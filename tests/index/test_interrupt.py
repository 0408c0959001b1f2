"""Ctrl-C and cancellation during work in the engine (spec/index.md, "Promises")."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow._engine import Stop
from hedgerow._retrieval import searching
from waiting import LONGEST, until

PROGRAM = """
import itertools, os, signal, sys, threading, time
import hedgerow as hr

index = hr.Index.in_memory(ranking=sys.argv[1])
words = " ".join(f"w{n}" for n in range(400))
chunks = [hr.Chunk(f"c{n}", "p", words) for n in range(1500)]
index.upsert(chunks)
query = words * 2

def search():
    for _ in itertools.count():
        index.search_bm25(query)

def one_write():
    many = [hr.Chunk(f"m{n}", "p", words) for n in range(20_000)]
    press()
    index.upsert(many)

def press():
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

def returns(*_):
    # May use the very index that the interrupted call had.
    print(len(index))

if sys.argv[3] == "returns":
    signal.signal(signal.SIGINT, returns)
try:
    if sys.argv[2] == "search":
        press()
        search()
    else:
        one_write()
except KeyboardInterrupt:
    print("KeyboardInterrupt")
except hr.IndexFileError as error:
    print(error.code)
assert len(index) == 1500
assert index.search_bm25("w77")
index.close()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="signals are sent as on Unix")
@pytest.mark.parametrize(
    ("call", "handler"), [("search", "raises"), ("write", "raises"), ("write", "returns")]
)
@pytest.mark.parametrize("ranking", ["memory", "fts5"])
def test_ctrl_c_ends_a_call(ranking, call, handler):
    command = [sys.executable, "-c", PROGRAM, ranking, call, handler]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LONGEST)
    expected = ["KeyboardInterrupt"] if handler == "raises" else ["1500", "interrupted"]
    assert done.stdout.split() == expected


GRAPH = """
import os, signal, sys, threading
import hedgerow as hr

COUNT = 30_000
store = hr.Store.in_memory()
vector = [[(n * k) % 101 / 101 + 0.01 for k in range(1, 9)] for n in range(COUNT)]
store.upsert(hr.Node(f"n{n}", embedding=vector[n]) for n in range(COUNT))
around = [(f"n{n}", f"n{(n * step + 1) % COUNT}", 0.5) for step in (1, 7, 31, 77) for n in range(COUNT)]
store.link_many([edge for edge in around if edge[0] != edge[1]])
store.query("degree:>0 | count")
pressed = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
pressed.start()
try:
    while True:
        store.query(sys.argv[1])
except KeyboardInterrupt:
    print("KeyboardInterrupt")
print(store.query("all | count").count)
store.close()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="signals are sent as on Unix")
@pytest.mark.parametrize(
    "pipeline",
    [
        "all | confluence,max_hops=9 | limit:3",
        "seed:n1 | spectral | limit:3",
        "interference-pairs",
        "all | sort:priority(spectral) | limit:3",
    ],
)
def test_ctrl_c_ends_work_on_the_graph(pipeline):
    """Each query either takes long or is repeated."""
    command = [sys.executable, "-c", GRAPH, pipeline]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LONGEST)
    assert done.stdout.split() == ["KeyboardInterrupt", "30000"]


BUSY = """
import ctypes, sys, threading
import hedgerow as hr

index = hr.Index.open(sys.argv[1])
words = " ".join(f"w{n}" for n in range(400))
chunks = [hr.Chunk(f"c{n}", "p", words) for n in range(5_000)]
# Opening took the write lock too.
print("open", flush=True)

def write():
    index.upsert(chunks)

def hold_the_interpreter():
    sys.stdin.readline()
    # Holds the interpreter lock until the input ends.
    ctypes.PyDLL(None).getchar()

here, there = (write, hold_the_interpreter)[:: 1 if sys.argv[2] == "main" else -1]
thread = threading.Thread(target=there, daemon=True)
thread.start()
here()
thread.join()
"""


def is_written(path: Path) -> bool:
    """Whether another process holds the write lock."""
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return True
    finally:
        other.close()
    return False


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="finds getchar as on Unix")
@pytest.mark.parametrize("writer", ["main", "other"])
def test_a_write_does_not_wait_for_the_interpreter(tmp_path: Path, writer: str) -> None:
    pytest.importorskip("ctypes", reason="the child takes getchar from it")
    path = tmp_path / "index.db"
    # Create and close the file here, because locks do not conflict within a process.
    hr.Index.open(path).close()
    busy = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(path), writer],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert busy.stdin is not None
    assert busy.stdout is not None
    with busy:
        assert busy.stdout.readline() == "open\n"
        until(lambda: busy.poll() is not None or is_written(path))
        assert busy.poll() is None, "the child ended before it wrote: see its stderr"
        busy.stdin.write("\n")
        busy.stdin.flush()
        # The child has no interpreter until its input ends.
        with hr.Index.open(path, read_only=True) as index:
            until(lambda: len(index) == 5000)
        busy.communicate()
    assert busy.returncode == 0


FORKS = """
import os
index = None

def write():
    index.upsert([hr.Chunk("a", "p", "oak")])

# Registered before those of hedgerow, so that it runs after them.
os.register_at_fork(before=write)
import hedgerow as hr
index = hr.Index.in_memory()
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print(len(index))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="forks as on Unix")
def test_the_main_thread_may_write_while_it_forks() -> None:
    command = [sys.executable, "-c", FORKS]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LONGEST)
    assert done.stdout.split() == ["1"]


def many_chunks(count: int) -> list[hr.Chunk]:
    words = " ".join(f"w{n}" for n in range(400))
    return [hr.Chunk(f"c{n}", "p", words) for n in range(count)]


def test_a_cancelled_task_ends_its_write(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = hr.Index.open(path)
    retriever = hr.Retriever(index)

    async def run() -> None:
        task = asyncio.create_task(retriever.aupsert(many_chunks(20_000)))
        # SQLite writes pages that do not fit into its memory to the log before the commit.
        log = path.with_name("index.db-wal")
        while log.stat().st_size < 1_000_000 and not task.done():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    # `asyncio.run` waits for its threads.
    asyncio.run(run())
    assert len(index) == 0


def test_what_is_stopped_fails_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    index = hr.Index.in_memory(ranking="fts5")
    chunks = many_chunks(1500)
    index.upsert(chunks)
    query = chunks[0].content
    retriever = hr.Retriever(index)
    stop = Stop()
    assert len(stop.run(index.search_bm25, query)) == 10
    stop.set()
    for function, argument in [
        (index.search_bm25, query),
        (index.upsert, many_chunks(3000)),
        (index.delete, [chunk.id for chunk in chunks]),
    ]:
        with pytest.raises(hr.IndexFileError, match="interrupted and changed nothing") as caught:
            stop.run(function, argument)
        assert caught.value.code == "interrupted"
    assert len(index) == 1500
    # A single search has its own stop flag.
    assert stop.run(retriever.search, query).results
    monkeypatch.setattr(searching, "Stop", lambda: stop)
    with pytest.raises(hr.HedgerowError, match="was interrupted"):
        retriever.search(query)
