"""A store as a collection of nodes, and bulk links and visits."""

from __future__ import annotations

from datetime import date, datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr

KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.fixture
def store() -> hr.Store:
    store = hr.Store.in_memory()
    store.upsert([hr.Node(key) for key in "abc"])
    return store


def visited(store: hr.Store, agent: str) -> list[str]:
    return store.query(f"visited:{agent},1d", now=100).keys


@given(st.sets(KEYS), st.sets(KEYS))
def test_a_store_is_its_live_nodes_in_the_order_of_their_keys(kept: set[str], gone: set[str]):
    with hr.Store.in_memory() as store:
        store.upsert([hr.Node(key, content=key) for key in kept | gone])
        store.delete(gone)
        left = sorted(kept - gone)
        assert [node.key for node in store] == left
        assert [node.content for node in store] == left
        assert len(store) == len(left)
        assert all(key in store for key in left)
        assert not any(key in store for key in gone)


def test_nodes_come_with_all_they_have():
    with hr.Store.in_memory() as store:
        store.upsert([hr.Node("a", type="daily", content="oak", embedding=[1, 0])])
        [node] = store
        assert node == store.get("a")
        assert node in store
        assert hr.Node("a") not in store, "another of the same key"
        assert 3 not in store
        assert "\ud800" not in store


def test_an_iteration_sees_one_state(store):
    nodes = iter(store)
    assert next(nodes).key == "a"
    store.delete(["b"])
    store.upsert([hr.Node("bb")])
    assert [node.key for node in nodes] == ["b", "c"]
    assert [node.key for node in store] == ["a", "bb", "c"]


def test_a_closed_store_says_so(store):
    store.close()
    for ask in (len, iter, lambda store: "a" in store):
        with pytest.raises(hr.IndexFileError, match="closed"):
            ask(store)


def test_many_links_are_made_at_once(store):
    edges = [
        ("a", "b"),
        ["b", "c", 0.5],
        {"a": "c", "b": "a", "rel": "causal"},
        ("a", "b", 0.25, None),
    ]
    assert store.link_many(iter(edges)) == 3, "one replaces another"
    assert store.neighbors(["a"]) == {"a": [("c", 1.0), ("b", 0.25)]}
    assert store.unlink("c", "a", rel="causal")
    assert store.link_many([]) == 0


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("a", "x")], 'edges[1]: there is no node "x"; upsert it first'),
        ([("a", "a")], 'edges[0]: the node "a" cannot be linked to itself'),
        (
            [("a", "b", 2)],
            "edges[0]: the strength must be above 0 and at most 1, not 2",
        ),
        ([("a", "b", "strong")], "edges[0].strength must be a number, not str"),
        ([("a", 3)], "edges[0].b must be str, not int"),
        (
            [("a",)],
            "edges[0] must be (a, b[, strength][, rel]), or a mapping with these names, "
            "not 1 values",
        ),
        (
            ["ab"],
            "edges[0] must be (a, b[, strength][, rel]), or a mapping with these names, not str",
        ),
        (
            [{"a": "a", "to": "b"}],
            "edges[0] has the key 'to'; the keys are a, b, strength, rel",
        ),
        (
            [{"a": "a"}],
            'edges[0] has no "b"; it must be (a, b[, strength][, rel]), or a mapping with these '
            "names",
        ),
        (
            5,
            "edges must be an iterable of (a, b[, strength][, rel]), or a mapping with these "
            "names, not int",
        ),
    ],
)
def test_links_that_cannot_be_made_are_named_and_none_is(store, edges, message):
    with pytest.raises(hr.InvalidInputError) as raised:
        store.link_many(edges)
    assert str(raised.value) == message
    assert store.neighbors(["a"]) == {"a": []}


def test_many_visits_are_noted_at_once(store):
    visits = [
        ("linker", "a", 50),
        {"agent": "linker", "key": "b", "at": 60, "outcome": "failed"},
        ("other", "c", datetime(1970, 1, 1, 0, 1, 40, tzinfo=timezone.utc), "skipped"),
    ]
    assert store.visit_many(visits) == 3
    assert visited(store, "linker") == ["a"]
    assert visited(store, "other") == ["c"]
    assert store.visit_many(()) == 0


@pytest.mark.parametrize(
    ("visit", "message"),
    [
        (("agent", "x", 5), 'visits[1]: there is no node "x"; upsert it first'),
        (
            ("agent", "a", "now"),
            "visits[1].at must be an int of Unix seconds, a datetime or a date, not str",
        ),
        (
            ("agent", "a", 5, "done"),
            'visits[1].outcome must be "processed", "modified", "skipped" or "failed", not "done"',
        ),
        (
            ("agent", "a"),
            "visits[1] must be (agent, key, at[, outcome]), or a mapping with these names, "
            "not 2 values",
        ),
    ],
)
def test_visits_that_cannot_be_noted_are_named_and_none_is(store, visit, message):
    with pytest.raises(hr.InvalidInputError) as raised:
        store.visit_many([("agent", "b", 90), visit])
    assert str(raised.value).startswith(message)
    assert visited(store, "agent") == []


def test_a_read_only_store_takes_none(tmp_path):
    with hr.Store.open(tmp_path / "s.db") as store:
        store.upsert([hr.Node("a"), hr.Node("b", updated_at=date(2026, 4, 18))])
    with hr.Store.open(tmp_path / "s.db", read_only=True) as store:
        assert [node.key for node in store] == ["a", "b"]
        with pytest.raises(hr.HedgerowError, match="open for reading only"):
            store.link_many([("a", "b")])
