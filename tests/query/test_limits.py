"""Inputs at their maximum size, and sequences with a wrong length."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Sequence

import pytest

import hedgerow as hr

MAX_BYTES = 64 * 1024


class Boastful(Sequence[str]):
    """A sequence that claims more items than any memory holds."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, index):
        return ["2024-05-05"][index]


class BoastfulMapping(UserDict[str, list[str]]):
    def __len__(self) -> int:
        return 2**62


def test_as_many_words_as_may_be():
    assert len(hr.parse_query("東京 " * 4096).tokens) == 0
    assert len(hr.parse_query("cafe\u0301s " * 4096).tokens) == 4096


def test_lengths_that_a_caller_states_allocate_nothing():
    assert hr.compile_match("oak", date_hints=Boastful()) == '"oak" OR "2024 05 05"'
    assert hr.compile_fts("oak", BoastfulMapping(oak=["elm"])) == "elm"


def test_trigrams_have_a_limit():
    with hr.Index.in_memory(tokenizer="trigram") as index:
        index.upsert([hr.Chunk("a", "a.md", "a" * 5000)])
        assert len(index.search_bm25("a" * 4096, 1)) == 1
        with pytest.raises(hr.QueryTooLargeError) as caught:
            index.search_bm25("a" * 4097, 1)
    assert caught.value.code == "too_many_tokens"
    assert str(caught.value) == "the query has 4097 tokens and the limit is 4096; shorten it"


@pytest.mark.parametrize("matching", ["spec", "extended"])
def test_dates_do_not_make_a_query_too_large(matching):
    with hr.Index.in_memory() as index:
        index.upsert([hr.Chunk("a", "a.md", "planted on 2024/05/02")])
        retriever = hr.Retriever(index, ranking=hr.Ranking("spec", matching=matching))
        query = "what grew 3 days ago " + "x" * (MAX_BYTES - 21)
        [hit] = retriever.search(query, question_date="2024-05-05")
        assert hit.id == "a"
        many = " ".join(f"{day} days ago" for day in range(1, 1000))
        assert len(retriever.search(many, question_date="2024-05-05").trace.date_hints) == 999


def test_shared_lists_in_metadata_are_counted_as_often_as_they_are_there():
    shared: list[object] = ["oak"]
    for _ in range(60):
        shared = [shared, shared]
    with pytest.raises(hr.InvalidInputError) as caught:
        hr.Chunk("a", "a.md", "text", metadata={"tree": shared})
    assert caught.value.code == "invalid_chunk"
    assert str(caught.value).endswith(" is one of more than 1000000 values")
    own: list[object] = []
    own.append(own)
    with pytest.raises(hr.InvalidInputError, match="nests deeper than 100 levels"):
        hr.Chunk("a", "a.md", "text", metadata={"own": own})
