"""Many processes write one file: no write is lost, and readers see whole transactions."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

import hedgerow as hr
from faults import Rounds, finish, python
from fts5_segments import count_segments

PER_WRITER = 150

WRITER = f"""
import sys
import hedgerow as hr
with hr.Index.open(sys.argv[1]) as index:
    for n in range({PER_WRITER}):
        index.upsert([hr.Chunk(f"{{sys.argv[2]}}-{{n}}", "same", "winter garden")])
        index.upsert([hr.Chunk("shared", "same", f"winter {{sys.argv[2]}} {{n}}")])
"""

MAKER = """
import sys
import hedgerow as hr
print("ready", flush=True)
sys.stdin.readline()
with hr.Index.open(sys.argv[1]) as index:
    index.upsert([hr.Chunk(sys.argv[2], "same", "winter")])
"""

MIXED = """
import random, sys
import hedgerow as hr
name, chance = sys.argv[2], random.Random(sys.argv[3])
written = set()
for n in range(60):
    with hr.Index.open(sys.argv[1], ranking=chance.choice(["auto", "memory", "fts5"])) as index:
        for m in range(chance.randint(1, 4)):
            batch = [f"{name}-{chance.randrange(40)}" for _ in range(10)]
            index.upsert(hr.Chunk(one, name, f"winter {n}", embedding=[1, n]) for one in batch)
            written |= set(batch)
        gone = chance.sample(sorted(written), 3)
        assert index.delete(gone) == 3
        written -= set(gone)
        if n % 20 == 19:
            index.optimize()
        own = {hit.id for hit in index.search_bm25("winter", 1000, filters={"paths": [name]})}
        assert own == written, (own, written)
print(*sorted(written))
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with hr.Index.open(path) as index:
        writers = [python("-c", WRITER, path, name) for name in ["left", "right"]]
        while any(writer.poll() is None for writer in writers):
            hits = index.search_bm25("winter", 1000)
            assert len({hit.id for hit in hits}) == len(hits)
        finish(*writers)
        assert len(index) == 2 * PER_WRITER + 1
        assert index.check() == []


@pytest.mark.parametrize("name", ["one", "two", "three"])
def test_processes_make_one_file_at_once(tmp_path: Path, rounds: Rounds, name: str) -> None:
    for _ in rounds.at_least(1):
        path = tmp_path / f"{name}{rounds.done}.db"
        makers = [python("-c", MAKER, path, f"w{n}") for n in range(4)]
        for maker in makers:
            assert maker.stdout is not None
            assert maker.stdout.readline() == "ready\n"
        for maker in makers:
            assert maker.stdin is not None
            maker.stdin.write("\n")
            maker.stdin.flush()
        finish(*makers)
        with hr.Index.open(path) as index:
            assert sorted(stored.id for stored in index.chunks()) == ["w0", "w1", "w2", "w3"]
            assert index.check() == []


def test_processes_of_all_kinds_share_one_file(tmp_path: Path, rounds: Rounds) -> None:
    for chance in rounds.at_least(1):
        path = tmp_path / f"{rounds.done}.db"
        hr.Index.open(path).close()
        names = ["ash", "elm", "oak", "yew"]
        writers = [python("-c", MIXED, path, name, chance.random()) for name in names]
        written = finish(*writers)
        with hr.Index.open(path) as index:
            expected = itertools.chain.from_iterable(line.split() for line in written)
            assert sorted(stored.id for stored in index.chunks()) == sorted(expected)
            assert index.check() == []


LINKS = """
import sys
from hedgerow import Store
with Store.open(sys.argv[1]) as store:
    for n in range(40):
        store.link("hub", f"n{sys.argv[2]}-{n}")
        store.visit(sys.argv[2], "hub", 1_800_000_000 + n)
"""


def test_processes_link_one_node_and_no_edge_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with hr.Store.open(path) as store:
        store.upsert([hr.Node("hub"), *(hr.Node(f"n{w}-{n}") for w in range(4) for n in range(40))])
        finish(*[python("-c", LINKS, path, worker) for worker in range(4)])
        assert len(store.neighbors(["hub"])["hub"]) == 160
        assert [len(store.query(f"visited:{w}").keys) for w in range(4)] == [1] * 4
    with hr.Index.open(path) as index:
        assert index.check() == []


ONCE = """
import os, sys, traceback
import hedgerow as hr
for n in range(int(sys.argv[3])):
    child = os.fork()
    if not child:
        try:
            with hr.Index.open(sys.argv[1]) as index:
                index.upsert([hr.Chunk(f"{sys.argv[2]}-{n}", "same", f"winter garden {n}")])
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_processes_that_write_once_leave_few_segments(tmp_path: Path, rounds: Rounds) -> None:
    """No process lives long enough for the background merge, and FTS5 fails at 2,000 segments."""
    path = tmp_path / "index.db"
    hr.Index.open(path).close()
    written = 0
    for _ in rounds.at_least(1):
        names = [f"{rounds.done}-{name}" for name in ["left", "right"]]
        for writer in [python("-c", ONCE, path, name, 150) for name in names]:
            assert count_segments(path) < 100
            finish(writer)
        written += 300
        assert count_segments(path) < 100
    with hr.Index.open(path, ranking="fts5") as index:
        assert len(index.search_bm25("winter", written + 1)) == written
        assert index.check() == []
