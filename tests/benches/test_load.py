"""The mixed load of `make bench`. Its speed is not checked."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hedgerow as hr
from suite import bench, load, timing
from suite.contenders import contenders
from suite.corpus import made_up
from suite.results import Target
from suite.rows import mixed
from waiting import until

CORPUS = made_up(300)
LINUX = Path("/proc/self/clear_refs").exists()


@pytest.fixture
def small_bench(tmp_path):
    """hedgerow as the only contender, with 300 chunks and a budget of 10 ms per line."""
    one = bench.Bench(CORPUS, tmp_path / "bench", 0.01)
    one.folder.mkdir()
    one.make(contenders()[:1])
    yield one
    one.close()


def plan(made, **other):
    chunks = [hr.Chunk(f"new-{n}", "new.md", "new", embedding=CORPUS.vectors[n]) for n in range(50)]
    settings = {"rate": 200, "threads": 2, "window": 0.02, "pairs": 2, "another_process": False}
    questions = CORPUS.questions, CORPUS.question_vectors
    return load.Plan(made.path, *questions, chunks, **{**settings, **other})


class Clock:
    """A clock that advances only with sleeps and writes."""

    def __init__(self, cost):
        self.now = 0.0
        self.cost = cost
        self.written = []

    def sleep(self, seconds):
        self.now += seconds

    def upsert(self, chunks):
        self.written += [(round(self.now, 3), chunk) for chunk in chunks]
        self.now += self.cost


@pytest.mark.parametrize(
    ("cost", "at"),
    [(0.001, [0, 0.25, 0.5, 0.75]), (0.5, [0, 0.5]), (0.3, [0, 0.3, 0.6, 0.9])],
)
def test_a_writer_keeps_its_pace_as_far_as_it_can(cost, at, monkeypatch):
    clock = Clock(cost)
    monkeypatch.setattr(load, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(load, "time", clock)
    write = load.writing(SimpleNamespace(chunks=[*"abcdefgh"], rate=4), clock)
    assert write(1.0) == pytest.approx([cost] * len(at))
    assert clock.written == list(zip(at, "abcdefgh", strict=False))
    clock.written.clear()
    write(0.1)
    assert [chunk for _, chunk in clock.written] == ["abcdefgh"[len(at)]], "it goes on where it was"


def test_a_load_searches_without_and_with_a_writer(small_bench):
    report = load.run(plan(small_bench))
    assert len(report.quiet.searches) >= 4
    assert len(report.writing.searches) >= 4
    assert report.quiet.writes == []
    assert 2 <= len(report.writing.writes) <= 8
    assert report.found == report.looked_for == len(report.writing.writes)
    assert min(report.quiet.seconds, report.writing.seconds) >= 2 * 0.02
    stored = {chunk.id for chunk in small_bench.present["hedgerow"].index.chunks()}
    assert stored >= {f"new-{n}" for n in range(len(report.writing.writes))}


def test_a_writer_that_fails_ends_the_load(small_bench):
    two = [hr.Chunk("a", "a.md", "a", embedding=[1.0, 2.0])]
    broken = plan(small_bench, pairs=1)
    object.__setattr__(broken, "chunks", two)
    with pytest.raises(hr.InvalidInputError, match="384"):
        load.run(broken)


def test_a_load_that_fails_in_its_process_is_told(small_bench, capfd):
    with pytest.raises(RuntimeError, match="the load has ended with status 1"):
        load.ask(plan(small_bench, rate=0))
    assert "ZeroDivisionError" in capfd.readouterr().err


@pytest.mark.skipif(not LINUX, reason="other systems do not tell")
def test_the_peak_of_memory_can_be_reset():
    assert load.reset_peak()
    before = load.peak()
    np.ones(4_000_000)
    high = load.peak()
    assert high - before > 30_000_000
    # Other threads of the process may need memory at the same time.
    until(lambda: load.reset_peak() and load.peak() < high, "a lower peak")


def test_a_system_that_does_not_tell_leaves_memory_open(small_bench, monkeypatch):
    monkeypatch.setattr(load, "reset_peak", lambda: False)
    report = load.run(plan(small_bench))
    assert report.quiet.peaks == report.writing.peaks == [None, None]
    row = mixed.line(small_bench, "mixed-2-200", plan(small_bench), report)
    assert not any("memory" in check for check in row.checks)


def test_a_mixed_load_is_measured_in_processes_of_its_own(small_bench):
    rows = list(mixed.measure(small_bench))
    assert [row.key for row in rows] == [
        *("mixed-1-20", "mixed-1-200", "mixed-2-20", "mixed-2-200"),
        *("mixed-processes-20", "mixed-processes-200"),
    ]
    for row in rows:
        assert list(row.figures) == [
            "hedgerow",
            "hedgerow, without the writer",
            "hedgerow, each write",
        ]
        found, looked_for = row.checks[-1].split(": ")[1].split(" of ")
        assert found == looked_for != "0"
        assert row.targets == (), "they are for 100,000 chunks"
    assert "by 2 threads, while another thread writes 20 chunks a second" in rows[2].what
    assert "by 1 thread, while another process writes 200 chunks" in rows[5].what
    # Two of three writes are new chunks, in each of six loads.
    assert len(small_bench.present["hedgerow"].index) == 300 + 6 * 2


def test_the_targets_of_a_mixed_load(small_bench, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 300)
    calm, preempted = timing.Cost(0.002, 0.001, 0), timing.Cost(0.002, 0.0015, 2)
    quiet = load.Half([timing.Cost(0.001, 0.001, 0)] * 10, [], 2.0, [100_000_000, 180_000_000])
    searches = [calm] * 4 + [preempted] * 6
    writing = load.Half(searches, [0.0025] * 4, 4.0, [120_000_000, 150_000_000])
    row = mixed.line(
        small_bench, "mixed-2-200", plan(small_bench), load.Report(quiet, writing, 3, 4)
    )
    assert row.targets == (
        Target(
            "searches, median: at most 1.15 times those without the writer", "2 times", met=False
        ),
        Target(
            "searches, 99 of 100: at most 1.5 times those without the writer", "2 times", met=False
        ),
        Target("writes, 99 of 100: at most 3 ms", "2.50 ms", met=True),
        Target("writes, all: at most 20 ms", "2.50 ms", met=True),
        Target("peak memory: at most 1.1 times that without the writer", "1.5 times", met=False),
    )
    assert row.checks == (
        "processor time of a call, median: hedgerow 1.50 ms, without the writer 1.00 ms",
        "involuntary context switches of a call, mean: hedgerow 1.2, without the writer 0",
        "2 searches a second, without the writer 5",
        "4 of 8 writes in time, the longest 2.50 ms",
        "4 of 10 searches never preempted: 2.00 ms (p99)",
        "peak memory 150 MB, without the writer 100 MB",
        "written last and found by their vectors: 3 of 4",
    )
    assert row.tail == "p99"
