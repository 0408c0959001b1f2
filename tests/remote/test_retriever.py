"""Remote results equal those of a local `Retriever`."""

from __future__ import annotations

import asyncio
import pickle
from datetime import date, datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from connecting import awaited
from serving import READER, WRITER

QUERIES = ["when do I cut the hedge", "slugs OR compost", '"no such thing"', "树篱 tea", "", "NOT"]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 3, "offset": 2, "mode": "bm25"},
        {"mode": "semantic", "candidates": 5},
        {"group_by": "path", "skip_retry_ladder": True},
        {"filters": hr.Filters(tags=["scripts"], where={"year": {"$gte": 2000}})},
        {"filters": {"path_prefix": "memory/"}, "limit": 2, "candidates": 7},
        {"question_date": datetime(2026, 4, 18, tzinfo=timezone.utc)},
        {"question_date": "2026-04-18", "recency": "30d"},
    ],
)
def test_searches_are_the_same(index, local, query, options):
    found, expected = index.search(query, **options), local.search(query, **options)
    assert found == expected
    assert [hit.explanation for hit in found] == [hit.explanation for hit in expected]
    assert found.explain() == expected.explain()
    assert awaited(index, "asearch", query, **options) == expected


@settings(max_examples=60, deadline=None)
@given(query=st.text(max_size=60), limit=st.integers(1, 30))
def test_any_text_is_searched_for_as_there(index, local, query, limit):
    assert outcome(index, query, limit) == outcome(local, query, limit)


def outcome(searched, query, limit):
    try:
        return searched.search(query, limit=limit)
    except hr.HedgerowError as error:
        return type(error), error.code, str(error)


def test_batches_are_the_same(index, local):
    queries = ["slugs", "compost", "tea"] * 400
    assert index.search_many(queries, limit=2) == local.search_many(queries, limit=2)
    dates = ["2026-04-18", None, "2026-04-18"]
    asked = ["last friday", "slugs", "yesterday"]
    expected = local.search_many(asked, question_date=dates)
    assert index.search_many(asked, question_date=dates) == expected
    assert awaited(index, "asearch_many", asked, question_date=dates) == expected
    assert index.search_many([]) == []


def test_a_failure_in_a_batch_is_raised_or_returned(index):
    queries = ["slugs", "x" * 200_000]
    one, error = index.search_many(queries, on_error="return")
    assert len(one) > 0
    assert isinstance(error, hr.QueryTooLargeError)
    with pytest.raises(hr.QueryTooLargeError):
        index.search_many(queries)


def test_why_not_is_the_same(index, local):
    for chunk in ["zh", "he", "nowhere", local.search("slugs").results[0].id]:
        expected = local.why_not("slugs", chunk)
        assert index.why_not("slugs", chunk) == expected
        assert str(awaited(index, "awhy_not", "slugs", chunk)) == str(expected)


def test_explanations_and_counts_are_the_same(index, local):
    for query in QUERIES:
        assert index.explain(query) == awaited(index, "aexplain", query) == local.explain(query)
    found, expected = index.stats(), local.stats()
    assert (found.chunks, found.embedder) == (expected.chunks, expected.embedder)
    assert (found.vector_bytes, found.ranking_reason) == (0, "")


def test_chunks_are_written_read_and_removed(index, local):
    done = []
    new = [{"id": f"new/{n}", "path": "new.md", "content": f"mole {n}"} for n in range(1200)]
    new.append(hr.Chunk("own", "new.md", "of its own", embedding=[0.125] * 64))
    assert index.upsert(iter(new), progress=lambda *step: done.append(step)) == 1201
    assert done == [(500, 1201), (1000, 1201), (1201, 1201)]
    try:
        assert index.get("new/7").content == "mole 7"
        assert list(local.index.get("own").embedding) == list(new[-1].embedding)
        assert index.get("nowhere") is None
        assert awaited(index, "aget", "new/8").path == "new.md"
        assert index.stats().chunks == len(local.index)
        assert index.delete(["new/7", "nowhere"]) == hr.Deletion(1, ["new/7"], ["nowhere"])
    finally:
        assert index.delete_path("new.md") == 1200
    assert awaited(index, "aupsert", []) == 0
    assert awaited(index, "adelete", ["nowhere"]) == hr.Deletion(0, [], ["nowhere"])
    assert awaited(index, "adelete_path", "none") == 0
    assert awaited(index, "astats") == index.stats()


@pytest.fixture(params=["index", "local"])
def table(request, local):
    """The index, remote and local, with 600 temporary chunks of one path."""
    table = request.getfixturevalue(request.param)
    chunks = [
        {"id": f"table/{n}", "path": "table.md", "content": f"mole {n}", "metadata": {"n": n}}
        for n in range(600)
    ]
    table.upsert(chunks)
    yield table
    local.delete_path("table.md")


def asynchronously(table, name, *arguments, **options):
    if isinstance(table, hr.Retriever):
        return asyncio.run(getattr(table, name)(*arguments, **options))
    return awaited(table, name, *arguments, **options)


class TestTable:
    ALL = hr.Filters(paths=["table.md"])

    def test_chunks_are_counted(self, table, local):
        assert table.count() == asynchronously(table, "acount") == len(local.index)
        assert (
            table.count(self.ALL) == asynchronously(table, "acount", {"paths": ["table.md"]}) == 600
        )

    def test_many_are_returned_in_the_order_of_ids(self, table):
        ids = ["table/1", "nowhere", *(f"table/{n}" for n in range(600)), "table/1"]
        found = table.get_many(iter(ids))
        assert [one and one.id for one in found] == ["table/1", None, *ids[2:]]
        assert found[0].metadata == {"n": 1}
        assert asynchronously(table, "aget_many", ["nowhere"]) == [None]

    def test_a_filter_says_what_is_changed_and_removed(self, table):
        few = {"where": {"n": {"$lt": 3}}}
        assert table.update(few, metadata={"n": None, "old": True}, tags=["a", "b"]) == 3
        changed = table.get("table/1")
        assert (changed.metadata, list(changed.tags)) == ({"old": True}, ["a", "b"])
        assert asynchronously(table, "aupdate", few, tags=[]) == 0
        assert table.delete(where={"where": {"old": True}}).removed == 3
        assert table.delete(where=self.ALL).removed == 597

    @pytest.mark.parametrize(
        "call",
        [
            lambda table: table.delete(where={}),
            lambda table: table.delete(["table/5"], where=TestTable.ALL),
            lambda table: table.update(TestTable.ALL),
            lambda table: table.update({}, tags=["x"]),
            lambda table: table.count({"pathprefix": "x"}),
            lambda table: table.get_many("xy"),
        ],
    )
    def test_wrong_arguments_change_nothing(self, table, call):
        with pytest.raises(hr.InvalidInputError):
            call(table)
        assert table.count(self.ALL) == 600


def test_a_backup_is_a_new_file(index, tmp_path, local):
    index.backup(tmp_path / "copy.db")
    with hr.Index.open(tmp_path / "copy.db", read_only=True) as copy:
        assert len(copy) == len(local.index)
    with pytest.raises(FileExistsError):
        index.backup(tmp_path / "copy.db")
    with (
        hr.connect(index.url, kind="index", token=READER) as reads,
        pytest.raises(hr.BackendError, match="this token only reads"),
    ):
        reads.backup(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_a_backup_is_not_held_in_memory(index, tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow._adapters.http.LARGEST_ANSWER", 1000)
    index.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_size > 1000
    for no_path in (1.5, b"copy.db", "a\0b"):
        with pytest.raises(hr.InvalidInputError):
            index.backup(no_path)


def test_many_queries_with_many_results_are_sent_in_parts(index, local):
    queries = ["hedgehogs winter", "slugs"] * 6
    found = index.search_many(queries, limit=1000)
    assert [one[0].id for one in found] == [
        one[0].id for one in local.search_many(queries, limit=1000)
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_backup_that_does_not_fit_leaves_no_file(index, tmp_path, monkeypatch):
    def opened(path, mode):
        path.touch()
        return open("/dev/full", mode.replace("x", "w"))  # noqa: PTH123 - not that path

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(OSError, match="No space left"):
        index.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda index: index.search("x", limit=1001), hr.InvalidInputError, "invalid_option"),
        (lambda index: index.search("x", mode="none"), hr.InvalidInputError, "invalid_option"),
        (lambda index: index.search("x" * 200_000), hr.QueryTooLargeError, "query_text_too_large"),
        (
            lambda index: index.search("x", filters={"where": {"a": {"$no": 1}}}),
            hr.InvalidInputError,
            "invalid_filter",
        ),
        (lambda index: index.upsert([{"id": ""}]), hr.InvalidInputError, "invalid_chunk"),
    ],
)
def test_errors_are_those_of_there(index, call, kind, code):
    with pytest.raises(kind) as caught:
        call(index)
    assert type(caught.value) is kind
    assert caught.value.code == code


def test_wrong_types_never_reach_the_server(index):
    for call in [lambda: index.search(3), lambda: index.why_not("x", 3), lambda: index.get(3)]:
        with pytest.raises(hr.InvalidInputError, match="must be a text, not 3"):
            call()


@pytest.mark.parametrize(
    "value", [date(2026, 1, 1), {1, 2}, object(), {"a": b"x"}, float("nan"), {1: 2}, 2**70]
)
def test_metadata_that_is_not_json_is_the_same_error(index, local, value):
    messages = []
    for one in (index, local):
        with pytest.raises(hr.InvalidInputError) as caught:
            one.update({"path_prefix": "nowhere/"}, metadata={"k": value})
        messages.append((caught.value.code, str(caught.value)))
    assert messages[0] == messages[1]


def test_one_text_is_not_a_list_of_ids(index, local):
    index.upsert([hr.Chunk("x", "x.md", "yew"), hr.Chunk("y", "y.md", "yew")])
    for searched in (index, local):
        with pytest.raises(hr.InvalidInputError, match="ids must be a list, not 'xy'") as caught:
            searched.delete("xy")
        assert caught.value.code == "invalid_option"
    with pytest.raises(hr.InvalidInputError, match="ids must be a list"):
        awaited(index, "adelete", "xy")
    with pytest.raises(hr.InvalidInputError, match="ids must be a list, not 5"):
        index.delete(5)
    assert index.delete(iter(["x", "y"])).removed == 2


def test_it_pickles_without_a_token_that_was_passed(index, monkeypatch):
    assert WRITER.encode() not in pickle.dumps(index)
    with (
        pickle.loads(pickle.dumps(index)) as copy,
        pytest.raises(hr.HedgerowError, match="the key is not pickled"),
    ):
        copy.search("slugs")
    monkeypatch.setenv("HEDGEROW_TOKEN", READER)
    with (
        hr.connect(index.url, kind="index") as reads,
        pickle.loads(pickle.dumps(reads)) as copy,
    ):
        assert copy.search("slugs") == index.search("slugs")
        assert repr(reads) == f"RemoteRetriever('{index.url}', name='notes.db')"
        with pytest.raises(hr.BackendError, match="this token only reads") as caught:
            reads.upsert([{"id": "x", "content": "x"}])
    assert caught.value.code == "read_only_token"
