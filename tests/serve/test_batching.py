"""Concurrent searches are combined into a batch."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hedgerow._serve.index_routes import Batching
from waiting import LONGEST, until


class Search:
    """Records each batch, then waits for permission to continue."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[str]]] = []
        self.go_on = threading.Semaphore(0)

    def __call__(self, options: str, queries: list[str]) -> list[str | Exception]:
        self.batches.append((options, sorted(queries)))
        assert self.go_on.acquire(timeout=LONGEST)
        if "all fail" in queries:
            raise OSError("gone")
        return [ValueError(query) if query == "bad" else query.upper() for query in queries]


def test_those_that_come_meanwhile_are_the_next_batch() -> None:
    search = Search()
    batching: Batching[str] = Batching(search)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(batching.result, "a", "first")
        until(lambda: len(search.batches) == 1, "the first")
        others = [pool.submit(batching.result, "a", query) for query in ("x", "y", "bad")]
        until(lambda: len(batching._changed._waiters) == 3, "the others")
        # A search with other options does not wait for these.
        other = pool.submit(batching.result, "b", "z")
        until(lambda: len(search.batches) == 2, "the one with other options")
        search.go_on.release(3)
        assert first.result(LONGEST) == "FIRST"
        assert [one.result(LONGEST) for one in others[:2]] == ["X", "Y"]
        with pytest.raises(ValueError, match="bad"):
            others[2].result(LONGEST)
        assert other.result(LONGEST) == "Z"
    assert search.batches[0] == ("a", ["first"])
    assert sorted(search.batches[1:]) == [("a", ["bad", "x", "y"]), ("b", ["z"])]
    assert not batching._waiting
    assert not batching._working


def test_what_fails_as_a_whole_fails_for_each_and_leaves_nothing() -> None:
    search = Search()
    batching: Batching[str] = Batching(search)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(batching.result, "a", "first")
        until(lambda: len(search.batches) == 1, "the first")
        others = [pool.submit(batching.result, "a", query) for query in ("x", "all fail")]
        until(lambda: len(batching._changed._waiters) == 2, "the others")
        search.go_on.release(3)
        first.result(LONGEST)
        for other in others:
            with pytest.raises(OSError, match="gone"):
                other.result(LONGEST)
        assert batching.result("a", "again") == "AGAIN"


def test_many_at_once_are_several_batches() -> None:
    search = Search()
    batching: Batching[str] = Batching(search)
    queries = [f"q{number}" for number in range(100)]
    with ThreadPoolExecutor(101) as pool:
        first = pool.submit(batching.result, "a", "first")
        until(lambda: len(search.batches) == 1, "the first")
        found = [pool.submit(batching.result, "a", query) for query in queries]
        until(lambda: len(batching._changed._waiters) == 100, "the others")
        search.go_on.release(3)
        assert [one.result(LONGEST) for one in found] == [query.upper() for query in queries]
        first.result(LONGEST)
    assert [len(batch) for _, batch in search.batches] == [1, 64, 36]


def test_searches_at_once_have_the_answers_of_searches_alone(of_index) -> None:
    asked = [
        {"query": query, "limit": 1 + n % 2} for n, query in enumerate(["winter", "slugs", ""] * 8)
    ]
    alone = [of_index.post("/v1/search", json=body).json()["results"] for body in asked]
    with ThreadPoolExecutor(8) as pool:
        together = pool.map(lambda body: of_index.post("/v1/search", json=body).json(), asked)
        assert [answer["results"] for answer in together] == alone
