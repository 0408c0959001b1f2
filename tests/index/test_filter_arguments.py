"""`Filters` and equivalent mappings (spec/filters.md)."""

from __future__ import annotations

import pickle
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

import hedgerow as hr

AHEAD = timezone(timedelta(hours=2))
DAYS = {"a": "2024-03-05", "b": "2024-03-05T01:00:00+02:00", "c": "2025-01-01T12:00:00Z"}


@pytest.fixture(scope="module")
def dated_index():
    with hr.Index.in_memory() as index:
        index.upsert(
            hr.Chunk(name, f"{name}.md", "oak", tags=[name], metadata={"date": day, "n": n})
            for n, (name, day) in enumerate(DAYS.items())
        )
        index.upsert([hr.Chunk("d", "d.md", "oak", metadata={"date": "soon", "published": "2024"})])
        yield index


def found(index: hr.Index, filters: Any) -> str:
    return "".join(sorted(hit.id for hit in index.search_bm25("oak", 99, filters=filters)))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"after": "2024-03-05"}, "ac"),
        ({"before": "2024-03-05"}, "b"),
        ({"after": date(2024, 3, 5), "before": date(2025, 1, 1)}, "a"),
        ({"after": datetime(2024, 3, 5, 2, tzinfo=AHEAD)}, "ac"),
        ({"after": datetime(2024, 3, 5, 1, tzinfo=AHEAD)}, "abc"),
        ({"before": datetime(2025, 1, 1, 12, 0, 0, 1, tzinfo=timezone.utc)}, "abc"),
        ({"after": "2024", "before": "2025"}, "ab"),
        ({"after": "2024", "date_key": "published"}, "d"),
        ({"after": "2024", "date_key": "metadata.published"}, "d"),
        ({"n": {"$gte": 1}, "before": "2025"}, "b"),
        ({"n": {"$in": [0, 2]}, "tags": ["c"]}, "c"),
        ({"n": {"$in": [0, 2]}, "tags": {"$in": ["a", "b"]}}, "a"),
        ({"tags": {"$exists": True}, "where": {"n": {"$lt": 2}}, "path_prefix": "a"}, "a"),
        ({"where": {"n": 0}, "$or": [{"n": 0}, {"n": 1}], "metadata": {"n": 0}}, "a"),
        ({"date": {"$gt": date(2024, 3, 5)}}, "c"),
        # A time without an offset is UTC.
        ({"date": {"$in": [date(2024, 3, 5), datetime(2025, 1, 1, 12)]}}, "ac"),  # noqa: DTZ001
        ({"date": date(2024, 3, 5)}, "a"),
        ({"where": None, "after": None, "tags": None}, "abcd"),
        ({"metadata.n": 1}, "b"),
    ],
)
def test_a_mapping_has_arguments_and_conditions(dated_index, filters, expected):
    assert found(dated_index, filters) == expected


def test_fields():
    filters = hr.Filters(
        where={"year": {"$gte": 2024}, "date": {"$lt": date(2024, 3, 5)}},
        after=datetime(2024, 3, 5, 1, tzinfo=AHEAD),
        before="2025",
        date_key="published",
    )
    assert filters.where == {"year": {"$gte": 2024}, "date": {"$lt": {"$date": "2024-03-05"}}}
    assert (filters.after, filters.before) == ("2024-03-05T01:00:00+02:00", "2025")
    assert filters.date_key == "published"
    again = pickle.loads(pickle.dumps(filters))
    assert again == filters
    assert repr(again) == repr(filters)
    assert repr(filters).endswith(
        "metadata={}, where={'year': {'$gte': 2024}, 'date': {'$lt': {'$date': '2024-03-05'}}}, "
        "after='2024-03-05T01:00:00+02:00', before='2025', date_key='published')"
    )
    assert hr.Filters(where={"year": 1}) != hr.Filters(where={"year": 2})
    assert hr.Filters(where={}) == hr.Filters()
    assert (hr.Filters().where, hr.Filters().after, hr.Filters().date_key) == ({}, None, "date")


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"year": {"$gtee": 1}}, 'filters["year"] has no operator "$gtee"; did you mean "$gte"?'),
        (
            {"where": {"$or": [{"a": {"$inn": []}}]}},
            'where["$or"][0]["a"] has no operator "$inn"; did you mean "$in"?',
        ),
        (
            {"after": "soon"},
            'after must be a date such as "2024-03-05" or "2024-03-05T14:30:00+01:00", not "soon"',
        ),
        (
            {"before": 2024},
            'before must be a date, a datetime or a str such as "2024-03-05", not int',
        ),
        ({"after": "2024", "date_key": ""}, 'date_key must name a key, not ""'),
        ({"after": "2024", "date_key": "$or"}, 'date_key must name a key, not "$or"'),
        ({"date_key": 3}, "date_key must be str, not int"),
        ({"where": ["a"]}, "where must be a mapping with str keys, not list"),
        (
            {"a": {"$gt": float("nan")}},
            'filters["a"]["$gt"] is not a finite number, which JSON cannot hold',
        ),
        (
            {"a": 2**64},
            'filters["a"] is an integer of more than 64 bits; keep it as a str',
        ),
        (
            {"metdata": {"a": 1}},
            'filters has no key "metdata"; did you mean "metadata"? For a key of the metadata '
            'write "metadata.metdata"',
        ),
        (
            {"metadata": {"a": date(2024, 1, 1)}},
            'metadata["a"] is date, which is not JSON; use str, int, float, bool, None, list or dict',
        ),
    ],
)
def test_what_is_wrong_is_said(dated_index, filters, message):
    with pytest.raises(hr.InvalidInputError) as caught:
        dated_index.search_bm25("oak", filters=filters)
    assert (str(caught.value), caught.value.code) == (message, "invalid_filter")


def test_limits_are_named_and_joined_filters_are_within_them(dated_index):
    def nested(depth: int) -> dict[str, Any]:
        where: dict[str, Any] = {"n": {"$gte": 0}}
        for _ in range(depth):
            where = {"$and": [where]}
        return where

    deepest = {**nested(32), "where": nested(32)}
    assert found(dated_index, deepest) == "abc"
    with pytest.raises(hr.InvalidInputError, match="nests deeper than 32 levels"):
        hr.Filters(where=nested(33))
    most = {"$or": [{"n": n} for n in range(1000)]}
    assert found(dated_index, {**most, "where": most}) == "abc"
    with pytest.raises(hr.InvalidInputError, match="is one of more than 1000 conditions"):
        hr.Filters(where={"$or": [{"n": n} for n in range(1001)]})
    assert found(dated_index, {"n": {"$in": list(range(100_000))}}) == "abc"
    with pytest.raises(hr.InvalidInputError, match="has one of more than 100000 values"):
        hr.Filters(where={"n": {"$in": list(range(100_001))}})
    with pytest.raises(hr.InvalidInputError, match="is longer than 256 characters"):
        hr.Filters(where={"n": {"$glob": "*" * 257}})


def test_a_retriever_takes_them_in_every_search(dated_index):
    retriever = hr.Retriever(dated_index)
    filters = {"n": {"$gte": 1}}
    assert [hit.id for hit in retriever.search("oak", filters=filters)] == ["b", "c"]
    for response in retriever.search_many(["oak"] * 3, filters=filters):
        assert [hit.id for hit in response] == ["b", "c"]
    with pytest.raises(hr.InvalidInputError, match="did you mean"):
        retriever.search("oak", filters={"n": {"$gtt": 1}})


def test_hostile_filters_take_little_time(dated_index):
    text = "a" * 100_000
    dated_index.upsert([hr.Chunk("long", "long.md", "elm", metadata={"text": text})])
    filters = {"text": {"$glob": "*a" * 127 + "b"}}
    assert dated_index.search_bm25("elm", filters=filters) == []
    dated_index.delete(["long"])
