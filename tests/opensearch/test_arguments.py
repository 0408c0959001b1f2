"""Arguments that a collection rejects without a request to its server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.opensearch import Collection
from hedgerow.opensearch._filters import translated
from hedgerow.opensearch._tokens import Phrase


@pytest.fixture
def collection() -> Collection:
    """A collection without a server, so that every request would fail."""
    nothing: Any = None
    return Collection(nothing, nothing)


def test_one_text_is_not_a_list_of_ids(collection: Collection) -> None:
    with pytest.raises(hr.InvalidInputError, match="ids is one str; give a list") as caught:
        collection.delete("abc")
    assert caught.value.code == "invalid_id"


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (5, TypeError, "ids must be an iterable of str, not int"),
        ([5], TypeError, r"ids\[0\] must be a str, not int"),
        (["\ud800"], hr.InvalidInputError, r"ids\[0\] has half of a surrogate pair"),
    ],
)
def test_ids_are_texts(collection: Collection, ids: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        collection.delete(ids)


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (
            hr.Filters(where={"a": {"$gt": "x" * 1000}}),
            "compares texts with one of 1,000 characters",
        ),
        (hr.Filters(path_prefix="x" * 1000), "asks for a beginning of 1,000 characters"),
    ],
)
def test_a_filter_that_is_more_than_a_query_takes(filters: hr.Filters, message: str) -> None:
    with pytest.raises(hr.InvalidInputError, match=message) as caught:
        translated(filters)
    assert caught.value.code == "unsupported_by_backend"
    assert "search an index" in str(caught.value)


def test_a_frequency_beyond_float32_is_an_error() -> None:
    phrase = Phrase.of((["cut", "hed"], True))
    assert phrase.frequency(2 / 3) == 2
    for score in (0.9999, 1.0):
        with pytest.raises(hr.InvalidInputError, match="write its last word in full") as caught:
            phrase.frequency(score)
        assert caught.value.code == "unsupported_by_backend"


class _Moment:
    """Three chunks at one point in time, some of which pass the filter."""

    def __init__(self, passing: list[hr.Chunk]) -> None:
        self._passing = passing

    def ids(self) -> list[str]:
        return [chunk.id for chunk in self._passing]

    def chunk_count(self) -> int:
        return len(self._passing)

    def whole_chunks(self, query: Any = None) -> Iterator[hr.Chunk]:
        ids = self.ids() if query is None else next(iter(query.values()))["id"]
        yield from (one for one in self._passing if one.id in ids)


@pytest.fixture
def table(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """A collection with three chunks, two of them from 2020, behind a double of its server."""
    chunks = {
        id_: hr.Chunk(
            id_, "p", "text", tags=["t"], metadata={"year": year, "old": 1}, embedding=[1.0]
        )
        for id_, year in {"a": 2020, "b": 2020, "c": 2021}.items()
    }

    @contextmanager
    def moment(filters: hr.Filters | None = None) -> Iterator[_Moment]:
        wanted = None if filters is None else filters.where["year"]
        yield _Moment([one for one in chunks.values() if wanted in (None, one.metadata["year"])])

    def upsert(given: list[hr.Chunk]) -> int:
        chunks.update({chunk.id: chunk for chunk in given})
        return len(given)

    monkeypatch.setattr(collection, "_point_in_time", moment)
    monkeypatch.setattr(collection, "_upsert_from", upsert)
    monkeypatch.setattr(collection, "_refresh", lambda: None)
    return collection


def test_many_are_read_and_counted(table: Collection) -> None:
    found = table.get_many(["c", "nope", "a", "c"])
    assert [one and one.id for one in found] == ["c", None, "a", "c"]
    assert (table.count(), table.count({"year": 2020})) == (3, 2)
    assert [one.id for one in table] == ["a", "b", "c"]
    assert [one.id for one in table.chunks(hr.Filters(where={"year": 2021}))] == ["c"]
    assert [one.id for one in table.peek(1)] == ["a"]
    assert "a" in table
    assert "nope" not in table
    assert 1 not in table


def test_an_update_keeps_vectors_and_other_keys(table: Collection) -> None:
    assert table.update({"year": 2020}, metadata={"old": None, "new": 2}, tags=["n"]) == 2
    changed, _, other = table
    assert (changed.metadata, changed.tags) == ({"year": 2020, "new": 2}, ("n",))
    assert list(changed.embedding or []) == [1.0]
    assert (other.metadata, other.tags) == ({"year": 2021, "old": 1}, ("t",))


def test_writes_by_filter_need_a_condition(table: Collection) -> None:
    for where in [{}, hr.Filters(), {"$and": [{}]}]:
        for write in [
            lambda where=where: table.delete(where=where),
            lambda where=where: table.update(where, tags=[]),
        ]:
            with pytest.raises(hr.InvalidInputError, match="no condition") as caught:
                write()
            assert caught.value.code == "invalid_filter"
    for given in [{}, {"ids": ["a"], "where": {"year": 1}}]:
        with pytest.raises(hr.InvalidInputError, match="ids or where"):
            table.delete(**given)  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidInputError, match="changes nothing"):
        table.update({"year": 1})
