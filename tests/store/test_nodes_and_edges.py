"""Nodes, edges and visits: stored values, and rejected ones."""

from __future__ import annotations

import pickle
import sqlite3
import time
from pathlib import Path

import pytest

import hedgerow as hr


def keys(store: hr.Store, pipeline: str = "all", now: int | None = None) -> list[str]:
    return store.query(pipeline, now=now).keys


@pytest.fixture
def store() -> hr.Store:
    store = hr.Store.in_memory()
    store.upsert([hr.Node(key) for key in "abc"])
    return store


def test_a_node_keeps_what_it_is_given():
    node = hr.Node(
        "k",
        type="daily",
        content="text",
        weight=1,
        category="task",
        emotion=2.5,
        provenance="journal",
        updated_at=5,
        created_at=4,
        last_replayed=3,
        replay_interval=7,
        embedding=[3.0, 4.0],
    )
    assert (node.key, node.type, node.content, node.weight) == ("k", "daily", "text", 1.0)
    assert (node.category, node.emotion, node.provenance) == ("task", 2.5, "journal")
    assert (node.updated_at, node.created_at, node.last_replayed) == (5, 4, 3)
    assert node.replay_interval == 7
    assert node.embedding is not None
    assert list(node.embedding) == [3.0, 4.0]
    assert pickle.loads(pickle.dumps(node)) == node != hr.Node("k")
    usual = hr.Node("k")
    assert (usual.type, usual.weight, usual.category, usual.emotion) == (
        "semantic",
        0.7,
        "general",
        0,
    )
    assert (usual.updated_at, usual.created_at, usual.embedding) == (None, None, None)
    assert (
        repr(usual) == "Node(key='k', type='semantic', content='', weight=0.7, category='general')"
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"key": ""}, "the key has 0 characters; give it 1 to 512"),
        ({"key": "é" * 513}, "the key has 513 characters; give it 1 to 512"),
        ({"key": "a\0"}, "the key holds a NUL character; remove it"),
        ({"weight": 1.5}, "the weight must be from 0 to 1, not 1.5"),
        ({"emotion": -1}, "the emotion must be from 0 to 10, not -1"),
        ({"replay_interval": 0}, "the replay_interval must be at least 1 day, not 0"),
        ({"replay_interval": "1"}, "replay_interval must be an int of days from 1, not str"),
        ({"replay_interval": True}, "replay_interval must be an int of days from 1, not bool"),
        ({"replay_interval": -1}, "replay_interval must be from 1 to 4294967295 days, not -1"),
        ({"updated_at": 2**63}, "updated_at is an int of more than 64 bits; give Unix seconds"),
        (
            {"updated_at": 1.5},
            "updated_at must be an int of Unix seconds, a datetime or a date, not float",
        ),
        (
            {"type": "session"},
            'a "session" is of the type "episodic"; give that',
        ),
        (
            {"type": "Two Words"},
            'the type "Two Words" is not a valid name; use 1 to 64 small letters, digits, - and _',
        ),
        (
            {"category": "x"},
            'category must be one of core, general, technical, observation, task, not "x"',
        ),
    ],
)
def test_a_node_that_cannot_be_stored_is_refused(fields, message):
    with pytest.raises(hr.InvalidInputError) as raised:
        hr.Node(**({"key": "k"} | fields))
    assert (raised.value.code, str(raised.value)) == ("invalid_node", message)


def test_nodes_come_change_go_and_come_again(store):
    assert keys(store) == ["a", "b", "c"]
    assert store.upsert([hr.Node("b", weight=0.1), hr.Node("d"), hr.Node("d")]) == 2
    assert keys(store, "sort:weight asc") == ["b", "a", "c", "d"]
    store.link("a", "b")
    store.link("b", "c", 0.5, rel="causal")
    assert keys(store, "neighbors:b") == ["a", "c"]
    assert store.delete(["b", "b", "nobody"]) == 1
    assert keys(store) == ["a", "c", "d"]
    assert keys(store, "neighbors:a") == []
    assert store.index.get("b") is None
    assert store.upsert([hr.Node("b", content="again")]) == 1
    assert keys(store, "neighbors:b") == ["a", "c"], "edges stay"
    assert keys(store, "search:again,mode=bm25") == ["b"]
    assert store.index.check() == []
    with pytest.raises(hr.InvalidInputError) as raised:
        store.upsert([hr.Node("x"), "y"])
    assert str(raised.value) == "nodes[1] must be a Node, not str"
    assert keys(store, "key:x") == []


def test_times_that_are_not_given():
    store = hr.Store.in_memory()
    before = int(time.time())
    store.upsert([hr.Node("new"), hr.Node("old", updated_at=100)])
    store.upsert([hr.Node("old", updated_at=200)])
    rows = store.query("all | select:key,created,timestamp").rows
    assert rows is not None
    [new, old] = rows
    assert new[1] == new[2] >= before
    assert old == ["old", 100, 200], "a replaced node stays as old as it was"
    assert store.query("age:<1m").keys == ["new"]


def test_edges_are_checked(store):
    store.link("a", "b", 0.5)
    store.link("a", "b", 0.25)
    assert store.query("neighbors:a").scores == [0.25], "an edge replaces the one there is"
    store.link("b", "a", 1)
    assert store.query("neighbors:a").scores == [1.0], "the strongest counts"
    assert store.unlink("b", "a") is True
    assert store.unlink("b", "a") is False
    assert store.query("neighbors:a").scores == [0.25]
    for arguments, code, message in [
        (("a", "a"), "invalid_edge", 'the node "a" cannot be linked to itself'),
        (("a", "b", 0), "invalid_edge", "the strength must be above 0 and at most 1, not 0"),
        (("a", "b", float("nan")), "invalid_edge", "strength is not a number (nan)"),
        (("a", "x"), "unknown_node", 'there is no node "x"; upsert it first'),
    ]:
        with pytest.raises(hr.InvalidInputError) as raised:
            store.link(*arguments)
        assert raised.value.code == code
        assert str(raised.value).startswith(message)
    with pytest.raises(hr.InvalidInputError) as raised:
        store.unlink("x", "a")
    assert raised.value.code == "unknown_node"
    store.delete(["c"])
    store.link("a", "c")
    assert keys(store, "neighbors:a") == ["b"], "a deleted node is there to be joined"


def test_visits_are_kept_for_each_agent(store):
    store.visit("linker", "a", 100)
    store.visit("linker", "b", 150, "failed")
    store.visit("other", "c", 100)
    assert keys(store, "visited:linker", 200) == ["a"]
    assert keys(store, "not-visited:linker,1m", 160) == ["a", "b", "c"]
    store.visit("linker", "a", 140, "modified")
    store.visit("linker", "a", 120, "skipped")
    assert keys(store, "visited:linker,1m", 160) == ["a"], "the last visit counts"
    store.upsert([hr.Node("d")])
    store.visit("linker", "d", 100)
    assert keys(store, "sort:recency(linker) asc | limit:2", 200) == ["a", "d"]
    with pytest.raises(hr.InvalidInputError) as raised:
        store.visit("linker", "a", 1, "done")
    assert raised.value.code == "invalid_option"
    with pytest.raises(hr.InvalidInputError) as raised:
        store.visit("linker", "x", 1)
    assert raised.value.code == "unknown_node"
    with pytest.raises(hr.InvalidInputError) as raised:
        store.visit("linker", "a", "now")
    assert raised.value.code == "invalid_number"


def test_a_store_lives_in_the_file_of_an_index(tmp_path):
    path = tmp_path / "memory.db"
    with hr.Index.open(path) as index:
        index.upsert([hr.Chunk("c", "p", "a chunk")])
    with hr.Store.open(path) as store, hr.Store.open(path) as other:
        store.upsert([hr.Node("n", content="a node", embedding=[1.0, 0.0])])
        assert keys(other) == ["n"]
        store.upsert([hr.Node("n2")])
        other.link("n", "n2")
        other.visit("agent", "n2", 5)
        assert keys(store, "neighbors:n | visited:agent") == ["n2"]
        assert [hit.id for hit in store.index.search_bm25("node")] == ["n"]
        assert store.index.search_vector([1.0, 0.0], 1)[0].id == "n"
        assert len(store.index) == 3
        copy = pickle.loads(pickle.dumps(store))
        assert keys(copy) == ["n", "n2"]
        assert repr(copy) == f"Store.open({str(path)!r})"
        copy.close()
    with pytest.raises(hr.IndexFileError) as raised:
        store.query("all")
    assert raised.value.code == "index_closed"
    memory = hr.Store.in_memory()
    assert repr(memory) == "Store.in_memory()"
    with pytest.raises(hr.InvalidInputError) as raised:
        pickle.dumps(memory)
    assert raised.value.code == "not_picklable"
    with pytest.raises(hr.InvalidInputError) as raised:
        hr.Store.open(":memory:")
    assert raised.value.code == "invalid_option"


def test_damage_is_found(tmp_path):
    path = tmp_path / "memory.db"
    with hr.Store.open(path) as store:
        store.upsert([hr.Node("a"), hr.Node("b")])
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        INSERT INTO edges VALUES (1, 9, 'link', 1.0);
        INSERT INTO visits (node, agent, at, outcome) VALUES (7, 'x', 1, 'processed');
        UPDATE nodes SET key = 'lost' WHERE key = 'a';
        """
    )
    connection.close()
    with hr.Store.open(path) as store:
        assert store.index.check() == [
            '1 nodes have no chunk: "lost"',
            '1 edges lead to no node: "1 to 9"',
            '1 visits are of no node: "visit 1"',
        ]
    connection = sqlite3.connect(path)
    connection.execute("UPDATE nodes SET category = 'novel'")
    connection.commit()
    connection.close()
    with hr.Store.open(path) as store, pytest.raises(hr.IndexFileError) as raised:
        store.query("all")
    assert raised.value.code == "index_damaged"


class TestRegisteredTypes:
    def test_they_are_kept_in_the_file(self, tmp_path):
        path = tmp_path / "memory.db"
        with hr.Store.open(path, types=["decision", "daily", "decision"]) as store:
            assert store.types == ["episodic", "daily", "weekly", "monthly", "semantic", "decision"]
            store.upsert([hr.Node("a", type="decision"), hr.Node("b")])
        with hr.Store.open(path, types=["bug"]) as store:
            assert store.types[5:] == ["bug", "decision"]
            assert keys(store, "type:decision") == ["a"]
            assert keys(store, "!type:decision,bug") == ["b"]
            assert store.query("all | select:type").rows == [["decision"], ["semantic"]]

    def test_another_handle_learns_of_them(self, tmp_path):
        path = tmp_path / "memory.db"
        with hr.Store.open(path) as first, hr.Store.open(path) as second:
            with pytest.raises(hr.PipelineError, match='there is no type "decison"'):
                first.query("type:decison")
            second._register(["decision"])
            second.upsert([hr.Node("a", type="decision")])
            assert keys(first, "type:decision") == ["a"]
            with pytest.raises(hr.PipelineError, match='did you mean "decision"') as caught:
                first.query("type:decison")
            assert caught.value.suggestion == "decision"

    def test_a_node_of_another_type_is_refused(self):
        store = hr.Store.in_memory(types=["bug"])
        with pytest.raises(hr.InvalidInputError) as caught:
            store.upsert([hr.Node("a"), hr.Node("b", type="novel")])
        assert caught.value.code == "invalid_node"
        assert caught.value.message == (
            "nodes[1]: type must be one of episodic, daily, weekly, monthly, semantic, bug, not "
            '"novel"; or open the store with types=["novel"]'
        )
        assert keys(store) == []

    @pytest.mark.parametrize(
        ("types", "message"),
        [
            (["a b"], 'the type "a b" is not a valid name'),
            ([""], 'the type "" is not a valid name'),
            (["x" * 65], "use 1 to 64 small letters"),
            (["session"], 'a "session" is of the type "episodic"'),
            ("bug", "types is one str; give a list of strings"),
            ([1], r"types\[0\] must be str"),
        ],
    )
    def test_what_is_no_name_of_a_type_is_refused(self, tmp_path, types, message):
        with pytest.raises(hr.InvalidInputError, match=message):
            hr.Store.open(tmp_path / "memory.db", types=types)
        assert not (tmp_path / "memory.db").exists()
        with pytest.raises(hr.InvalidInputError, match=message):
            hr.Store.in_memory(types=types)
        with pytest.raises(hr.InvalidInputError, match=message):
            hr.parse_pipeline("all", types=types)

    def test_a_pipeline_that_names_one_prints_and_pickles(self):
        pipeline = hr.parse_pipeline("type:bug,session", types=["bug", "fix"])
        assert str(pipeline) == "type:bug,episodic"
        assert repr(pipeline) == "parse_pipeline('type:bug,episodic', types=['bug'])"
        assert pickle.loads(pickle.dumps(pipeline)) == pipeline
        with pytest.raises(hr.PipelineError, match='there is no type "bug"'):
            hr.parse_pipeline("type:bug")


def test_legs_may_lack_one():
    store = hr.Store.in_memory()
    store.upsert([hr.Node("a")])
    result = store.query("search:x", legs=lambda _, leg: ["a"] if leg == "bm25" else None)
    assert (result.keys, result.warnings) == (["a"], [])


def test_the_class_opens_a_store(tmp_path: Path) -> None:
    with hr.Store(tmp_path / "a.db", types=["bug"]) as store:
        assert "bug" in store.types
    with hr.Store(str(tmp_path / "a.db"), read_only=True) as store:
        assert "bug" in store.types
    with pytest.raises(hr.IndexFileError):
        hr.Store("")
    with pytest.raises(TypeError):
        hr.Store()  # type: ignore[call-arg]
