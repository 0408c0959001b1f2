"""Filters: the chunks that a search considers (spec/index.md, "Filters")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr

PATHS = ["notes/a.md", "notes/A.md", "notes/b_c.md", "notes%", "wiki/é.md", "notes", ""]
TAGS = ["winter", "Winter", "garden animals", "garden", "animals", "", "nul\0"]
VALUES: list[Any] = [1, 1.0, True, 0, False, None, "1", "", [1, 2], [1.0, 2], {"a": 1}, {"a": None}]
VALUES += [2**53, 2**53 + 1, float(2**53), 2**64 - 1, -(2**63), 0.1]
KEYS = ["kind", "Kind", "nul\0"]

METADATA = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
CHUNKS = st.lists(
    st.builds(
        lambda path, tags, metadata, words: (path, tags, metadata, " ".join(words)),
        st.sampled_from(PATHS),
        st.lists(st.sampled_from(TAGS), max_size=3),
        METADATA,
        st.lists(st.sampled_from(["oak", "elm", "ash", "yew"]), max_size=6),
    ),
    max_size=25,
)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "paths": st.lists(st.sampled_from([*PATHS, "elsewhere"]), max_size=3),
        "path_prefix": st.none()
        | st.sampled_from(["notes", "notes/", "NOTES", "n%", "_", "wiki/é"]),
        "tags": st.lists(st.sampled_from(TAGS), max_size=2),
        "metadata": METADATA,
    },
)


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal in JSON: like Python's equality, except for booleans."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    comparable = type(left) is type(right) or is_number(left, right)
    return bool(comparable and left == right)


def is_number(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def passes(chunk: hr.Chunk, filters: Mapping[str, Any]) -> bool:
    paths, prefix = filters.get("paths"), filters.get("path_prefix")
    metadata = chunk.metadata
    return (
        (not paths or chunk.path in paths)
        and (prefix is None or chunk.path.startswith(prefix))
        and set(filters.get("tags", ())) <= set(chunk.tags)
        and all(
            key in metadata and equal(metadata[key], value)
            for key, value in filters.get("metadata", {}).items()
        )
    )


@given(chunks=CHUNKS, filters=FILTERS, query=st.sampled_from(["oak", "oak elm", "elm NOT yew"]))
@settings(max_examples=250)
def test_filtered_is_the_full_ranking_filtered(chunks, filters, query):
    with hr.Index.in_memory() as index:
        index.upsert(
            hr.Chunk(str(n), path, content, tags=tags, metadata=metadata)
            for n, (path, tags, metadata, content) in enumerate(chunks)
        )
        full = index.search_bm25(query, 1000)
        wanted = [hit for hit in full if passes(index.get(hit.id), filters)]
        expected = [(hit.id, hit.score, rank) for rank, hit in enumerate(wanted)]
        for form in [filters, hr.Filters(**filters)]:
            found = index.search_bm25(query, 1000, filters=form)
            assert [(hit.id, hit.score, hit.bm25_rank) for hit in found] == expected
            assert index.search_bm25(query, 2, filters=form) == found[:2]


@pytest.fixture(scope="module")
def tagged_index():
    with hr.Index.in_memory() as opened:
        opened.upsert(
            hr.Chunk(
                f"c{n}",
                f"notes/{n}.md" if n % 2 else f"wiki/{n}.md",
                "oak " * (n % 7 + 1),
                tags=["even"] if n % 2 == 0 else ["odd", "two words"],
                metadata={"n": n, "nested": {"list": [n, None]}},
            )
            for n in range(300)
        )
        yield opened


def found(index: hr.Index, limit: int = 1000, **filters: Any) -> set[str]:
    return {hit.id for hit in index.search_bm25("oak", limit, filters=filters)}


def test_filters_hold_before_the_cut(tagged_index):
    worst = tagged_index.search_bm25("oak", 1000)[-1]
    assert found(tagged_index, limit=1, paths=[worst.path]) == {worst.id}


def test_every_condition_must_hold(tagged_index):
    assert found(tagged_index, tags=["even"], path_prefix="wiki/1", metadata={"n": 10}) == {"c10"}
    assert found(tagged_index, tags=["odd"], path_prefix="wiki/1") == set()
    assert found(tagged_index, tags=["odd", "even"]) == set()
    assert len(found(tagged_index, tags=["two words"])) == 150
    assert found(tagged_index, tags=["words"]) == set()


def test_nested_metadata(tagged_index):
    assert found(tagged_index, metadata={"nested": {"list": [7.0, None]}}) == {"c7"}
    assert found(tagged_index, metadata={"nested": {"list": [7]}}) == set()


def test_many_paths_meet_no_limit(tagged_index):
    assert len(found(tagged_index, paths=[f"notes/{n}.md" for n in range(40_000)])) == 150


def test_no_condition_is_no_filter(tagged_index):
    for filters in [None, {}, hr.Filters(), {"paths": (), "tags": [], "metadata": {}}]:
        assert len(tagged_index.search_bm25("oak", 1000, filters=filters)) == 300
    assert (
        len(tagged_index.search_bm25("oak", 1000, filters={"path_prefix": None, "tags": None}))
        == 300
    )


def test_fields():
    filters = hr.Filters(("a", "b"), path_prefix="c", tags=["d"], metadata={"e": (1, 2)})
    assert (filters.paths, filters.path_prefix, filters.tags) == (("a", "b"), "c", ("d",))
    assert filters.metadata == {"e": [1, 2]}
    assert hr.Filters() == hr.Filters((), None, (), {})


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (
            {"path_prefx": "a"},
            r"filters has no key \"path_prefx\"; did you mean \"path_prefix\"\? For a key of the "
            r"metadata write \"metadata.path_prefx\"",
        ),
        ({1: "a"}, "filters has no key 1; the keys are"),
        ({"paths": "notes"}, "paths is one str; give a list of strings"),
        ({"tags": "winter"}, "tags is one str; give a list of strings"),
        ({"paths": 3}, "paths must be a list or tuple of str, not int"),
        ({"tags": ["a", 3]}, r"tags\[1\] must be str, not int"),
        ({"path_prefix": b"a"}, "path_prefix must be str, not bytes"),
        ({"metadata": ["a"]}, "metadata must be a mapping with str keys, not list"),
        ({"metadata": {"a": float("nan")}}, r'metadata\["a"\] is not a finite number'),
        ("notes", "filters must be Filters or a mapping, not str"),
    ],
)
def test_wrong_filters_are_refused(tagged_index, filters, message):
    with pytest.raises(hr.InvalidInputError, match=message) as caught:
        tagged_index.search_bm25("oak", filters=filters)
    assert caught.value.code == "invalid_filter"
