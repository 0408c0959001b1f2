"""limit, candidates and operator, and the names they had before."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr

WORDS = ["oak", "elm", "ash", "fir"]


def made_index() -> hr.Index:
    index = hr.Index.in_memory()
    index.upsert(hr.Chunk(f"c{n}", f"p{n}", " ".join(WORDS[: n % 4 + 1])) for n in range(12))
    return index


INDEX = made_index()
RETRIEVER = hr.Retriever(INDEX)


@given(st.integers(1, 15), st.integers(1, 15), st.integers(0, 5))
def test_both_names_mean_the_same(limit: int, candidates: int, offset: int) -> None:
    wanted = RETRIEVER.search("oak elm", limit=limit, candidates=candidates, offset=offset)
    found = RETRIEVER.search("oak elm", top_k=limit, candidate_k=candidates, offset=offset)
    assert found == wanted
    assert wanted.trace.candidates == wanted.trace.candidate_k == candidates
    assert wanted.trace.to_dict()["candidateK"] == candidates
    assert len(wanted) == max(0, min(limit, candidates - offset, 12 - offset))
    [many] = RETRIEVER.search_many(["oak elm"], limit=limit, candidates=candidates, offset=offset)
    assert many == wanted


def test_what_is_not_given_is_10_and_60() -> None:
    found = RETRIEVER.search("oak")
    assert (len(found), found.trace.candidates) == (10, 60)
    assert RETRIEVER.search("oak", limit=None, top_k=None) == found


SEARCHES: list[Callable[..., Any]] = [
    RETRIEVER.search,
    lambda text, **options: RETRIEVER.search_many([text], **options),
    lambda text, **options: RETRIEVER.why_not(text, "c1", **options),
]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("name", "earlier"), [("limit", "top_k"), ("candidates", "candidate_k")])
def test_both_at_once_are_refused(search: Callable[..., Any], name: str, earlier: str) -> None:
    with pytest.raises(hr.InvalidInputError) as raised:
        search("oak", **{name: 5, earlier: 5})
    assert raised.value.code == "invalid_option"
    assert str(raised.value) == (
        f"{name} and {earlier} are one option under two names; give one of them"
    )


@pytest.mark.parametrize("name", ["limit", "top_k", "candidates", "candidate_k"])
def test_an_error_has_the_name_that_was_given(name: str) -> None:
    with pytest.raises(hr.InvalidInputError) as raised:
        RETRIEVER.search("oak", **{name: 0})  # type: ignore[arg-type]
    assert str(raised.value) == f"{name} must be an integer of at least 1, not 0"


def test_why_not_takes_either_name() -> None:
    why = RETRIEVER.why_not("oak elm", "c0", limit=2)
    assert why == RETRIEVER.why_not("oak elm", "c0", top_k=2)
    assert (why.cut, why.limit) == ("limit", 2)


OPERATORS: list[Callable[..., Any]] = [
    lambda **options: hr.compile_fts("oak elm", **options),
    lambda **options: hr.compile_match("oak elm", **options),
    lambda **options: hr.compile_many(["oak elm"], **options),
    lambda **options: hr.explain_query("oak elm", **options),
    lambda **options: INDEX.search_bm25("oak elm", **options),
    lambda **options: hr.Retriever(INDEX, **options).search("oak elm"),
]


@pytest.mark.parametrize("call", OPERATORS)
def test_the_operator_has_two_names(call: Callable[..., Any]) -> None:
    assert call(operator="AND") == call(default_operator="AND") != call()
    assert call() == call(operator="OR") == call(operator=None)
    with pytest.raises(hr.InvalidInputError) as raised:
        call(operator="AND", default_operator="AND")
    assert str(raised.value) == (
        "operator and default_operator are one option under two names; give one of them"
    )
    for name in ("operator", "default_operator"):
        with pytest.raises(hr.InvalidInputError) as raised:
            call(**{name: "NOT"})
        assert str(raised.value).startswith(f'{name} must be "OR" or "AND", not ')


def test_a_retriever_keeps_its_operator(tmp_path: Any) -> None:
    with hr.Index.open(tmp_path / "i.db") as index:
        retriever = hr.Retriever(index, default_operator="AND")
        assert "operator='AND'" in repr(retriever)
        assert repr(pickle.loads(pickle.dumps(retriever))) == repr(retriever)
