"""Indexed facts and the queries on them, without a server: terms, ranges and patterns."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from filter_oracle import passes, same
from filter_strategies import CHUNKS, FILTERS, chunk, of_case
from hedgerow.opensearch import _facts, _filters
from hedgerow.opensearch._facts import instant
from hedgerow.opensearch._filters import translated
from spec_fixtures import jsonl

CASES = [case for case in jsonl("filters") if isinstance(case["expected"], bool)]


def finds(query: dict[str, Any], facts: set[str]) -> bool:
    """Return whether a query finds a document with these facts, by Lucene's rules: byte by byte."""
    [(kind, body)] = query.items()
    if kind == "bool":
        required = [finds(part, facts) for part in body.get("filter", [])]
        excluded = [finds(part, facts) for part in body.get("must_not", [])]
        some = [finds(part, facts) for part in body.get("should", [])]
        return all(required) and not any(excluded) and (any(some) or "should" not in body)
    if kind in ("match_all", "match_none"):
        return kind == "match_all"
    [value] = body.values()
    tests: dict[str, Callable[[str], bool]] = {
        "term": lambda fact: fact == value,
        "terms": lambda fact: fact in value,
        "prefix": lambda fact: fact.startswith(value["value"]),
        "range": lambda fact: all(
            within(name, fact.encode(), bound.encode()) for name, bound in value.items()
        ),
        "regexp": lambda fact: re.fullmatch(value["value"], fact, re.DOTALL) is not None,
    }
    return any(map(tests[kind], facts))


def within(name: str, fact: bytes, bound: bytes) -> bool:
    less, equal = fact < bound, fact == bound
    return {"gt": not less and not equal, "gte": not less, "lt": less, "lte": less or equal}[name]


def found(one: hr.Chunk, filters: hr.Filters) -> bool:
    query = translated(filters).query
    return query is None or finds(query, set(_facts.facts(one, one.metadata)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases(case: dict[str, Any]) -> None:
    assert found(of_case(case), hr.Filters(where=case["where"])) is case["expected"]


@given(chunks=CHUNKS, where=FILTERS)
@settings(max_examples=300)
def test_what_is_found_is_what_the_specification_says(chunks, where):
    filters = hr.Filters(where=where)
    for number, fields in enumerate(chunks):
        one = chunk(number, fields)
        assert found(one, filters) is passes(one, where)


NUMBERS = (
    st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, -0.0, 2**53, 2**53 + 1, float(2**53), 5e-324, -5e-324, 2**64 - 1, 1.8446744073709552e19])
)  # fmt: skip


@given(left=NUMBERS, right=NUMBERS)
@settings(max_examples=500)
def test_texts_of_numbers_are_ordered_as_the_numbers_are(left, right):
    ours = _facts.number(left), _facts.number(right)
    exact = Fraction(left), Fraction(right)
    assert (ours[0] < ours[1], ours[0] == ours[1]) == (exact[0] < exact[1], exact[0] == exact[1])


JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, "1", "", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner),
    max_leaves=4,
)


@given(left=JSON, right=JSON)
@settings(max_examples=500)
def test_digests_are_equal_where_values_are(left, right):
    assert (_facts.digest(left) == _facts.digest(right)) is same(left, right)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970", (0, 0)),
        ("1970-01-01 00:00:00Z", (0, 0)),
        ("2024-03-05T14:30:15+02:00", (1_709_641_815, 0)),
        ("2024-03-05t14:30:15+02", (1_709_641_815, 0)),
        ("0001-01-01", (-62_135_596_800, 0)),
        ("9999-12-31T23:59:59", (253_402_300_799, 0)),
        ("1970-01-01T00:00:00-00:00:30", (30, 0)),
        ("1970-01-01T00:00:00,123456789123Z", (0, 123_456_789)),
        *(
            (text, None)
            for text in [
                *("", "0000", "24", "20240305", "2024-3-5", "2024-00", "2024-13", "2024-02-30"),
                *("1900-02-29", "2024-03-05T", "2024-03-05T24:00", "2024-03-05T10", "2024T10:00"),
                *("2024-03-05T10:60", "2024-03-05T10:00:60", "2024-03-05T10:00:00.", " 2024"),
                *("2024-03-05T10:00+24:00", "2024-03-05T10:00 Z", "2024 ", "2024-03-05Z", "٢٠٢٤"),
                *("2024-03-05T10:00+", "2024-03-05T10:00+02:0", "2024-03-05T10:00+0200:30"),
            ]
        ),
    ],
)
def test_dates_are_instants(text, expected):
    assert instant(text) == expected


@given(text=st.from_regex(r"[0-9]{4}(-[0-9]{2}){0,2}([T ][0-9:]{5,8})?([.,][0-9]{1,11})?([Z+-][0-9:]{0,8})?", fullmatch=True))  # fmt: skip
@settings(max_examples=300)
def test_dates_are_those_of_the_embedded_index(text):
    moment = {"$date": text}
    if instant(text) is None:
        with pytest.raises(hr.InvalidInputError, match="is no date"):
            hr.Filters(where={"k": moment})
    else:
        hr.Filters(where={"k": moment})


@given(
    pattern=st.text(alphabet="ab*?[]!-.\\^", max_size=8),
    text=st.text(alphabet="ab.-]^\\", max_size=5),
)
@settings(max_examples=500)
def test_patterns_are_those_of_the_embedded_index(pattern, text):
    try:
        filters = hr.Filters(where={"k": {"$glob": pattern}})
    except hr.InvalidInputError:
        return
    one = hr.Chunk("a", "p", "oak", metadata={"k": text})
    with hr.Index.in_memory() as index:
        index.upsert([one])
        expected = bool(index.search_bm25("oak", filters=filters))
    expression = _filters.regular_expression(pattern)
    assert (re.fullmatch(expression, text, re.DOTALL) is not None) is expected


def test_fields_whose_names_are_long_or_strange_are_kept_apart():
    names = ["a", "a\0", "a\0x", "x" * 200, "x" * 201, "x" * 202, "é" * 101, "#", ""]
    fields = [_facts.field(name) for name in names]
    assert len({*fields, _facts.field("a", own=True)}) == len(names) + 1
    assert all(len(field.encode()) < 220 and field.count("\0") == 1 for field in fields)
    metadata = dict.fromkeys(names[:-1], 1)
    for name in names[:-1]:
        one = hr.Chunk("a", "p", "", metadata={name: 1})
        for other in metadata:
            assert found(one, hr.Filters(metadata={other: 1})) is (name == other)


def test_vectors_are_written_with_all_their_digits():
    from array import array  # noqa: PLC0415 - of this test alone

    for bits in [0x3F800000, 0x3F7FFFFF, 0x00000001, 0x80000000, 0x33D6BF95, 0x3DCCCCCD]:
        number = array("f", struct.pack("<I", bits))[0]
        assert struct.pack("<f", float(f"{number:.9g}")) == struct.pack("<I", bits)


@pytest.mark.parametrize("form", ["caf\u00e9/a.md", "cafe\u0301/a.md"])
@pytest.mark.parametrize(
    "filters",
    [
        lambda name: hr.Filters(paths=[name]),
        lambda name: hr.Filters(path_prefix=name[:-4]),
        lambda name: hr.Filters(tags=[name]),
        lambda name: hr.Filters(where={"path": name}),
        lambda name: hr.Filters(where={"tags": {"$contains": name}}),
        lambda name: hr.Filters(where={"path": {"$glob": f"*{name[2:]}"}}),
    ],
)
def test_paths_and_tags_are_equal_in_both_unicode_forms(form, filters):
    for path, expected in [
        ("caf\u00e9/a.md", True),
        ("cafe\u0301/a.md", True),
        ("cafe/a.md", False),
    ]:
        assert found(hr.Chunk("1", path, "oak", tags=[path]), filters(form)) is expected
