"""One index, retriever and store, each used by several threads until it is closed."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

import hedgerow as hr
from waiting import LONGEST, until

BATCH = 5
ROUNDS = 8
LEAD = 32
"""The maximum of rounds that a thread may be ahead of the slowest.

Without a GIL, writers would otherwise fill the index.
"""
NOW = 1_800_000_000


@pytest.fixture(autouse=True)
def _often_another_thread() -> Iterator[None]:
    """Switch threads often, so that they interleave with a GIL too."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class Callers:
    """Threads that call until their object is closed, with the number of rounds of each."""

    def __init__(self, *calls: Callable[[int], None]) -> None:
        self.rounds = [0] * len(calls)
        self.ended = [False] * len(calls)
        self._calls = calls
        self._closing = Event()

    def until_closed(self, *close: Callable[[], None]) -> None:
        """Close from several threads, once every thread has completed some rounds."""
        with ThreadPoolExecutor(len(self._calls) + 2 * len(close)) as pool:
            running = [pool.submit(self._go_on, number) for number in range(len(self._calls))]
            try:
                until(lambda: min(self.rounds) >= ROUNDS or any(one.done() for one in running))
            finally:
                self._closing.set()
                closing = [pool.submit(each) for each in close * 2]
            for one in [*closing, *running]:
                one.result(LONGEST)

    def _go_on(self, number: int) -> None:
        call = self._calls[number]
        try:
            for turn in itertools.count():
                while turn > min(self.rounds) + LEAD and not self._closing.wait(0.001):
                    pass
                call(turn)
                self.rounds[number] += 1
        except hr.HedgerowError as error:
            cause = error.__cause__ if error.code == "retrieval_failed" else error
            if not isinstance(cause, hr.IndexFileError) or cause.code != "index_closed":
                raise
            self.ended[number] = True


def embed(texts: list[str]) -> list[list[float]]:
    return [[1.0, text.count("e"), text.count("a")] for text in texts]


def batch(writer: int, turn: int) -> list[hr.Chunk]:
    texts = [f"winter hedge {writer} {turn} {n}" for n in range(BATCH)]
    return [hr.Chunk(f"{writer}-{turn}-{n}", f"{writer}.md", text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("profile", ["spec", "best"])
def test_threads_share_an_index_and_a_retriever(tmp_path: Path, profile: str) -> None:
    path = tmp_path / "index.db"
    index = hr.Index.open(path)
    retriever = hr.Retriever(index, embedder=embed, ranking=hr.Ranking(profile))
    retriever.upsert(batch(9, 0))

    def write(writer: int) -> Callable[[int], None]:
        def call(turn: int) -> None:
            assert retriever.upsert(batch(writer, turn)) == BATCH

        return call

    def search(_: int) -> None:
        hits = index.search_bm25("winter", 10_000)
        assert hits
        assert len(hits) % BATCH == 0
        assert [hit.bm25_rank for hit in hits] == list(range(len(hits)))

    def retrieve(_: int) -> None:
        response = retriever.search("winter hedge", limit=BATCH)
        assert len(response) == BATCH
        assert response.trace.mode == "hybrid"
        assert response.error is None

    def search_many(_: int) -> None:
        for response in retriever.search_many(["winter", "hedge", "winter hedge"], threads=2):
            assert len(response) == min(10, response.trace.fused_count)

    callers = Callers(write(0), write(1), search, search, retrieve, retrieve, search_many)
    callers.until_closed(index.close)
    assert all(callers.ended)
    with hr.Index.open(path) as again:
        assert again.check() == []
        stored = {chunk.id for chunk in again.chunks()}
        for writer in (0, 1):
            written = range(callers.rounds[writer])
            assert stored >= {chunk.id for turn in written for chunk in batch(writer, turn)}
        assert len(stored) % BATCH == 0


def test_threads_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = hr.Store.open(path)
    store.upsert([hr.Node("root", content="winter hedge", updated_at=NOW)])

    def write(writer: int) -> Callable[[int], None]:
        def call(turn: int) -> None:
            keys = [f"{writer}-{turn}-{n}" for n in range(BATCH)]
            nodes = (hr.Node(key, content=f"winter {key}", updated_at=NOW) for key in keys)
            assert store.upsert(nodes) == BATCH
            assert store.link_many([("root", key) for key in keys]) == BATCH
            store.visit("gardener", keys[0], NOW)

        return call

    def query(_: int) -> None:
        found = store.query("all | select:key,degree", now=NOW).rows
        assert found is not None
        [degree] = [row[1] for row in found if row[0] == "root"]
        assert degree % BATCH == 0
        assert degree <= len(found) - 1

    def read(_: int) -> None:
        assert len(store.neighbors(["root"])["root"]) % BATCH == 0
        assert len(list(store)) % BATCH == 1
        assert len(store.index.search_bm25("winter", 10_000)) % BATCH == 1

    callers = Callers(write(0), write(1), query, query, read, read)
    callers.until_closed(store.close, store.index.close)
    assert all(callers.ended)
    with hr.Store.open(path) as again:
        assert again.index.check() == []
        keys = {node.key for node in again}
        for writer in (0, 1):
            written = itertools.product(range(callers.rounds[writer]), range(BATCH))
            assert keys >= {f"{writer}-{turn}-{n}" for turn, n in written}


def test_threads_import_and_use_what_is_imported_late(tmp_path: Path) -> None:
    """The first calls of a process, which import the most, come from several threads."""
    program = """
import sys, threading
import hedgerow as hr
start = threading.Barrier(6)
answers = []
def first(number):
    start.wait()
    with hr.Index.open(sys.argv[1]) as index:
        retriever = hr.Retriever(index)
        retriever.upsert([hr.Chunk(str(number), "p", "winter")])
        answers.append(len(retriever.search("winter")) > 0)
threads = [threading.Thread(target=first, args=(n,)) for n in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert answers == [True] * 6, answers
"""
    command = [sys.executable, "-c", program, str(tmp_path / "index.db")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONGEST)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has a GIL"
)
def test_importing_leaves_the_gil_off() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    program = "import sys, hedgerow; hedgerow.Index; print(sys._is_gil_enabled())"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment, check=False, capture_output=True, text=True, timeout=LONGEST,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("False\n", "")
