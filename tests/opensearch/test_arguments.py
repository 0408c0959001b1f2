"""Arguments of a collection that are refused before its server is asked."""

from __future__ import annotations

from typing import Any

import pytest

import hedgerow as hr
from hedgerow.opensearch import Collection


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
