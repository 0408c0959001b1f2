"""Ctrl-C while the engine works (spec/index.md, "Promises")."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

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
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
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
store._link_many([edge for edge in around if edge[0] != edge[1]])
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
    """Each takes long by itself, or is done again and again."""
    command = [sys.executable, "-c", GRAPH, pipeline]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["KeyboardInterrupt", "30000"]
