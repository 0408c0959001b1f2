"""Numbers of NumPy, such as those of a data frame, stand for Python's."""

import numpy as np
import pytest

import hedgerow as hr


@pytest.fixture
def retriever(tmp_path):
    with hr.Index.open(tmp_path / "i.db") as index:
        metadata = {"year": np.int64(2024), "share": np.float32(0.5), "open": np.bool_(True)}
        index.upsert([hr.Chunk(id="a", path="a.md", content="oak", metadata=metadata)])
        yield hr.Retriever(index)


def test_metadata_keeps_them_as_python_numbers(retriever):
    found = retriever.index.get("a").metadata
    assert found == {"year": 2024, "share": 0.5, "open": True}
    assert [type(value) for value in found.values()] == [int, float, bool]


@pytest.mark.parametrize(
    "filters",
    [{"year": np.int32(2024)}, {"year": {"$gte": np.float64(2000)}}, {"open": np.bool_(True)}],
)
def test_filters_and_limits_take_them(retriever, filters):
    response = retriever.search("oak", limit=np.int64(3), filters=filters)
    assert [hit.id for hit in response.results] == ["a"]


def test_vectors_are_searched_with_a_limit_of_numpy(tmp_path):
    with hr.Index.open(tmp_path / "v.db") as index:
        index.upsert([hr.Chunk(id="a", path="a.md", content="oak", embedding=np.ones(2))])
        assert len(index.search_vector(np.ones(2), limit=np.uint8(2))) == 1


def test_a_weight_may_be_one():
    assert hr.Ranking(rerank_weight=np.float32(0.5)).rerank_weight == 0.5


@pytest.mark.parametrize("limit", [np.float64(3), np.bool_(True), np.array([3]), np.int64(0)])
def test_other_values_are_refused(retriever, limit):
    with pytest.raises(hr.InvalidInputError, match="limit must be an integer of at least 1"):
        retriever.search("oak", limit=limit)


def test_an_array_is_no_value_of_a_filter(retriever):
    with pytest.raises(hr.InvalidInputError, match="is ndarray, which is not JSON"):
        retriever.search("oak", filters={"year": np.array([2024])})
    with pytest.raises(hr.InvalidInputError, match="is ndarray, which is not JSON"):
        retriever.search("oak", filters={"year": np.array(2024)})
