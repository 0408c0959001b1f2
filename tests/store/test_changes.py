"""A handle's memory after changes of edges and nodes equals that of a new handle."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr

COUNT = 60
NOW = 1_800_000_000

place = st.integers(0, COUNT - 1)
strength = st.sampled_from([0.25, 0.5, 1.0])
relation = st.sampled_from(["link", "cites"])
pair = st.tuples(place, place).filter(lambda pair: pair[0] != pair[1])
change = st.one_of(
    st.tuples(st.just("link"), pair, strength, relation),
    st.tuples(st.just("unlink"), pair, relation),
    st.tuples(st.just("elsewhere"), pair, strength, relation),
    st.tuples(st.sampled_from(["delete", "upsert"]), st.integers(0, COUNT + 3)),
)


def key(number: int) -> str:
    return f"n{number}"


def filled(path: Path) -> hr.Store:
    """Return a store with so many edges that a few changes are a small share."""
    store = hr.Store.open(path)
    store.upsert(hr.Node(key(number), updated_at=NOW) for number in range(COUNT))
    store.link_many(
        [(key(n), key((n + step) % COUNT), 0.5) for n in range(COUNT) for step in range(1, 12)]
    )
    return store


def apply(store: hr.Store, path: Path, change: tuple) -> None:
    match change:
        case ("link", (one, other), strength, rel):
            store.link(key(one), key(other), strength, rel)
        case ("unlink", (one, other), rel):
            store.unlink(key(one), key(other), rel)
        case ("elsewhere", (one, other), strength, rel):
            with hr.Store.open(path) as another:
                another.link(key(one), key(other), strength, rel)
        case ("delete", number):
            store.delete([key(number)])
        case ("upsert", number):
            store.upsert([hr.Node(key(number), updated_at=NOW)])


def said(store: hr.Store) -> list[object]:
    """Return every result that depends on edges."""
    pipelines = [
        "all | select:key,degree,priority,community,isolation",
        "seed:n1,n7 | spread,max_hops=3",
        "neighbors:n3",
    ]
    results = [store.query(pipeline, now=NOW) for pipeline in pipelines]
    return [(result.keys, result.scores, result.rows) for result in results]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(change, max_size=4), max_size=5))
def test_a_handle_says_what_a_new_one_does(rounds):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with filled(path) as store:
            said(store)
            for changes in rounds:
                for change in changes:
                    apply(store, path, change)
                with hr.Store.open(path) as new:
                    assert said(store) == said(new)
