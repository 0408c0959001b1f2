"""Filters in the format of LangChain and LlamaIndex, with their own classes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.structured_query import Comparator, Comparison, Operation, Operator
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

import hedgerow as hr
from hedgerow.integrations import langchain, llama_index

CHUNKS = [
    hr.Chunk("1", "a.md", "oak", tags=["x"], metadata={"year": 2023, "topics": ["a", "b"]}),
    hr.Chunk("2", "b.md", "oak", tags=["x", "y"], metadata={"year": 2024, "date": "2024-03-05"}),
    hr.Chunk("3", "c.md", "oak", metadata={"year": 2025, "topics": []}),
]


@pytest.fixture(scope="module")
def retriever():
    with hr.Index.in_memory() as index:
        index.upsert(CHUNKS)
        yield hr.Retriever(index)


def langchain_ids(retriever: hr.Retriever, given: Any, **options: Any) -> list[str]:
    built = langchain.HedgerowRetriever(retriever=retriever, filter=given, **options)
    called = langchain.HedgerowRetriever(retriever=retriever, **options)
    found = [document.id for document in built.invoke("oak")]
    assert [document.id for document in called.invoke("oak", filter=given)] == found
    again = asyncio.run(called.ainvoke("oak", filter=given))
    assert [document.id for document in again] == found
    return sorted(str(one) for one in found)


def llama_ids(retriever: hr.Retriever, filters: MetadataFilters) -> list[str]:
    built = llama_index.HedgerowRetriever(retriever, filters=filters)
    return sorted(node.node.node_id for node in built.retrieve("oak"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ["1", "2", "3"]),
        ({}, ["1", "2", "3"]),
        ({"year": {"$gte": 2024}}, ["2", "3"]),
        ({"year": 2024}, ["2"]),
        ({"$or": [{"year": {"$lt": 2024}}, {"tags": {"$in": ["y"]}}]}, ["1", "2"]),
        ({"year": {"$between": [2023, 2024]}}, ["1", "2"]),
        (Comparison(comparator=Comparator.GTE, attribute="year", value=2024), ["2", "3"]),
        (Comparison(comparator=Comparator.IN, attribute="year", value=[2023]), ["1"]),
        (Comparison(comparator=Comparator.CONTAIN, attribute="topics", value="b"), ["1"]),
        (
            Comparison(
                comparator=Comparator.LTE,
                attribute="date",
                value={"date": "2024-03-05", "type": "date"},
            ),
            ["2"],
        ),
        (
            Comparison(
                comparator=Comparator.IN,
                attribute="date",
                value=[{"date": "2024-03-05", "type": "date"}],
            ),
            ["2"],
        ),
        (
            Operation(
                operator=Operator.OR,
                arguments=[
                    Comparison(comparator=Comparator.EQ, attribute="year", value=2025),
                    Operation(
                        operator=Operator.NOT,
                        arguments=[
                            Comparison(comparator=Comparator.NE, attribute="year", value=2023)
                        ],
                    ),
                ],
            ),
            ["1", "3"],
        ),
    ],
)
def test_langchain(retriever, given, expected):
    assert langchain_ids(retriever, given) == expected


@pytest.mark.parametrize(
    "filters",
    [
        {"year": {"$lt": 2025}},
        {"where": {"year": {"$lt": 2025}}},
        hr.Filters(where={"year": {"$lt": 2025}}),
        hr.Filters(paths=["b.md"], after="2024", before="2025"),
    ],
)
def test_a_filter_of_langchain_holds_beside_filters(retriever, filters):
    given = {"year": {"$gt": 2023}}
    assert langchain_ids(retriever, given, filters=filters) == ["2"]
    assert langchain_ids(retriever, None, filters=filters) in (["1", "2"], ["2"])


def test_langchain_refuses_what_there_is_not(retriever):
    like = Comparison(comparator=Comparator.LIKE, attribute="year", value="a")
    with pytest.raises(hr.InvalidInputError) as caught:
        langchain_ids(retriever, like)
    assert caught.value.code == "invalid_filter"
    assert str(caught.value) == (
        'filters of LangChain with the comparator "like" cannot be used; allow those of '
        "hedgerow.integrations.langchain alone: eq, ne, gt, gte, lt, lte, in, nin, contain"
    )
    with pytest.raises(hr.InvalidInputError, match='did you mean "\\$gte"'):
        langchain_ids(retriever, {"year": {"$gtee": 2024}})
    built = langchain.HedgerowRetriever(retriever=retriever)
    with pytest.raises(TypeError, match="filter must be a mapping or a FilterDirective"):
        built.invoke("oak", filter=3)


def one(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=operator)


@pytest.mark.parametrize(
    ("filters", "condition", "expected"),
    [
        ([], FilterCondition.AND, ["1", "2", "3"]),
        ([one("year", 2024)], FilterCondition.AND, ["2"]),
        ([one("year", 2024, FilterOperator.NE)], FilterCondition.AND, ["1", "3"]),
        ([one("year", 2024, FilterOperator.GTE)], FilterCondition.AND, ["2", "3"]),
        ([one("year", 2024, FilterOperator.LT)], FilterCondition.AND, ["1"]),
        ([one("year", [2023, 2025], FilterOperator.IN)], FilterCondition.AND, ["1", "3"]),
        ([one("year", [2023, 2025], FilterOperator.NIN)], FilterCondition.AND, ["2"]),
        ([one("topics", "a", FilterOperator.CONTAINS)], FilterCondition.AND, ["1"]),
        ([one("tags", ["y", "z"], FilterOperator.ANY)], FilterCondition.AND, ["2"]),
        ([one("tags", ["x", "y"], FilterOperator.ALL)], FilterCondition.AND, ["2"]),
        ([one("topics", None, FilterOperator.IS_EMPTY)], FilterCondition.AND, ["2", "3"]),
        ([one("year", 2023), one("year", 2025)], FilterCondition.OR, ["1", "3"]),
        ([one("year", 2023), one("year", 2025)], FilterCondition.NOT, ["2"]),
        (
            [
                one("tags", "x"),
                MetadataFilters(
                    filters=[one("year", 2024), one("year", 2025)], condition=FilterCondition.OR
                ),
            ],
            FilterCondition.AND,
            ["2"],
        ),
    ],
)
def test_llama_index(retriever, filters, condition, expected):
    given = MetadataFilters(filters=filters, condition=condition)
    assert llama_ids(retriever, given) == expected


def test_every_operator_of_llama_index_is_known_or_refused(retriever):
    for operator in FilterOperator:
        filters = MetadataFilters(filters=[one("tags", ["x"], operator)])
        if operator in {FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE}:
            with pytest.raises(hr.InvalidInputError) as caught:
                llama_ids(retriever, filters)
            assert caught.value.code == "invalid_filter"
            assert f'the operator "{operator.value}" cannot be used' in str(caught.value)
        elif operator.value not in {">", ">=", "<", "<="}:
            llama_ids(retriever, filters)
