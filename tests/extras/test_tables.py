"""Responses as pandas and Arrow tables."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr

FIELDS = [
    "id", "path", "ordinal", "title", "summary", "tags", "content", "metadata", "score",
    "bm25_rank", "vector_similarity", "rerank_score", "explanation",
]  # fmt: skip


@pytest.fixture(scope="module")
def oak_and_elm() -> hr.Retriever:
    index = hr.Index.in_memory()
    index.upsert(
        [
            {"id": "a", "content": "oak", "tags": ["x", "y"], "metadata": {"n": [1, "é"]}},
            {"id": "b", "content": "elm", "ordinal": 4, "embedding": [1, 0]},
        ]
    )
    return hr.Retriever(index, embedder=lambda texts: [[1.0, 0.5] for _ in texts])


def test_pandas(oak_and_elm):
    response = oak_and_elm.search("oak")
    frame = response.to_pandas()
    assert list(frame.columns) == FIELDS
    assert list(frame.id) == [hit.id for hit in response]
    by_id = frame.set_index("id")
    assert by_id.tags["a"] == ["x", "y"]
    assert by_id.metadata["a"] == {"n": [1, "é"]}
    assert by_id.ordinal["b"] == 4
    assert by_id.bm25_rank["a"] == 0
    assert pd.isna(by_id.bm25_rank["b"])
    assert pd.isna(by_id.vector_similarity["a"])
    assert list(frame.explanation) == [hit.explanation for hit in response]


def test_pandas_of_nothing_has_the_same_types(oak_and_elm):
    empty = oak_and_elm.search("oak", mode="bm25", limit=1, offset=9).to_pandas()
    assert len(empty) == 0
    assert (empty.dtypes == oak_and_elm.search("oak").to_pandas().dtypes).all()


def test_arrow(oak_and_elm):
    response = oak_and_elm.search("oak")
    table = response.to_arrow()
    assert table.column_names == FIELDS
    rows = {row["id"]: row for row in table.to_pylist()}
    assert rows["a"]["tags"] == ["x", "y"]
    assert json.loads(rows["a"]["metadata"]) == {"n": [1, "é"]}
    assert (rows["a"]["bm25_rank"], rows["b"]["bm25_rank"]) == (0, None)
    assert json.loads(rows["a"]["explanation"]) == next(
        hit.explanation for hit in response if hit.id == "a"
    )
    assert table.schema.field("tags").type == pa.list_(pa.string())
    assert table.schema.field("score").type == pa.float64()


def test_arrow_of_nothing_has_the_same_schema(oak_and_elm):
    empty = oak_and_elm.search("oak", mode="bm25", limit=1, offset=9).to_arrow()
    assert empty.num_rows == 0
    assert empty.schema == oak_and_elm.search("oak").to_arrow().schema


def test_fusion_alone_makes_hits_for_tables_too():
    hit = hr.reciprocal_rank_fusion([[{"id": "a", "path": "p"}]])[0]
    response = hr.Retriever(hr.Index.in_memory()).search("oak")
    made = hr.Response([hit], response.trace)
    assert made.to_arrow().to_pylist()[0]["explanation"] is None
    assert made.to_pandas().explanation[0] is None
