"""The rows of `make bench` for cheap operations that may become expensive.

Times are not checked.
"""

import struct
from dataclasses import replace

import pytest

import hedgerow as hr
from suite import bench, single_writes, timing
from suite.contenders import contenders
from suite.corpus import made_up
from suite.results import usage
from suite.rows import filters, grouped, long_path, processes, transactions
from suite.timing import Cost, Times
from suite.writes import always, changes, never

CORPUS = made_up(300)


@pytest.fixture
def cliff_bench(tmp_path):
    """hedgerow as the only contender, with 300 chunks and a budget of 10 ms per line."""
    one = bench.Bench(CORPUS, tmp_path / "bench", 0.01, processes=5)
    one.folder.mkdir()
    one.make(contenders()[:1])
    yield one
    one.close()


def aims(row):
    return [target.aim for target in row.targets]


def test_a_transaction_is_followed_by_a_search(cliff_bench, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 300)
    monkeypatch.setattr(transactions, "_SIZES", (100, 257, 300))
    monkeypatch.setattr(transactions, "_JUDGED", 300)
    rows = list(transactions.measure(cliff_bench))
    assert [row.key for row in rows] == ["transaction-stored", "transaction-new"]
    for row in rows:
        after = ["after 100", "after 257", "after 300", "after 300, another handle"]
        assert list(row.figures) == ["hedgerow", *(f"hedgerow, {name}" for name in after)]
        assert row.figures["hedgerow"].calls == transactions._FEWEST_ROUNDS
        assert aims(row) == [
            "after 300: at most 20.0 ms",
            "after 300, another handle: at most 20.0 ms",
        ]
    assert len(cliff_bench.present["hedgerow"].index) == 300, "a copy is written to"


def test_transactions_larger_than_the_corpus_are_left_out(cliff_bench, monkeypatch):
    monkeypatch.setattr(transactions, "_SIZES", (100, 1_000))
    row = next(transactions.measure(cliff_bench))
    assert list(row.figures) == ["hedgerow", "hedgerow, after 100"]
    assert row.targets == ()


def test_grouped_searches_stand_beside_those_not_grouped(cliff_bench, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 300)
    rows = list(grouped.measure(cliff_bench))
    assert [row.key for row in rows] == [
        *("grouped-10-scores", "grouped-10-keywords"),
        *("grouped-50-scores", "grouped-50-keywords"),
    ]
    for row in rows:
        situations = ["hedgerow", "hedgerow, filtered", "hedgerow, after a write"]
        assert list(row.figures) == [
            name for one in situations for name in (one, f"{one}, not grouped")
        ]
        same = ", and the first hit that of the search not grouped" * row.key.endswith("keywords")
        assert row.checks[0] == f"each path once{same}: 3 of 3"
    ratio = "grouped: at most 1.4 times not grouped"
    situations = ["grouped, filtered: at most 2.5 ms", "grouped, after a write: at most 2.5 ms"]
    assert aims(rows[0]) == [ratio, *situations]
    assert aims(rows[2]) == [ratio, "grouped: at most 2 ms", *situations]
    assert aims(rows[1]) == aims(rows[3]) == ["grouped, 95 of 100: at most 0.6 ms"]
    monkeypatch.setattr(bench, "MILLION", 300)
    assert aims(next(grouped.measure(cliff_bench))) == [ratio]


def test_chunks_are_written_into_a_long_path(cliff_bench, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 300)
    monkeypatch.setattr(long_path, "_WRITES", 30)
    [row] = long_path.measure(cliff_bench)
    assert "into a path of 240 chunks" in row.what
    assert aims(row) == [
        "the long path: at most 1.2 times a short path",
        "30 in one transaction: at most 20 ms",
    ]
    assert row.checks[0] == "10 of 30 chunks written one by one in time"
    assert row.figures["hedgerow, 30 in one transaction"].calls >= 1


@pytest.mark.skipif(not single_writes.CAN_FORK, reason="the system cannot fork")
def test_processes_write_one_chunk_each(cliff_bench):
    cliff_bench.release()
    [row] = processes.measure(cliff_bench)
    assert row.figures["hedgerow"].calls >= 1
    began = row.what.split(" by ")[1].split()[0]
    assert row.checks[:2] == (
        f"{began} of 5 processes in time, 0 failed",
        f"chunks found afterwards: {began} of {began}",
    )
    assert "damage found by a check: 0" in row.checks
    assert [target.met for target in row.targets[:2]] == [True, True]
    assert not (cliff_bench.folder / "processes.db").exists()


def test_nothing_is_measured_where_processes_cannot_fork(cliff_bench, monkeypatch):
    monkeypatch.setattr(processes, "CAN_FORK", False)
    assert list(processes.measure(cliff_bench)) == []


@pytest.mark.skipif(not single_writes.CAN_FORK, reason="the system cannot fork")
def test_a_process_that_fails_is_counted(cliff_bench, capfd):
    wrong = [hr.Chunk("a", "a.md", "a", embedding=[1.0, 2.0])]
    right = [hr.Chunk(name, "a.md", "a") for name in "bc"]
    report = single_writes.run(single_writes.Plan(cliff_bench.path, [*wrong, *right], 60))
    assert (len(report.seconds), report.failed) == (2, 1)
    assert "384" in capfd.readouterr().err
    assert len(single_writes.run(single_writes.Plan(cliff_bench.path, right, 0)).seconds) == 1


@pytest.mark.skipif(not single_writes.CAN_FORK, reason="the system cannot fork")
def test_writers_that_do_not_start_are_reported(cliff_bench):
    plan = single_writes.Plan(cliff_bench.path, 7, 1)
    with pytest.raises(RuntimeError, match="the writers have ended with status 1"):
        single_writes.ask(plan)


def test_the_segments_of_fts5_are_counted():
    cookie = struct.pack(">I", 7)
    assert single_writes.segments(cookie + bytes([2, 5, 9])) == 5
    assert single_writes.segments(cookie + bytes([1, 0x8F, 0x50, 0])) == 2_000
    assert single_writes.segments(cookie + b"\xff\x00\x00\x01" + bytes([0, 0])) == 0
    with pytest.raises(ValueError, match="ends within a number"):
        single_writes.segments(cookie + bytes([1, 0x8F]))


def test_filters_of_many_alternatives_keep_half_of_all_chunks(cliff_bench, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 300)
    rows = {row.key: row for row in filters.measure(cliff_bench)}
    for key in ("filters-or-same", "filters-or-declared"):
        assert aims(rows[key]) == ["200 conditions: at most 10 ms"]
        assert list(rows[key].figures) == [
            *("hedgerow", "hedgerow, 1 condition", "hedgerow, 200 conditions"),
        ]
    assert aims(rows["filters-fields"]) == [
        f"{what}: at most 1.5 times no filter"
        for what in ("a tag", "a path prefix", "1,025 in turn")
    ]
    with hr.Index.in_memory() as index:
        index.upsert(CORPUS.chunks(with_vectors=True, stamped=True))
        searching = filters._Searching(index, CORPUS, is_new=True)
        one, other = searching.alternatives(), searching.alternatives()
        assert one != other
        vector = CORPUS.question_vectors[0]
        found = [
            {hit.id for hit in index.search_vector(vector, 300, filters=f)} for f in (one, other)
        ]
        assert found[0] == found[1]
        assert 100 <= len(found[0]) <= 200


def test_a_corpus_has_paths_of_any_length():
    def lengths(corpus):
        paths = [text.path for text in corpus.texts]
        return sorted({paths.count(path) for path in set(paths)})

    assert lengths(CORPUS) == [10]
    assert lengths(made_up(300, chunks_per_path=60)) == [60]
    assert made_up(300, chunks_per_path=60).texts == CORPUS.with_chunks_per_path(60).texts
    one_long = CORPUS.with_chunks_per_path(240, rows=240)
    assert lengths(one_long) == [10, 240]
    assert replace(one_long, texts=CORPUS.texts).texts == CORPUS.texts
    [stamped, *_] = CORPUS.chunks(with_vectors=False, stamped=True)
    assert stamped.metadata["stamp"] == CORPUS.stamps()[0]


def test_chunks_to_write_are_new_or_replace_stored_ones():
    stored = {text.row for text in CORPUS.texts}
    replacing = changes(CORPUS, "seed", 300, is_new=never)
    assert {int(chunk.id) for chunk in replacing} == stored
    new = changes(CORPUS, "seed", 301, is_new=always, path="one.md")
    assert len({chunk.id for chunk in new}) == 301
    assert {chunk.path for chunk in new} == {"one.md"}
    assert [chunk.content for chunk in new[:300]] != [text.content for text in CORPUS.texts]
    assert changes(CORPUS, "seed", 300, is_new=never) == replacing


def test_what_runs_before_a_call_is_not_timed(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(timing, "_clock", lambda: clock[0])

    def passing(seconds):
        clock[0] += seconds

    before = {"a": lambda: passing(5)}
    turns = timing.by_turns({"a": passing, "b": passing}, [1.0] * 10, 60, before=before)
    assert {times.p50 for times in turns.values()} == {1.0}
    calls = {"a": lambda: passing(2)}
    assert timing.rounds(calls, 3, before=before)["a"].longest == 2.0
    assert timing.rounds(calls, 9, least=2, budget=-1)["a"].calls == 2


def test_a_cost_has_processor_time_and_context_switches():
    one = timing.cost(lambda: sum(range(200_000)), of_thread=True)
    assert one.processor > 0
    assert one.preemptions is None or one.preemptions >= 0
    times = Times.of_costs([Cost(1.0, 0.5, 2), Cost(3.0, 1.0, 1), Cost(2.0, 0.7, None)])
    assert times == Times(2.0, pytest.approx(2.9), pytest.approx(2.98), 3, 3.0, 0.7, 1.5)
    assert times.each(2).processor == 0.35
    assert Times.of_costs([Cost(1.0, 0.5, None)]).preemptions is None


def test_the_cost_of_calls_is_shown_for_each_name():
    figures = {
        "hedgerow": Times(1, 1, 1, 1, 1, 0.001, 0.0),
        "hedgerow, after 100": Times(1, 1, 1, 1, 1, 0.02, 1.5),
        "hedgerow, each write": Times(1, 1, 1, 1),
    }
    assert list(usage(figures, "ms")) == [
        "processor time of a call, median: hedgerow 1.00 ms, after 100 20.0 ms",
        "involuntary context switches of a call, mean: hedgerow 0, after 100 1.5",
    ]
    assert list(usage({"hedgerow": Times(1, 1, 1, 1)}, "ms")) == []
