"""Forks while other threads use SQLite in all ways (spec/index.md, "Promises")."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults import Rounds
from waiting import LONGEST

FORKS = 60
"""The number of forks per round."""

PROGRAM = """
import os, signal, sys, threading, time, traceback, warnings
warnings.simplefilter("ignore")
import hedgerow as hr

path, forks, patience = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
index = hr.Index.open(path)
index.upsert(hr.Chunk(str(n), "p", "crème brûlée winter") for n in range(50))
done = threading.Event()
failures = []

def tokenize():
    for word in ("東京都", "ÿé", "crème", "ê" * 200):
        index.search_bm25(word)
        hr.compile_match(word)

def open_indexes():
    with hr.Index.open(path) as other:
        other.search_bm25("crème")
    # Dropped without being closed.
    hr.Index.open(path).search_bm25("ÿ")
    hr.Index.in_memory().search_bm25("ÿ")

def repeat(work):
    # Use a new thread each time, so that thread-local data is created and dropped.
    def once():
        try:
            work()
        except BaseException as error:
            failures.append(error)
    while not done.is_set() and not failures:
        thread = threading.Thread(target=once)
        thread.start()
        thread.join()

works = (tokenize, tokenize, tokenize, open_indexes, open_indexes)
threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
for thread in threads:
    thread.start()

def child():
    with hr.Index.open(path) as again:
        assert len(again.search_bm25("crème", 100)) == 50
    retriever = hr.Retriever(hr.Index.in_memory())
    assert retriever.search("what is a crème").results == []

def wait_for(pid):
    # Counted, and not measured: a machine that is suspended meanwhile would look like a child that hangs.
    for _ in range(int(patience / 0.002)):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hung"

outcome = 0
for fork in range(forks):
    if (pid := os.fork()) == 0:
        code = 1
        try:
            child()
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    outcome = wait_for(pid)
    if outcome != 0 or failures:
        break
done.set()
for thread in threads:
    thread.join()
index.close()
print(f"{fork + 1} forks, the last child: {outcome}, failures: {failures}")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_no_child_hangs_whatever_other_threads_were_doing(tmp_path: Path, rounds: Rounds) -> None:
    # A child that takes this long waits for a lock that no thread will release.
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "index.db"), str(FORKS), str(LONGEST)]
    for _ in rounds.at_least(1):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.stdout == f"{FORKS} forks, the last child: 0, failures: []\n"
