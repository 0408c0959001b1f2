"""Filters with operators, compared with an evaluator written from spec/filters.md."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from filter_oracle import passes
from filter_strategies import CHUNKS, FIELDS, FILTERS, chunk, of_case
from spec_fixtures import jsonl

DECLARED = st.lists(st.sampled_from(FIELDS), max_size=4, unique=True)


@given(chunks=CHUNKS, changes=CHUNKS, where=FILTERS, declared=DECLARED)
@settings(max_examples=400)
def test_what_passes_is_what_the_specification_says(chunks, changes, where, declared):
    """Compare searches by keywords and vectors, after changes, with and without declared keys."""
    with hr.Index.in_memory(ranking="memory", metadata_index=declared) as index:
        index.upsert(chunk(n, fields) for n, fields in enumerate(chunks))
        for step in range(3):
            stored = list(index.chunks())
            expected = [one.id for one in stored if passes(one, where)]
            for filters in [{"where": where}, hr.Filters(where=where)]:
                for _ in range(2):
                    found = [hit.id for hit in index.search_bm25("oak", 99, filters=filters)]
                    assert sorted(found) == sorted(expected), (step, where)
            if step == 0:
                index.upsert(chunk(2 * n, fields) for n, fields in enumerate(changes))
            else:
                index.delete(["0", "3"])
        assert index.check() == []


@given(chunks=CHUNKS, where=FILTERS, declared=DECLARED)
@settings(max_examples=100)
def test_every_way_to_search_leaves_the_same(chunks, where, declared):
    with hr.Index.in_memory(ranking="fts5", metadata_index=declared) as index:
        index.upsert(
            hr.Chunk(
                str(n), path, "oak", tags=tags, metadata=metadata, ordinal=n, embedding=[1.0, n]
            )
            for n, (path, tags, metadata, _) in enumerate(chunks)
        )
        expected = sorted(one.id for one in index.chunks() if passes(one, where))
        filters = hr.Filters(where=where)
        ways = {
            "fts5": index.search_bm25("oak", 99, filters=filters),
            "vectors": index.search_vector([1.0, 0.5], 99, filters=filters),
            "given": hr.Retriever(index, trigram_chunks=index.chunks()).search(
                "docs notes a b c", filters=filters, limit=99, candidates=99
            ),
        }
        assert sorted(hit.id for hit in ways["fts5"]) == expected
        assert sorted(hit.id for hit in ways["vectors"]) == expected
        assert {hit.id for hit in ways["given"]} <= set(expected)


CASES = jsonl("filters")


@pytest.mark.parametrize("declared", [False, True])
def test_cases(declared: bool) -> None:
    for case in CASES:
        if isinstance(case["expected"], dict):
            continue
        keys = sorted(key for key in case["where"] if not key.startswith("$"))
        with hr.Index.in_memory(metadata_index=keys if declared else []) as index:
            index.upsert([of_case(case)])
            assert passes(of_case(case), case["where"]) is case["expected"], case
            for _ in range(2):
                hits = index.search_bm25("oak", filters={"where": case["where"]})
                assert bool(hits) is case["expected"], case


@pytest.mark.parametrize("case", [case for case in CASES if isinstance(case["expected"], dict)])
def test_what_cannot_be_read_is_an_error_that_says_what_to_write(case: dict[str, Any]) -> None:
    with pytest.raises(hr.InvalidInputError) as caught:
        hr.Filters(where=case["where"])
    assert {"error": str(caught.value)} == case["expected"]
    assert caught.value.code == "invalid_filter"


COMPOSED, DECOMPOSED = "caf\u00e9/a.md", "cafe\u0301/a.md"


@pytest.mark.parametrize("name", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("declared", [[], ["path", "tags"]])
@pytest.mark.parametrize(
    "filters",
    [
        lambda name: hr.Filters(paths=[name]),
        lambda name: hr.Filters(path_prefix=name[:-4]),
        lambda name: hr.Filters(tags=[name]),
        lambda name: {"path": name},
        lambda name: {"path": {"$in": [name]}},
        lambda name: {"path": {"$nin": ["z", name]}, "$nor": [{"path": "z"}]},
        lambda name: {"path": {"$glob": f"{name[:-4]}*"}},
        lambda name: {"tags": {"$all": [name]}},
        lambda name: {"tags": {"$contains": name}},
    ],
)
def test_paths_and_tags_are_equal_in_both_unicode_forms(name, declared, filters):
    """Compare SQL, columns and the arguments of a retriever."""
    paths = [COMPOSED, DECOMPOSED, "cafe/a.md"]
    chunks = [hr.Chunk(str(n), path, "oak", tags=[path, "b"]) for n, path in enumerate(paths)]
    asked = filters(name)
    expected = {"2"} if "$nor" in str(asked) else {"0", "1"}
    for ranking in ("fts5", "memory"):
        with hr.Index.in_memory(ranking=ranking, metadata_index=declared) as index:
            index.upsert(chunks)
            for _ in range(3):
                assert {hit.id for hit in index.search_bm25("oak", filters=asked)} == expected
            fuzzy = hr.Retriever(index, trigram_chunks=chunks).search("cafx", filters=asked)
            assert {hit.id for hit in fuzzy} <= expected
