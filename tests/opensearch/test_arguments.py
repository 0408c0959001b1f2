"""What a collection refuses without asking its server."""

from __future__ import annotations

from typing import Any

import pytest

import hedgerow as hr
from hedgerow.opensearch import Collection
from hedgerow.opensearch._filters import translated
from hedgerow.opensearch._tokens import Phrase


@pytest.fixture
def collection() -> Collection:
    """One without a server, which every request would fail for."""
    nothing: Any = None
    return Collection(nothing, nothing)


def test_one_text_is_not_a_list_of_ids(collection: Collection) -> None:
    with pytest.raises(hr.InvalidInputError, match="ids is one str; give a list") as caught:
        collection.delete("abc")
    assert caught.value.code == "invalid_id"


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (5, TypeError, "ids must be an iterable of str, not int"),
        ([5], TypeError, r"ids\[0\] must be a str, not int"),
        (["\ud800"], hr.InvalidInputError, r"ids\[0\] has half of a surrogate pair"),
    ],
)
def test_ids_are_texts(collection: Collection, ids: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        collection.delete(ids)


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (
            hr.Filters(where={"a": {"$gt": "x" * 1000}}),
            "compares texts with one of 1,000 characters",
        ),
        (hr.Filters(path_prefix="x" * 1000), "asks for a beginning of 1,000 characters"),
    ],
)
def test_a_filter_that_is_more_than_a_query_takes(filters: hr.Filters, message: str) -> None:
    with pytest.raises(hr.InvalidInputError, match=message) as caught:
        translated(filters)
    assert caught.value.code == "unsupported_by_backend"
    assert "search an index" in str(caught.value)


def test_a_frequency_beyond_float32_is_an_error() -> None:
    phrase = Phrase.of((["cut", "hed"], True))
    assert phrase.frequency(2 / 3) == 2
    for score in (0.9999, 1.0):
        with pytest.raises(hr.InvalidInputError, match="write its last word in full") as caught:
            phrase.frequency(score)
        assert caught.value.code == "unsupported_by_backend"
