"""Bulk writes to an overloaded server, and the outcome of each item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.opensearch import Collection, _writing
from hedgerow.opensearch._client import Client


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The delays between retries, which are recorded instead of waited."""
    noted: list[float] = []
    monkeypatch.setattr(_writing, "sleep", noted.append)
    return noted


@pytest.fixture
def collection(node, name):
    with Collection.create(node.url, name, replicas=0) as made:
        yield made


def between(monkeypatch: pytest.MonkeyPatch, change: Callable[[int, list[Any]], list[Any]]) -> None:
    """Let `change` edit the responses to bulk writes. It also gets their number."""
    asked = Client.call
    numbers = iter(range(1000))

    def call(self: Client, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = asked(self, method, path, body, **options)
        if path.endswith("/_bulk"):
            answer["items"] = change(next(numbers), answer["items"])
        return answer

    monkeypatch.setattr(Client, "call", call)


def busy(_: Any) -> dict[str, Any]:
    return {"index": {"status": 429, "error": {"type": "rejected", "reason": "queue is full"}}}


def chunks(count: int) -> list[dict[str, Any]]:
    return [{"id": str(number), "content": "oak"} for number in range(count)]


def test_what_is_refused_for_now_is_sent_again(collection, monkeypatch, waits):
    sent: list[int] = []

    def every_second(_: int, items: list[Any]) -> list[Any]:
        sent.append(len(items))
        return [busy(item) if at % 2 else item for at, item in enumerate(items)]

    between(monkeypatch, every_second)
    assert collection.upsert(chunks(8)) == 8
    assert sent == [8, 4, 2, 1]
    assert len(collection) == 8
    assert len(waits) == 3
    assert all(0.05 * 2**at <= wait <= 0.1 * 2**at for at, wait in enumerate(waits))


def test_what_is_refused_to_the_end_is_named_and_all_else_written(collection, monkeypatch, waits):
    between(
        monkeypatch,
        lambda _, items: [
            busy(item) if len(items) < 3 or at < 2 else item for at, item in enumerate(items)
        ],
    )
    with pytest.raises(hr.BackendError, match="2 of 6 chunks were not written") as caught:
        collection.upsert(chunks(6))
    assert caught.value.code == "bulk_refused"
    assert caught.value.refused == {"0": "queue is full", "1": "queue is full"}
    assert len(waits) == _writing.TRIES - 1
    assert max(waits) <= _writing.LONGEST_WAIT


def test_a_connection_that_breaks_after_the_write_changes_nothing(collection, monkeypatch):
    def broken_once(number: int, items: list[Any]) -> list[Any]:
        if number == 0:
            raise hr.BackendError("gone", code="backend_unavailable")
        return items

    collection.upsert([{"id": "0", "content": "oak", "embedding": [3, 4]}])
    between(monkeypatch, broken_once)
    # The write names the version it replaces, because the chunk keeps its vector. That version
    # exists.
    collection.upsert([{"id": "0", "path": "new", "content": "oak"}, {"id": "1", "content": "elm"}])
    assert collection.get("0").path == "new"
    assert list(collection.get("0").embedding) == pytest.approx([0.6, 0.8])
    assert len(collection) == 2


def test_a_server_that_stays_away_is_told_of_by_every_chunk(collection, monkeypatch):
    def broken(_: int, __: list[Any]) -> list[Any]:
        raise hr.BackendError("nobody there", code="backend_unavailable")

    between(monkeypatch, broken)
    with pytest.raises(hr.BackendError, match="3 of 3 chunks were not written") as caught:
        collection.upsert(chunks(3))
    assert caught.value.refused == dict.fromkeys(["0", "1", "2"], "nobody there")


def test_a_server_short_of_memory_may_have_some_later(collection):
    """The message resembles the one about patterns that are too large."""
    breaks = {"type": "circuit_breaking_exception", "reason": "[parent] Data too large, [1] bytes"}
    problem = collection._client.problem_of({"status": 429, "error": breaks})
    assert problem.code == "backend_unavailable"
    assert "Data too large, [1] bytes); try again later" in str(problem)


@pytest.mark.parametrize("kind", ["disconnected", "not_connected", "closed"])
def test_a_node_that_leaves_while_it_answers(collection, kind):
    """The server reports it as an internal error, with status 500."""
    gone = {"type": f"node_{kind}_exception", "reason": "[Node 1][127.0.0.1:9300] disconnected"}
    problem = collection._client.problem_of({"status": 500, "error": gone})
    assert problem.code == "backend_unavailable"
    assert str(problem).endswith(
        "lost a node while it answered ([Node 1][127.0.0.1:9300] disconnected); try again later"
    )


def test_other_errors_end_a_write_at_once(collection, monkeypatch, waits):
    def refused(_: int, __: list[Any]) -> list[Any]:
        raise hr.BackendError("no", code="backend_refused")

    between(monkeypatch, refused)
    with pytest.raises(hr.BackendError, match=r"^no$"):
        collection.upsert(chunks(3))
    assert waits == []


def test_a_chunk_that_another_writer_keeps_changing(collection, monkeypatch):
    collection.upsert([{"id": "0", "content": "oak", "embedding": [3, 4]}])
    conflict = {"index": {"status": 409, "error": {"type": "conflict"}}}
    between(monkeypatch, lambda _, items: [conflict for _ in items])
    with pytest.raises(hr.BackendError, match="somebody else kept changing them") as caught:
        collection.upsert([{"id": "0", "path": "new", "content": "oak"}])
    assert (caught.value.code, list(caught.value.refused)) == ("bulk_refused", ["0"])


def test_requests_have_a_size(collection, monkeypatch):
    monkeypatch.setattr(_writing, "MOST_BYTES", 20_000)
    sent: list[int] = []
    between(monkeypatch, lambda _, items: [sent.append(len(items)), items][1])
    collection.upsert({"id": str(n), "content": "oak " * 500} for n in range(30))
    assert len(sent) > 5
    assert sum(sent) == 30
    assert len(collection) == 30
