"""The parts of benches/cluster.py that need no server."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

import cluster
import opensearch_server
from counted_collection import CountedCollection
from scaling import corpora, figures, tables
from scaling.figures import Fit, Times


def latency(p50: float, requests: float = 0.0) -> tables.Latency:
    times = Times(p50 / 2, p50, 2 * p50)
    waiting = {"POST _search": times} if requests else {}
    return tables.Latency(times, {"bm25": times, "outside": times}, requests, waiting)


def row(chunks: int, place: str) -> tables.Row:
    costs = {
        mode: [
            tables.Cost(matches, chunks, 2 + matches / 1e3 + chunks / 1e4)
            for matches in (100, 200, 400)
        ]
        for mode in ("bm25", "hybrid")
    }
    written = tables.Written({1: 300.0, 2: 500.0}, 1.0, 2.0)
    return tables.Row(chunks, place, latency(8, 5), {1: 90.0}, written, 5000.0, costs)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "20"], "'20' is not a whole number of at least 200"),
        (["--shards", "none"], "'none' is not a whole number of at least 1"),
        (["--queries", "3"], "'3' is not a whole number of at least 20"),
        (["--data", "nowhere"], "nowhere has no corpus.jsonl.gz"),
    ],
)
def test_it_refuses_what_it_cannot_measure(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        cluster.main(arguments)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_it_says_what_the_server_needs(monkeypatch, capsys):
    monkeypatch.setattr(opensearch_server, "missing_tools", lambda: ["java"])
    assert cluster.main([]) == 2
    assert "sudo apt install maven default-jre-headless" in capsys.readouterr().err


def test_costs_are_found_from_sums_of_them():
    quantities = [(1, 5), (2, 5), (4, 5), (1, 20), (3, 20)]
    fit = figures.fitted(quantities, [3 + 2 * one + 0.5 * other for one, other in quantities])
    assert [fit.fixed, *fit.each] == pytest.approx([3, 2, 0.5])
    assert fit.worst == pytest.approx(0, abs=1e-9)


def test_a_fit_says_by_how_much_it_is_off():
    fit = figures.fitted([(0,), (1,), (2,)], [1.0, 3.0, 3.0])
    assert fit == Fit(pytest.approx(4 / 3), (pytest.approx(1),), pytest.approx(2 / 3))


@pytest.mark.parametrize(
    "quantities", [[(1,)], [(1,), (1,)], [(1, 5), (2, 5), (3, 5)], [(0,), (0,)]]
)
def test_costs_that_cannot_be_told_apart_are_refused(quantities):
    with pytest.raises(ValueError, match=r"do not tell \d costs apart; vary each quantity"):
        figures.fitted(quantities, [1.0] * len(quantities))


def test_times():
    assert Times.of([4.0]) == Times(4, 4, 4)
    assert Times.of(list(range(101))) == Times(0, 50, 95)


def test_how_good_an_order_is():
    relevant = {"a": 1, "b": 1, "c": 0}
    assert figures.ndcg(["a", "b"], relevant) == 1
    assert figures.ndcg(["c", "a", "x", "b"], relevant) == pytest.approx(0.651, abs=1e-3)
    assert figures.ndcg(["x"] * 10 + ["a"], relevant) == 0
    assert figures.overlap(["a", "b"], ["b", "x"]) == 0.5
    assert figures.overlap([], ["x"]) == 1


def test_a_corpus_is_grown_by_mixing_always_the_same(collection):
    first, again = (corpora.grown(collection, 5, 1) for _ in range(2))
    assert [chunk.id for chunk in first.chunks] == ["a", "b", "mixture-0", "mixture-1", "mixture-2"]
    assert [chunk.content for chunk in first.chunks] == [chunk.content for chunk in again.chunks]
    assert first.questions == ["hedgehogs"]
    assert first.judgements["1"] == {"a": 1}
    assert np.linalg.norm(first.chunks[3].embedding) == pytest.approx(1)
    assert [chunk.id for chunk in corpora.grown(collection, 1, 1).chunks] == ["a"]


def test_a_corpus_is_made_up():
    made = corpora.without_texts(200, 20)
    assert (len(made.chunks), len(made.questions), made.dimensions) == (200, 20, 384)
    assert made.judgements == {}


def test_the_tables():
    rows = [row(1000, "2 shards"), row(4000, "2 shards")]
    assert "| 1,000 | 2 shards | 4.0 / 8.0 / 16.0 | 8.00 |  |  | 8.00 |" in tables.latency_table(
        rows
    )
    assert "| 5.0 | POST _search 4.0 / 8.0 / 16.0 |" in tables.request_table(rows)
    shown = "| 90 | 300 (1 thread), 500 (2 threads) | 1.00 + 2.00 | 5,000 |"
    assert shown in tables.throughput_table(rows)
    costs = tables.cost_table(rows)
    assert "| 2 shards | hybrid | 2.2 to 2.8 | 2.00 | 1.000 | 0.100 | 0.00 |" in costs
    # The cost of a vector cannot be fitted if all collections have the same number.
    assert "| 2.2 to 2.5 | 2.10 | 1.000 |  | 0.00 |" in tables.cost_table(rows[:1])
    found = {(1000, "1 shard"): tables.Quality(0.99, 0.7, None)}
    assert "| 1,000 | 1 shard | 99.0% | 0.7000 |  |" in tables.quality_table(found)
    assert tables.summary(rows[0]) == "p50 8.0 ms, 90 searches/s, 500 chunks written/s"


class Kept(CountedCollection):
    """A collection without a server."""

    name = "kept"

    def upsert(self, chunks, *, refresh=True):  # noqa: ARG002 - everything is found at once
        return super().upsert(chunks)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def optimize(self):
        self.calls.append("optimize")

    def stats(self):
        assert self.calls[-1] == "optimize"
        return SimpleNamespace(size_bytes=1000)


def test_all_of_it_but_the_server(collection, monkeypatch, capsys):
    corpus = corpora.grown(collection, 12, 2)
    made, told = [], []

    def create(*_, **__):
        made.append(Kept())
        return made[-1]

    monkeypatch.setattr(cluster, "_collection", create)
    monkeypatch.setattr(cluster, "_opened", lambda *_: made[-1])
    bench = cluster.Bench([1, 3], told.append)
    bench.measure(corpus, SimpleNamespace(url="", cpu_seconds=count().__next__))
    bench.show()
    printed = capsys.readouterr().out
    for place in ("embedded index", "1 shard", "3 shards", "1 shard, fast"):
        assert f"| 12 | {place} |" in printed
        assert any(line.startswith(f"12 chunks, {place}: p50 ") for line in told)
    for way in ("fast vectors", "fast keywords", "both fast"):
        assert f"| 12 | {way} | 100.0% |" in printed
    assert "- load of the machine" in printed


def test_nothing_is_shown_of_nothing(capsys):
    cluster.Bench([1], print).show()
    assert capsys.readouterr().out == ""
