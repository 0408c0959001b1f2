"""Many threads, processes, kills and forks on one index (spec/index.md, "Promises")."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import hedgerow as hr
from waiting import LONGEST


def chunk(name: str, content: str = "winter garden") -> hr.Chunk:
    return hr.Chunk(name, "same", content)


def batch(name: str, size: int = 20) -> list[hr.Chunk]:
    return [chunk(f"{name}-{n}", f"winter {name} " * 10) for n in range(size)]


def run(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a separate interpreter with hedgerow imported as `hr`."""
    lines = ["import warnings", "warnings.simplefilter('ignore')", "import sys, os, time"]
    lines += ["import hedgerow as hr", program]
    command = [sys.executable, "-c", "\n".join(lines), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        output, _ = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, output


def test_threads_read_while_another_writes(index):
    """Readers see only whole batches, and never an error."""
    done = threading.Event()

    def read() -> int:
        searches = 0
        while not done.is_set() or searches == 0:
            hits = index.search_bm25("winter", 10_000)
            assert len(hits) % 20 == 0
            assert [hit.bm25_rank for hit in hits] == list(range(len(hits)))
            assert len(list(index.chunks())) >= len(hits)
            searches += 1
        return searches

    def write() -> None:
        try:
            for n in range(40):
                index.upsert(batch(f"b{n}"))
        finally:
            done.set()

    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        pool.submit(write).result()
        assert all(reader.result() > 0 for reader in readers)
    assert len(index) == 800
    assert index.check() == []


def test_threads_write_in_turn(index):
    with ThreadPoolExecutor(4) as pool:
        counts = pool.map(lambda n: index.upsert(batch(f"b{n}")), range(40))
        assert sum(counts) == 800
    assert len(index) == 800
    assert index.check() == []


def test_one_iterator_serves_many_threads(index):
    index.upsert(batch("b", 2000))
    chunks = index.chunks()
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [stored.id for stored in chunks], range(4)))
    assert sorted(itertools.chain.from_iterable(parts)) == sorted(
        stored.id for stored in batch("b", 2000)
    )


def test_closing_waits_for_running_searches(open_index):
    open_index.upsert(batch("b", 3000))
    outcomes = []

    def search() -> None:
        try:
            while True:
                outcomes.append(len(open_index.search_bm25("winter", 3000)))
        except hr.IndexFileError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(outcomes) < 3:
        time.sleep(0.005)
    open_index.close()
    for thread in threads:
        thread.join(30)
    assert set(outcomes) == {3000, "index_closed"}


def test_a_backup_during_writes_is_whole(index, tmp_path):
    done = threading.Event()

    def write() -> None:
        n = 0
        while not done.is_set():
            index.upsert(batch(f"b{n % 50}"))
            index.delete_path("nothing")
            n += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for n in range(5):
            target = tmp_path / f"backup{n}.db"
            index.backup(target)
            with hr.Index.open(target) as backup:
                assert len(backup) % 20 == 0
                assert backup.check() == []
    finally:
        done.set()
        thread.join()


def test_threads_make_one_file_at_once(tmp_path):
    for attempt in range(10):
        path = tmp_path / f"index{attempt}.db"
        with ThreadPoolExecutor(4) as pool:
            opened = list(pool.map(lambda _, path=path: hr.Index.open(path), range(4)))
        for n, index in enumerate(opened):
            index.upsert([chunk(str(n))])
        assert [len(index) for index in opened] == [4, 4, 4, 4]
        for index in opened:
            index.close()


def search_in_worker(index: hr.Index, text: str) -> list[hr.Hit]:
    return index.search_bm25(text)


def test_a_handle_goes_to_a_process_pool(tmp_path):
    with hr.Index.open(tmp_path / "index.db", read_only=False) as index:
        index.upsert(batch("b"))
        context = multiprocessing.get_context("spawn")
        environment = dict(os.environ)
        os.environ["PYTHONWARNINGS"] = "ignore"
        try:
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                jobs = [pool.submit(search_in_worker, index, "winter") for _ in range(4)]
                assert all(job.result() == index.search_bm25("winter") for job in jobs)
        finally:
            os.environ.clear()
            os.environ.update(environment)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_may_open_the_file_again_and_outlive_its_parent(tmp_path):
    """A preloading server: the parent closes its handle while the children keep using theirs."""
    path = tmp_path / "index.db"
    program = """
index = hr.Index.open(sys.argv[1])
index.upsert([hr.Chunk("parent", "same", "winter")])
index.search_bm25("winter")
if os.fork() == 0:
    again = hr.Index.open(sys.argv[1])
    again.upsert([hr.Chunk("child-0", "same", "winter")])
    time.sleep(0.4)
    again.upsert([hr.Chunk("child-1", "same", "winter")])
    again.close()
    # An ordinary end: the inherited handle is dropped, and must not close anything.
    sys.exit(0)
time.sleep(0.2)
index.upsert([hr.Chunk("parent-1", "same", "winter")])
index.close()
assert os.wait()[1] == 0
"""
    finish(run(program, path))
    with hr.Index.open(path) as index:
        assert sorted(stored.id for stored in index.chunks()) == [
            "child-0",
            "child-1",
            "parent",
            "parent-1",
        ]
        assert index.check() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_go_through_while_threads_search_and_write(tmp_path):
    program = """
import threading
index = hr.Index.open(sys.argv[1])
done = False
def search():
    while not done: index.search_bm25("winter", 50)
def write():
    n = 0
    while not done:
        index.upsert([hr.Chunk(str(n % 90), "same", f"winter {n}")])
        n += 1
threads = [threading.Thread(target=work) for work in (search, search, write)]
for thread in threads: thread.start()
for _ in range(15):
    if (child := os.fork()) == 0:
        try: len(index)
        except hr.IndexFileError as error: os._exit(0 if error.code == "index_forked" else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
done = True
for thread in threads: thread.join()
assert index.check() == []
index.close()
"""
    finish(run(program, tmp_path / "index.db"))


def test_other_threads_run_while_the_last_handle_is_dropped(tmp_path: Path) -> None:
    index = hr.Index.open(tmp_path / "index.db")
    index.upsert(hr.Chunk(str(n), "p", f"word{n} " * 2000) for n in range(200))
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        # From here on, a thread runs only if another one releases the interpreter.
        sys.setswitchinterval(5)
        before = ticks
        del index
        during = ticks - before
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    assert during > 0
