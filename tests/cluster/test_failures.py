"""Servers that are killed, hang or refuse: a clear error, and no lost data."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest

import hedgerow as hr
import opensearch_server
from hedgerow.opensearch import Collection
from opensearch_server import Node
from waiting import LONGEST, until

OAK = (["oak"], False)
SEARCH = {
    "phrases": [OAK],
    "idf": [1.0],
    "norm": (0.3, 0.3),
    "any": [[[0]]],
    "none": [],
    "addends": [(0, 0, 1)],
}
COUNT = 200
HONEST = {"backend_unavailable", "backend_timeout", "partial_results", "bulk_refused"}


@pytest.fixture
def two() -> Iterator[list[Node]]:
    with opensearch_server.cluster(2) as nodes:
        yield nodes


def fill(collection: Collection) -> None:
    collection.upsert({"id": f"oak {n}", "path": "p", "content": "oak"} for n in range(COUNT))


class Callers:
    """Threads that search and write until stopped, and record wrong results."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.acknowledged: list[str] = []
        self.wrong: list[object] = []
        self.answered = threading.Semaphore(0)
        self._stop = threading.Event()
        work = [(self.search, ""), (self.search, ""), (self.write, "one"), (self.write, "other")]
        self._threads = [threading.Thread(target=self._go_on, args=each) for each in work]

    def __enter__(self) -> Callers:  # noqa: PYI034 - a class of this test alone
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait(self, answers: int) -> None:
        for _ in range(answers):
            assert self.answered.acquire(timeout=LONGEST)

    def search(self, _: str, __: int) -> None:
        with self.collection._point_in_time(timeout=20) as moment:
            total, _, (held,) = moment.counts([OAK])
            hits, _ = moment.keyword_hits(SEARCH, 1000)
        if held != COUNT or len(hits) != COUNT or total < COUNT:
            self.wrong.append((total, held, len(hits)))
        self.answered.release()

    def write(self, writer: str, step: int) -> None:
        ids = [f"elm {writer} {step} {number}" for number in range(5)]
        refused = set()
        try:
            self.collection.upsert(({"id": id, "content": "elm"} for id in ids), refresh=False)  # noqa: A001
        except hr.BackendError as error:
            refused = set(error.refused or ids)
            raise
        finally:
            self.acknowledged.extend(set(ids) - refused)

    def _go_on(self, work: Callable[[str, int], None], writer: str) -> None:
        for step in count():
            if self._stop.is_set():
                return
            try:
                work(writer, step)
            except hr.BackendError as error:
                if error.code not in HONEST:
                    self.wrong.append(error)


def test_a_node_that_is_killed_loses_nothing_and_falsifies_nothing(two: list[Node]) -> None:
    """Searches and writes continue while one of two nodes is killed. Each shard has a replica."""
    staying, dying = two
    with Collection.create(staying.url, "notes", shards=4, replicas=1, timeout=60) as collection:
        fill(collection)
        until(lambda: collection.stats().status == "green", "a place for every replica")
        with Callers(collection) as callers:
            callers.wait(20)
            dying.kill()
            before = len(callers.acknowledged)
            callers.wait(20)
            until(lambda: len(callers.acknowledged) > before + 50, "writes after the kill")
        assert callers.wrong == []
        there = {chunk.id for chunk in collection.chunks()}
        assert set(callers.acknowledged) - there == set()
        [problem] = collection.check()
        assert problem.startswith("4 copies of shards have no node (status yellow); start")


def test_a_shard_that_is_gone_is_an_error_or_named(two: list[Node]) -> None:
    staying, dying = two
    with Collection.create(staying.url, "notes", shards=4, replicas=0) as collection:
        fill(collection)
        moment = collection._point_in_time()
        partial = collection._point_in_time(allow_partial=True)
        dying.kill()
        for ask in [
            lambda: moment.counts([OAK]),
            lambda: moment.keyword_hits(SEARCH, 10),
            lambda: moment.chunks(["oak 1"]),
            moment.paths,
            collection._point_in_time,
        ]:
            with pytest.raises(hr.BackendError) as caught:
                ask()
            assert caught.value.code == "partial_results"
            assert "shards of the collection 'notes' did not answer; wait until" in str(
                caught.value
            )
        _, _, (held,) = partial.counts([OAK])
        hits, _ = partial.keyword_hits(SEARCH, 1000)
        assert 0 < held == len(hits) < 200
        report = partial.report()
        assert report["shards"] == {"total": 4, "successful": 2}
        named, *others = report["missing"]
        assert named.startswith("notes-hedgerow-2[")
        assert len(others) == 1
        with collection._point_in_time(allow_partial=True) as later:
            assert later.counts([OAK])[2] == [held]
            assert later.report()["shards"]["successful"] == 2


def test_a_server_that_does_not_answer_takes_no_longer_than_allowed() -> None:
    with (
        opensearch_server.cluster() as (node,),
        Collection.create(node.url, "notes", replicas=0) as collection,
    ):
        fill(collection)
        moment = collection._point_in_time(timeout=2)
        node.pause()
        try:
            started = time.monotonic()
            with pytest.raises(
                hr.BackendError, match="did not answer within 2 s; raise timeout"
            ) as caught:
                moment.counts([OAK])
            assert caught.value.code == "backend_timeout"
            with pytest.raises(hr.BackendError, match="did not answer within 2 s"):
                moment.keyword_hits(SEARCH, 10)
            moment.close()
            # The timeout is two seconds in total; the rest is tolerance for a busy machine.
            assert time.monotonic() - started < 30
        finally:
            node.resume()
        assert len(collection) == 200
        node.kill()
        with pytest.raises(
            hr.BackendError, match="cannot be reached; check that the server"
        ) as caught:
            len(collection)
        assert caught.value.code == "backend_unavailable"


def test_every_refused_chunk_is_named(node, name):
    with Collection.create(node.url, name, replicas=0) as collection:
        long = "x" * 40_000
        given = [
            {"id": str(n), "path": long if n % 3 == 0 else "p", "content": "oak"} for n in range(30)
        ]
        with pytest.raises(hr.BackendError, match="10 of 30 chunks were not written") as caught:
            collection.upsert(given)
        assert caught.value.code == "bulk_refused"
        assert caught.value.refused.keys() == {str(n) for n in range(0, 30, 3)}
        assert all(
            'immense term in field="path"' in reason for reason in caught.value.refused.values()
        )
        assert len(str(caught.value)) < 2000
        assert len(collection) == 20
        with pytest.raises(hr.BackendError, match="1 of 1 chunks"):
            collection.upsert(given[:1])
