"""Chunks and filters with few distinct values, so that they often match."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import hedgerow as hr

TEXTS = ["", "a", "ab", "b", "é", "2024-03-05", "2024-03-05T01:00:00+02:00", "2024-03", "2024"]
NUMBERS = [0, 1, 1.0, -1, 0.5, 2**53, 2**53 + 1, float(2**53), 2**64 - 1, -(2**63), 1e300]
SCALARS = st.sampled_from([None, True, False, *TEXTS, *NUMBERS])
LISTS = st.lists(SCALARS, max_size=3)
OBJECTS = st.dictionaries(st.sampled_from(["n", "m"]), SCALARS | LISTS, max_size=2)
VALUES = SCALARS | LISTS | OBJECTS | st.lists(OBJECTS | LISTS, max_size=2)
KEYS = ["k", "l", "k.n", "l.m", "path"]
METADATA = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
PATHS = ["docs/a.md", "docs/b/c.md", "notes/a.md", "a"]
TAGS = ["a", "b", "two words"]

CHUNKS = st.lists(
    st.tuples(
        st.sampled_from(PATHS),
        st.lists(st.sampled_from(TAGS), max_size=3),
        METADATA,
        st.integers(0, 3),
    ),
    max_size=12,
)

DATES = st.sampled_from(TEXTS[5:]).map(lambda text: {"$date": text})
OPERANDS = st.sampled_from([None, True, False, *TEXTS, *NUMBERS]) | DATES
OPERATORS = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne"]), VALUES.filter(lambda v: v != {}) | DATES),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), OPERANDS),
    st.tuples(st.just("$between"), st.tuples(OPERANDS, OPERANDS).map(list)),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(VALUES | DATES, max_size=3)),
    st.tuples(st.just("$all"), st.lists(SCALARS, min_size=1, max_size=2)),
    st.tuples(st.just("$contains"), SCALARS),
    st.tuples(st.just("$exists"), st.booleans()),
    st.tuples(st.just("$glob"), st.sampled_from(["*", "?", "a*", "docs/*", "*.md", "*/b/*", "2024*"])),
)  # fmt: skip
TESTS = st.lists(OPERATORS, min_size=1, max_size=2).map(dict)
TESTS = TESTS | TESTS.map(lambda test: {"$not": test})
FIELDS = [*KEYS, "metadata.path", "metadata.k", "tags", "ordinal", "id", "k.n.m", "none"]
LEAVES = st.dictionaries(
    st.sampled_from(FIELDS), TESTS | SCALARS | LISTS | OBJECTS, min_size=1, max_size=2
)


def joined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"$and": several}),
        st.fixed_dictionaries({"$or": several}),
        st.fixed_dictionaries({"$nor": several}),
        st.fixed_dictionaries({"$not": inner}),
    )


FILTERS = st.recursive(LEAVES, joined, max_leaves=6)


def chunk(number: int, fields: tuple[str, list[str], dict[str, Any], int]) -> hr.Chunk:
    """Return a chunk from a draw of `CHUNKS`, with a number as its id."""
    path, tags, metadata, ordinal = fields
    return hr.Chunk(str(number), path, "oak", tags=tags, metadata=metadata, ordinal=ordinal)


def of_case(case: dict[str, Any]) -> hr.Chunk:
    """Return the chunk of a case from spec/fixtures/filters.jsonl."""
    given = case["chunk"]
    return hr.Chunk(
        given.get("id", "a"),
        given.get("path", "p"),
        "oak",
        tags=given.get("tags", []),
        metadata=given.get("metadata", {}),
        ordinal=given.get("ordinal", 0),
    )
