"""Filters select the same chunks on a server as in an index."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

import hedgerow as hr
from filter_oracle import passes
from filter_strategies import CHUNKS, FILTERS, chunk, of_case
from hedgerow.opensearch import Collection
from opensearch_server import Node
from spec_fixtures import jsonl

CASES = [case for case in jsonl("filters") if isinstance(case["expected"], bool)]


def passing(collection: Collection, filters: hr.Filters) -> set[str]:
    with collection._point_in_time(filters) as moment:
        return {hit.id for hit in moment.whole_chunks()}


@pytest.fixture(scope="module")
def collection(node: Node) -> Iterator[Collection]:
    with Collection.create(node.url, f"t-{uuid.uuid4().hex}", replicas=0, shards=2) as made:
        yield made


def test_every_case_on_every_chunk_of_the_cases(collection: Collection) -> None:
    """Check each filter on the chunks of all cases, which the fixture does not cover."""
    chunks = {}
    for at, case in enumerate(CASES):
        fields = of_case(case).to_dict()
        chunks[at] = hr.Chunk.from_dict(
            {**fields, "id": fields["id"] if "id" in str(case["where"]) else str(at)}
        )
    collection.upsert(chunks.values())
    for at, case in enumerate(CASES):
        found = passing(collection, hr.Filters(where=case["where"]))
        expected = {one.id for one in chunks.values() if passes(one, case["where"])}
        assert found == expected, case
        assert (chunks[at].id in found) is case["expected"], case
    assert len(CASES) > 200


@given(chunks=CHUNKS, where=FILTERS)
@settings(max_examples=150)
def test_what_passes_is_what_the_specification_says(collection, chunks, where):
    collection.delete([one.id for one in collection.chunks()], refresh=False)
    given = [chunk(number, fields) for number, fields in enumerate(chunks)]
    collection.upsert(given)
    collection._refresh()
    expected = {one.id for one in given if passes(one, where)}
    assert passing(collection, hr.Filters(where=where)) == expected


def test_arguments_of_filters(name, node):
    with Collection.create(node.url, name, replicas=0) as made:
        made.upsert(
            {
                "id": f"c{n}",
                "path": f"notes/{n}.md" if n % 2 else f"wiki/{n}.md",
                "content": "oak",
                "tags": ["even"] if n % 2 == 0 else ["odd", "two words"],
                "metadata": {"n": n, "nested": {"list": [n, None]}, "date": f"20{n:02}-03-05"},
            }
            for n in range(100)
        )
        for filters, expected in [
            (hr.Filters(paths=["notes/1.md", "wiki/2.md", "none"]), {"c1", "c2"}),
            (hr.Filters(path_prefix="wiki/1"), {f"c{n}" for n in (10, 12, 14, 16, 18)}),
            (hr.Filters(path_prefix="wiki/1", tags=["odd"]), set()),
            (hr.Filters(tags=["odd", "two words"], metadata={"n": 7.0}), {"c7"}),
            (hr.Filters(tags=["words"]), set()),
            (hr.Filters(metadata={"nested": {"list": [7.0, None]}}), {"c7"}),
            (hr.Filters(metadata={"nested": {"list": [7]}}), set()),
            (hr.Filters(after="2097", before="2099-03-05"), {"c97", "c98"}),
            (
                hr.Filters(paths=[f"notes/{n}.md" for n in range(70_000)]),
                {f"c{n}" for n in range(1, 100, 2)},
            ),
        ]:
            assert passing(made, filters) == expected, filters


def test_long_texts_are_compared_whole_or_not_at_all(name, node):
    long = "x" * 3000
    with Collection.create(node.url, name, replicas=0) as made:
        made.upsert(
            [
                {"id": "a", "content": "", "metadata": {"k": f"{long}a", "short": "y"}},
                {"id": "b", "content": "", "metadata": {"k": f"{long}b"}},
                {"id": "c", "content": "", "metadata": {"k": "x" * 2000}},
            ]
        )
        for where, expected in [
            ({"k": f"{long}a"}, {"a"}),
            ({"k": {"$ne": f"{long}a"}}, {"b", "c"}),
            ({"k": "x" * 2000}, {"c"}),
            ({"k": {"$gt": "x" * 200}}, {"a", "b", "c"}),
            ({"k": {"$lt": "x" * 200 + "y"}}, {"a", "b", "c"}),
            ({"short": {"$glob": "*"}}, {"a"}),
        ]:
            assert passing(made, hr.Filters(where=where)) == expected, where
        for where, message in [
            ({"k": {"$gt": long}}, "compares texts with one of 3,000 characters"),
            ({"k": {"$glob": "x*"}}, "has texts of more than 2,000 characters"),
            ({"path": {"$glob": "*a" + "?" * 60}}, "too complex"),
        ]:
            with pytest.raises(hr.InvalidInputError, match=message) as caught:
                passing(made, hr.Filters(where=where))
            assert caught.value.code == "unsupported_by_backend"
