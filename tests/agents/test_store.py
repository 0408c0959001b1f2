"""The effects of runs on a store: claims, records, and the transaction that ends a run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from agents_doubles import NOON, garden
from agents_oracle import PlainStore
from hedgerow import _engine
from hedgerow.agents import (
    Categorize,
    Delete,
    LinkAdd,
    Note,
    Refine,
    Rename,
    Weight,
    WriteNode,
)

EXPIRES = NOON + 180


def begin(store, keys, agent="linker", **more):
    last, now, least = more.get("last"), more.get("now", NOON), more.get("least", 1)
    return _engine._begin_run(
        store, agent, "sha", keys, least=least, last=last, now=now, expires=now + 180
    )


def apply(store, run, actions, **more):
    usual = {"now": NOON, "visited": [], "shown": [], "rejected": []}
    acted = [(action, line, json.dumps(action.to_dict())) for line, action in enumerate(actions, 1)]
    return _engine._apply_run(
        store, run, actions=acted, tokens_in=10, tokens_out=5, **(usual | more)
    )


def did(store, *actions, shown=()):
    """Return why each action of a run was rejected."""
    last = _engine._agent_runs(store, "linker", NOON, 1)
    run, _ = begin(store, store.query("all").keys, last=last[0]["id"] if last else None)
    return apply(store, run, actions, shown=shown)


def free(store, now=NOON):
    return _engine._unclaimed(store, "all", now).keys


def test_get_and_neighbors():
    store = garden("abc", weight=0.5, category="task", embedding=[0.0, 2.0])
    node = store.get("a")
    assert node is not None
    assert (node.content, node.weight, node.category) == ("about a", 0.5, "task")
    assert (node.updated_at, node.created_at) == (100, 100)
    assert node.embedding is not None
    assert list(node.embedding) == [0.0, 1.0]
    assert store.get("x") is None
    store.link("a", "b", 0.5)
    store.link("c", "a", 0.5)
    store.link("b", "a", 0.7, rel="causal")
    assert store.neighbors(["a", "b", "x"]) == {"a": [("b", 0.7), ("c", 0.5)], "b": [("a", 0.7)]}
    store.delete(["b"])
    assert store.get("b") is None
    assert store.neighbors(["a", "b"]) == {"a": [("c", 0.5)]}
    with pytest.raises(hr.InvalidInputError) as raised:
        store.neighbors("a")
    assert str(raised.value) == "keys is one str; give a list of strings"


def test_a_run_claims_its_nodes_and_strong_neighbours():
    store = garden("abcdef")
    store.link("a", "b", 0.3)  # 0.3 * 0.7 = 0.21
    store.link("a", "c", 0.2)  # 0.14
    assert begin(store, ["a", "d", "nobody"]) == (1, ["a", "d"])
    assert free(store) == ["c", "e", "f"]
    assert begin(store, ["a", "b", "c"], "other", least=2) is None, "only one is free"
    assert begin(store, ["a", "b", "c"], "other") == (2, ["c"])
    assert free(store) == ["e", "f"]
    assert _engine._end_run(store, 1, now=NOON + 1, status="stopped")
    assert free(store) == ["a", "b", "d", "e", "f"]
    assert not _engine._end_run(store, 1, now=NOON + 1, status="failed"), "it has ended"
    assert free(store, EXPIRES) == ["a", "b", "c", "d", "e", "f"], "claims expire"
    for status in ["gone", "ok", "started"]:
        with pytest.raises(hr.InvalidInputError) as raised:
            _engine._end_run(store, 2, now=NOON, status=status)  # type: ignore[arg-type]
        assert raised.value.code == "invalid_option"
        assert raised.value.message == f'a run ends "failed" or "stopped", not "{status}"'


def test_an_agent_has_one_run_at_a_time():
    store = garden()
    assert begin(store, ["a"]) == (1, ["a"])
    assert begin(store, ["b"], last=1) is None, "it is in progress"
    apply(store, 1, [])
    assert begin(store, ["b"]) is None, "somebody ran it since"
    assert begin(store, ["b"], last=1) == (2, ["b"])
    assert begin(store, ["c"], last=2, now=EXPIRES - 1) is None
    assert begin(store, ["c"], last=2, now=EXPIRES) == (3, ["c"]), "the time of run 2 is up"


def test_claimed_nodes_leave_their_place_to_others():
    store = garden("abcdef")
    store.link("b", "c")
    begin(store, ["a"], "other")
    ask = lambda pipeline: _engine._unclaimed(store, pipeline, NOON).keys  # noqa: E731
    assert ask("all | sort:key | limit:2") == ["b", "c"]
    assert ask("seed:a,b | limit:1") == ["b"]
    store.link("a", "b")
    assert ask("seed:b | spread,k=1 | limit:2") == ["b"], "what is claimed gets no score"
    assert ask("seed:b | spread,max_hops=1 | limit:2") == ["b", "c"]
    assert _engine._unclaimed(store, "all | count", NOON).count == 5


def test_every_action_does_what_it_says():
    store = garden("abcd", embedding=[1.0, 0.0])
    store.link("c", "d", 0.5)
    run, _ = begin(store, ["a", "b", "c"])
    actions = [
        LinkAdd("a", "b", 0.25),
        Weight("a", 0.9),
        Categorize("b", "task"),
        WriteNode("sum", "both", "high", ("a", "b"), "weekly"),
        Refine("b", "about b, better"),
        Rename("c", "see"),
        Delete("d"),
        Note("done"),
    ]
    assert apply(store, run, actions, visited=["a", "b", "c"]) == [None] * 8
    assert store.neighbors(["a"]) == {"a": [("sum", 1.0), ("b", 0.25)]}
    a, b, c, written = (store.get(key) for key in ["a", "b", "see", "sum"])
    assert a is not None
    assert b is not None
    assert c is not None
    assert written is not None
    assert (a.weight, a.updated_at) == (0.9, 100), "what it says is as old as it was"
    assert (b.category, b.content, b.updated_at) == ("task", "about b, better", NOON)
    assert (b.created_at, b.embedding) == (100, None), "a vector is of a text"
    assert (c.content, c.embedding is not None) == ("about c", True)
    assert store.get("c") is store.get("d") is None
    assert (written.type, written.weight, written.provenance) == (
        "weekly", 0.9, "agent:linker:write",
    )  # fmt: skip
    assert store.query("visited:linker | sort:key").keys == ["a", "b", "see"]
    assert store.query("search:better,mode=bm25").keys == ["b"]
    assert store.index.check() == []
    [done] = _engine._agent_runs(store, "linker", NOON, 9)
    assert (done["status"], done["ended"], done["applied"], done["rejected"]) == ("ok", NOON, 8, 0)
    assert (done["tokens_in"], done["tokens_out"]) == (10, 5)
    assert free(store) == ["a", "b", "see", "sum"]


def test_a_rename_keeps_edges_and_visits_and_is_seen_by_who_is_open(tmp_path):
    with hr.Store.open(tmp_path / "s.db") as store, hr.Store.open(tmp_path / "s.db") as other:
        store.upsert([hr.Node("a", content="oak"), hr.Node("b"), hr.Node("c")])
        store.link("a", "b")
        store.visit("linker", "a", 5)
        assert other.query("neighbors:b").keys == ["a"]
        assert did(store, Rename("a", "z")) == [None]
        for seen in (store, other):
            assert seen.query("all").keys == ["b", "c", "z"]
            assert seen.query("neighbors:b").keys == ["z"]
            assert seen.query("visited:linker").keys == ["z"]
            assert seen.query("search:oak,mode=bm25").keys == ["z"]


def test_what_cannot_be_is_rejected_with_a_reason_and_stops_nothing_else():
    store = garden("abc")
    store.link("b", "a", 0.5)
    store.upsert([hr.Node("gone")])
    store.delete(["gone"])
    store.index.upsert([hr.Chunk("chunk", "p", "no node")])
    categories = "core, general, technical, observation, task"
    cases = [
        (LinkAdd("a", "x"), 'there is no node "x"'),
        (LinkAdd("a", "gone"), 'the node "gone" is deleted'),
        (LinkAdd("a", "a"), 'the node "a" cannot be linked to itself'),
        (LinkAdd("a", "c", 0), "the strength must be above 0 and at most 1, not 0"),
        (LinkAdd("a", "b"), '"a" and "b" are linked already, with 0.5'),
        (Weight("a", 1.5), "the weight must be from 0 to 1, not 1.5"),
        (Weight("a", float("nan")), "the weight must be from 0 to 1, not NaN"),
        (Weight("x", 1), 'there is no node "x"'),
        (Categorize("a", "novel"), f'the category must be one of {categories}, not "novel"'),
        (WriteNode("a", "t"), 'there is a node "a" from "manual"; refine it, or write another'),
        (WriteNode("gone", "t"), 'the node "gone" was deleted'),
        (WriteNode("chunk", "t"), '"chunk" is the id of a chunk that is not a node'),
        (WriteNode("", "t"), "the key has 0 characters; give it 1 to 512"),
        (WriteNode("new", "t", "sure"),
         'the confidence must be one of high, medium, low, not "sure"'),
        (WriteNode("new", "t", type="novel"),
         'the type must be one of episodic, daily, weekly, monthly, semantic, not "novel"'),
        (WriteNode("new", "t", covers=("a", "x")), 'there is no node "x"'),
        (WriteNode("new", "t", covers=("new",)), 'the node "new" cannot be linked to itself'),
        (Refine("gone", "t"), 'the node "gone" is deleted'),
        (Refine("b", "t"), '"b" was changed since the run began'),
        (Delete("b"), '"b" was changed since the run began'),
        (Delete("x"), 'there is no node "x"'),
        (Rename("a", "b"), 'the key "b" is taken, or was taken by a deleted node'),
        (Rename("a", "gone"), 'the key "gone" is taken, or was taken by a deleted node'),
        (Rename("a", "chunk"), '"chunk" is the id of a chunk that is not a node'),
        (Rename("a", "k" * 513), "the key has 513 characters; give it 1 to 512"),
    ]  # fmt: skip
    reasons = did(store, *[action for action, _ in cases], Weight("c", 0.1), shown=[("b", "older")])
    assert reasons == [reason for _, reason in cases] + [None]
    node = store.get("c")
    assert node is not None
    assert node.weight == 0.1
    assert store.query("all").keys == ["a", "b", "c"]
    assert store.index.check() == []


def test_a_node_that_is_rewritten_is_derived_from_what_its_new_text_covers():
    store = garden("abc")
    assert did(store, WriteNode("sum", "first", covers=("a", "b")), LinkAdd("sum", "a", 0.5)) == [
        None, None,
    ]  # fmt: skip
    assert did(store, WriteNode("sum", "second", covers=("b", "c"))) == [None]
    assert store.neighbors(["sum"]) == {"sum": [("b", 1.0), ("c", 1.0), ("a", 0.5)]}
    assert did(store, WriteNode("sum", "third")) == [None]
    assert store.neighbors(["sum"]) == {"sum": [("a", 0.5)]}, "edges of other relations stay"


def test_an_agent_writes_over_its_own_nodes_alone():
    store = garden("a")
    assert did(store, WriteNode("sum", "first", covers=("a",))) == [None]
    assert did(store, WriteNode("sum", "second", "low")) == [None]
    written = store.get("sum")
    assert written is not None
    assert (written.content, written.weight) == ("second", 0.5)
    run, _ = begin(store, ["a"], "other")
    [reason] = apply(store, run, [WriteNode("sum", "third")])
    assert reason == 'there is a node "sum" from "agent:linker:write"; refine it, or write another'
    store.delete(["sum"])
    assert did(store, WriteNode("sum", "again")) == [None]
    again = store.get("sum")
    assert again is not None
    assert again.content == "again"


def test_nodes_that_another_run_has_claimed_are_left_alone():
    store = garden("abc")
    begin(store, ["a"], "other")
    run, keys = begin(store, ["a", "b"])
    assert keys == ["b"]
    theirs = 'the agent "other" is at work on "a"'
    actions = [Weight("a", 1), Refine("a", "x"), Delete("a"), Rename("a", "z"), LinkAdd("a", "b")]
    assert apply(store, run, actions) == [theirs] * 4 + [None]


def test_a_run_that_is_over_is_not_applied():
    store = garden()
    run, _ = begin(store, ["a"])
    assert apply(store, run, [Weight("a", 1)], now=EXPIRES) is None
    assert _engine._end_run(store, run, now=EXPIRES, status="failed", error="too slow")
    assert apply(store, run, [Weight("a", 1)]) is None
    assert apply(store, 99, [Weight("a", 1)]) is None
    node = store.get("a")
    assert node is not None
    assert node.weight == 0.7
    assert _engine._run_records(store, run) == []


def test_what_became_of_each_action_is_kept_in_the_order_of_the_reply():
    store = garden()
    run, _ = begin(store, ["a"])
    apply(store, run, [Weight("a", 1), Weight("x", 1)], rejected=[(1, '"FOO"', "unknown")])
    assert [(line, reason) for line, _, reason in _engine._run_records(store, run)] == [
        (1, None),
        (1, "unknown"),
        (2, 'there is no node "x"'),
    ]


def test_a_rehearsal_says_the_same_and_keeps_nothing():
    store = garden()
    actions = [Delete("a"), Weight("a", 1), Rename("b", "z")]
    said = _engine._rehearse(store, "linker", actions, [], NOON)
    assert said == [None, 'the node "a" is deleted', None]
    assert store.query("all").keys == ["a", "b", "c", "d"]
    assert did(store, *actions) == said
    assert store.query("all").keys == ["c", "d", "z"]


def test_failures_in_a_row():
    store = garden()

    def stand(definition="sha", now=NOON):
        found = _engine._standing(store, "linker", definition, now, NOON - 5)
        return found["failures"], found["ok_runs"]

    def end(status, **more):
        last = _engine._agent_runs(store, "linker", NOON, 1)
        run, _ = begin(store, ["a"], last=last[0]["id"] if last else None)
        if status == "ok":
            apply(store, run, [])
        else:
            _engine._end_run(store, run, now=NOON, status=status, **more)

    assert stand() == (0, 0)
    end("failed", error="one")
    end("stopped")
    end("failed", error="two", permanent=True)
    assert stand() == (2, 0)
    assert _engine._standing(store, "linker", "sha", NOON, 0)["failure"]["error"] == "two"
    assert stand("another") == (0, 0), "the file changed"
    end("ok")
    assert stand() == (0, 1)
    end("failed")
    _engine._resume_agent(store, "linker")
    assert stand() == (0, 1)
    begin(store, ["a"], last=5)
    assert stand() == (0, 1)
    assert stand(now=EXPIRES) == (1, 1), "its process is gone"
    [lost] = _engine._agent_runs(store, "linker", EXPIRES, 1)
    assert (lost["status"], lost["ended"]) == ("failed", EXPIRES)
    assert lost["error"] == ("the run did not end in its time; its process was killed, or hung")


def test_the_graph_in_numbers():
    store = garden("abcd")
    for one, other in ["ab", "bc", "ca"]:
        store.link(one, other)
    nodes, edges, communities, alone, isolation, cc = _engine._topology(store)
    assert (nodes, edges, communities, alone) == (4, 3, 2, 1)
    assert (isolation, cc) == (1.0, 0.75)
    assert _engine._topology(hr.Store.in_memory()) == (0, 0, 0, 0, 0.0, 0.0)


KEYS = st.sampled_from([*"abcdx", "new"])
NUMBERS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])
ACTIONS = st.one_of(
    st.builds(LinkAdd, KEYS, KEYS, NUMBERS),
    st.builds(Weight, KEYS, NUMBERS),
    st.builds(Categorize, KEYS, st.sampled_from(["task", "core", "novel"])),
    st.builds(WriteNode, KEYS, st.text(max_size=9), covers=st.lists(KEYS, max_size=2).map(tuple)),
    st.builds(Refine, KEYS, st.text(max_size=9)),
    st.builds(Delete, KEYS),
    st.builds(Rename, KEYS, KEYS),
)


@given(st.lists(ACTIONS, max_size=12))
def test_the_transaction_does_what_plain_python_would(actions):
    store, plain = garden(), PlainStore("abcd")
    expected = [plain.act(action) for action in actions]
    reasons = did(store, *actions)
    done = [reason is None for reason in reasons]
    assert done == expected, list(zip(actions, reasons, strict=True))
    nodes = {key: store.get(key) for key in store.query("all").keys}
    assert {key: node and (node.content, node.weight) for key, node in nodes.items()} == plain.nodes
    joined = store.neighbors(plain.nodes)
    pairs = {frozenset((key, other)) for key, found in joined.items() for other, _ in found}
    assert pairs == {frozenset(ends) for _, *ends in plain.edges if {*ends} <= set(plain.nodes)}
    assert store.index.check() == []
