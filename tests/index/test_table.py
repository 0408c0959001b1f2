"""The chunks of an index as a table: reads, filters, iteration (spec/index.md, "As a table")."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import hedgerow as hr
from index_doubles import chunk, ids

EMPTY = [{}, hr.Filters(), {"$and": [{}]}, {"$or": [{}, {"$not": {}}]}, {"paths": []}]


@pytest.fixture(params=["file", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hr.Index:
    """Six chunks from three years, with vectors, in a file or in memory."""
    made = hr.Index(tmp_path / "table.db") if request.param == "file" else hr.Index.in_memory()
    made.upsert(
        chunk(
            f"c{n}",
            "oak tree",
            tags=["a"],
            metadata={"year": 2020 + n // 2, "n": n},
            embedding=[n, 1],
        )
        for n in range(6)
    )
    return made


class TestReading:
    def test_many_come_in_the_order_of_their_ids(self, table: hr.Index) -> None:
        found = table.get_many(iter(["c3", "nope", "c0", "c3"]))
        assert [one and one.id for one in found] == ["c3", None, "c0", "c3"]
        assert found[0] == table.get("c3")
        assert table.get_many([]) == []
        assert len(table.get_many(f"x{n}" for n in range(40_000))) == 40_000

    def test_ids_must_be_texts(self, table: hr.Index) -> None:
        with pytest.raises(hr.InvalidInputError, match=r"ids\[1\] must be str, not int"):
            table.get_many(["c0", 1])  # type: ignore[list-item]
        with pytest.raises(hr.InvalidInputError, match="is one str; give a list"):
            table.get_many("c0")

    def test_an_id_is_in_it(self, table: hr.Index) -> None:
        assert "c0" in table
        for other in ["C0", "", 0, None, "\ud800", chunk("c0", "x")]:
            assert other not in table

    def test_counting(self, table: hr.Index) -> None:
        assert table.count() == len(table) == 6
        assert table.count({"year": 2021}) == 2
        assert table.count(hr.Filters(tags=["b"])) == 0
        assert table.count({}) == 6
        with pytest.raises(hr.InvalidInputError, match="gte"):
            table.count({"year": {"gte": 2020}})

    def test_peeking(self, table: hr.Index) -> None:
        assert ids(table.peek(2)) == ["c0", "c1"]
        assert ids(table.peek()) == [f"c{n}" for n in range(6)]
        with pytest.raises(hr.InvalidInputError, match="limit"):
            table.peek(0)


class TestIterating:
    def test_over_all_and_by_filter(self, table: hr.Index) -> None:
        assert ids(table) == [f"c{n}" for n in range(6)]
        assert ids(table.chunks({"year": {"$gte": 2021}, "n": {"$ne": 3}})) == ["c2", "c4", "c5"]
        assert list(table.chunks({"year": 1})) == []
        assert next(iter(table)).embedding is not None

    def test_it_shows_the_state_in_which_it_began(self, table: hr.Index) -> None:
        table.upsert(chunk(f"d{n:03}", "elm") for n in range(600))
        before = list(table)
        seen = []
        for position, one in enumerate(table):
            seen.append(one)
            if position == 3:
                table.delete(where={"id": {"$glob": "d*"}})
                table.upsert([chunk("c5", "changed"), chunk("e", "new")])
        assert seen == before
        assert ids(table) == ["c0", "c1", "c2", "c3", "c4", "c5", "e"]

    def test_several_at_once_see_a_state_each(self, table: hr.Index) -> None:
        first = iter(table)
        next(first)
        table.delete(["c1", "c2"])
        assert len(list(iter(table))) == 4
        assert len(list(first)) == 5

    def test_an_iteration_left_open_does_no_harm(self, table: hr.Index) -> None:
        left = [iter(table) for _ in range(40)]
        for one in left:
            next(one)
        table.upsert([chunk("f", "fir")])
        assert ids(table.search_bm25("fir")) == ["f"]
        del left
        table.optimize()
        assert table.check() == []

    def test_a_closed_index_ends_it(self, table: hr.Index) -> None:
        table.upsert(chunk(f"d{n:03}", "elm") for n in range(600))
        left = iter(table)
        next(left)
        table.close()
        with pytest.raises(hr.IndexFileError, match="closed") as caught:
            list(left)
        assert caught.value.code == "index_closed"
        assert list(left) == []

    def test_threads_share_one(self, table: hr.Index) -> None:
        table.upsert(chunk(f"d{n:04}", "elm") for n in range(2_000))
        shared, seen = iter(table), []
        threads = [
            threading.Thread(target=lambda: seen.extend(one.id for one in shared)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen) == sorted(ids(table))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_fork_ends_it(self, tmp_path: Path) -> None:
        with hr.Index(tmp_path / "forked.db") as index:
            index.upsert(chunk(f"d{n:03}", "elm") for n in range(600))
            left = iter(index)
            next(left)
            child = os.fork()
            if child == 0:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            with pytest.raises(hr.IndexFileError, match=r"ended by a fork.*begin it again"):
                list(left)
            assert len(list(index)) == 600


class TestDeleting:
    def test_by_filter(self, table: hr.Index) -> None:
        assert table.delete(where={"year": {"$lt": 2022}, "n": {"$ne": 0}}) == 3
        assert ids(table) == ["c0", "c4", "c5"]
        assert table.delete(where={"year": 1}) == 0
        assert table.delete(where=hr.Filters(tags=["a"])) == 3
        assert len(table) == 0
        assert table.check() == []

    def test_many(self, table: hr.Index) -> None:
        table.upsert(chunk(f"d{n:04}", "elm", metadata={"n": n % 2}) for n in range(3_000))
        assert table.delete(where={"n": 1, "id": {"$glob": "d*"}}) == 1_500
        assert table.count() == 1_506
        assert len(table.search_bm25("elm", 5_000)) == 1_500
        assert table.check() == []

    @pytest.mark.parametrize("where", EMPTY)
    def test_a_filter_without_a_condition_is_refused(self, table: hr.Index, where: object) -> None:
        for write in [
            lambda: table.delete(where=where),
            lambda: table.update(where, tags=["b"]),
        ]:
            with pytest.raises(hr.InvalidInputError, match=r"no condition.*exists") as caught:
                write()
            assert caught.value.code == "invalid_filter"
        assert table.count({"tags": ["a"]}) == 6

    def test_ids_or_a_filter(self, table: hr.Index) -> None:
        for given in [{}, {"ids": ["c0"], "where": {"n": 1}}, {"ids": None, "where": None}]:
            with pytest.raises(hr.InvalidInputError, match="ids or where"):
                table.delete(**given)
        assert table.delete(where={"id": {"$exists": True}}) == 6


class TestUpdating:
    def test_metadata_is_merged_and_tags_are_replaced(self, table: hr.Index) -> None:
        vectors = {one.id: one.embedding for one in table}
        assert table.update({"year": 2020}, metadata={"n": None, "new": {"k": [1]}}) == 2
        assert table.update({"n": {"$gte": 4}}, tags=["beech", "c"]) == 2
        found = {one.id: one for one in table}
        assert [found[id_].metadata for id_ in ["c0", "c2"]] == [
            {"year": 2020, "new": {"k": [1]}},
            {"year": 2021, "n": 2},
        ]
        assert [found[id_].tags for id_ in ["c0", "c5"]] == [("a",), ("beech", "c")]
        assert {one.id: one.embedding for one in table} == vectors
        assert ids(table.search_bm25("beech", 9)) == ["c4", "c5"], "tags are searched"
        assert table.count({"new": {"$exists": True}}) == 2
        assert table.check() == []

    def test_it_counts_what_passed_and_writes_what_changed(self, tmp_path: Path) -> None:
        with hr.Index(tmp_path / "same.db") as index:
            index.upsert([chunk("a", "oak", metadata={"n": 1}, tags=["t"])])
        before = (tmp_path / "same.db").read_bytes()
        with hr.Index(tmp_path / "same.db") as index:
            assert index.update({"id": "a"}, metadata={"n": 1, "none": None}, tags=("t",)) == 1
            assert index.update({"id": "b"}, tags=[]) == 0
        assert (tmp_path / "same.db").read_bytes() == before

    def test_nothing_is_embedded_again(self, table: hr.Index) -> None:
        calls: list[int] = []

        class Counting:
            name = "counting"

            def embed(self, texts: list[str]) -> list[list[float]]:
                calls.append(len(texts))
                return [[1.0, 0.0] for _ in texts]

        retriever = hr.Retriever(table, embedder=Counting())
        table.update({"n": {"$gte": 0}}, metadata={"seen": True}, tags=["z"])
        retriever.embed_missing() if hasattr(retriever, "embed_missing") else None
        assert sum(calls) == 0

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "changes nothing: name metadata or tags"),
            ({"metadata": {}}, "changes nothing"),
            ({"metadata": {"a": float("nan")}}, "metadata"),
            ({"metadata": [1]}, "metadata must be a mapping"),
            ({"tags": "one"}, "tags is one str"),
        ],
    )
    def test_what_is_no_change_says_why(
        self, table: hr.Index, options: dict[str, object], message: str
    ) -> None:
        with pytest.raises(hr.InvalidInputError, match=message):
            table.update({"n": 1}, **options)  # type: ignore[arg-type]

    def test_a_declared_key_follows(self, tmp_path: Path) -> None:
        with hr.Index(tmp_path / "declared.db", metadata_index=["kind"]) as index:
            index.upsert(chunk(f"c{n}", "oak", metadata={"kind": "a"}) for n in range(3))
            index.update({"id": {"$in": ["c0", "c1"]}}, metadata={"kind": "b"})
            assert index.count({"kind": "b"}) == 2
            assert index.check() == []

    def test_a_read_only_handle_refuses(self, tmp_path: Path) -> None:
        hr.Index(tmp_path / "read.db").close()
        with hr.Index(tmp_path / "read.db", read_only=True) as index:
            for write in [
                lambda: index.delete(where={"n": 1}),
                lambda: index.update({"n": 1}, tags=[]),
            ]:
                with pytest.raises(hr.IndexFileError) as caught:
                    write()
                assert caught.value.code == "index_read_only"
