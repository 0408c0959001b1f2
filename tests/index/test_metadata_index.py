"""Declared keys: the file stores them, and keeps their values consistent with the chunks."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import hedgerow as hr
from filter_oracle import passes

YEARS = {"year": {"$gte": 2024}}


def chunk(number: int, **metadata: object) -> hr.Chunk:
    return hr.Chunk(
        str(number), f"notes/{number}.md", "oak", metadata={"year": 2020 + number % 6, **metadata}
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


def found(index: hr.Index, where: dict[str, object] | None = None) -> set[str]:
    return {hit.id for hit in index.search_bm25("oak", 1000, filters=where or YEARS)}


def test_the_file_remembers_what_was_declared(path: Path) -> None:
    with hr.Index.open(path, metadata_index=["year"]) as index:
        index.upsert(chunk(n) for n in range(30))
        assert index.stats().metadata_index == ("year",)
    with hr.Index.open(path) as index:
        assert index.stats().metadata_index == ("year",)
        assert len(found(index)) == 10
    with hr.Index.open(path, metadata_index=["tags", "year", "tags"]) as index:
        assert index.stats().metadata_index == ("year", "tags")
        assert index.check() == []
    with hr.Index.open(path, metadata_index=["year"], read_only=True) as index:
        assert index.stats().metadata_index == ("year", "tags")


def test_a_key_is_indexed_for_the_chunks_that_are_there(path: Path) -> None:
    with hr.Index.open(path, ranking="memory") as index:
        index.upsert(chunk(n) for n in range(30))
        assert len(found(index)) == 10
    with hr.Index.open(path, ranking="memory", metadata_index=["year"]) as index:
        assert index.check() == []
        assert len(found(index)) == 10
        index.upsert([chunk(0, year=2030), chunk(5, year=1999)])
        index.delete(["4"])
        expected = {one.id for one in index.chunks() if passes(one, YEARS)}
        assert found(index) == expected
        assert {"0", "5", "4"} & expected == {"0"}
        assert index.check() == []


def test_reading_alone_declares_nothing(path: Path) -> None:
    hr.Index.open(path).close()
    with pytest.raises(hr.IndexFileError) as caught:
        hr.Index.open(path, metadata_index=["year"], read_only=True)
    assert caught.value.code == "index_read_only"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("year", "metadata_index is one str; give a list of strings"),
        ([1], "metadata_index[0] must be str, not int"),
        ([""], 'metadata_index has "", which names no key; write it as in a filter'),
        (["$year"], 'metadata_index has "$year", which names no key; write it as in a filter'),
        (3, "metadata_index must be a list or tuple of str, not int"),
    ],
)
def test_wrong_keys_are_refused(keys: object, message: str) -> None:
    with pytest.raises(hr.InvalidInputError) as caught:
        hr.Index.in_memory(metadata_index=keys)  # type: ignore[arg-type]
    assert (str(caught.value), caught.value.code) == (message, "invalid_option")


def test_check_finds_what_is_out_of_step(path: Path) -> None:
    with hr.Index.open(path, metadata_index=["year"]) as index:
        index.upsert(chunk(n) for n in range(3))
    for statement, problem in [
        (
            "DELETE FROM metadata_values WHERE value = '2021'",
            '1 chunks are not in the index of their metadata: "1"',
        ),
        (
            "INSERT INTO metadata_values VALUES (1, '2021', 2), (1, '7', 1)",
            '1 keys have values in the index that no chunk has: "year"',
        ),
    ]:
        connection = sqlite3.connect(path)
        with connection:
            connection.execute(statement)
        connection.close()
        with hr.Index.open(path) as index:
            assert index.check() == [problem]


def test_a_value_that_is_no_json_is_damage(path: Path) -> None:
    with hr.Index.open(path, metadata_index=["year"]) as index:
        index.upsert([chunk(1)])
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE metadata_values SET value = 'x'")
    connection.close()
    with hr.Index.open(path, ranking="memory") as index:
        with pytest.raises(hr.IndexFileError) as caught:
            found(index)
        assert caught.value.code == "index_damaged"


def test_two_handles_see_what_the_other_writes_and_declares(path: Path) -> None:
    with (
        hr.Index.open(path, ranking="memory") as one,
        hr.Index.open(path, ranking="memory") as other,
    ):
        one.upsert(chunk(n) for n in range(30))
        assert [len(found(index)) for index in (one, other) for _ in range(3)] == [10] * 6
        with hr.Index.open(path, metadata_index=["year"]) as third:
            assert len(found(third)) == 10
        one.upsert([chunk(100, year=2024)])
        other.upsert([chunk(101, year=2025), chunk(4, year=0)])
        for index in (one, other):
            assert len(found(index)) == 11
            assert len(found(index, {"year": {"$gt": 2024.5}})) == 6
        one.upsert(chunk(n, year=2024) for n in range(1000, 6000))
        assert len(other.search_vector([1.0], 1, filters=YEARS)) == 0
        assert len({hit.id for hit in other.search_bm25("oak", 9999, filters=YEARS)}) == 5011
        assert other.check() == []


def test_what_filters_take_is_counted_and_let_go() -> None:
    with hr.Index.in_memory(ranking="memory", metadata_index=["year"]) as index:
        index.upsert(chunk(n) for n in range(300))
        assert index.stats().filter_bytes == 0
        found(index)
        taken = index.stats().filter_bytes
        assert taken > 0
        for n in range(2000):
            found(index, {"year": {"$gte": n}})
        assert index.stats().filter_bytes < 16 << 20
    fresh = hr.Index.in_memory()
    assert fresh.stats().metadata_index == ()
    fresh.close()
