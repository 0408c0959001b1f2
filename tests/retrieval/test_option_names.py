"""`limit`, `candidates` and `operator` have one name each."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import hedgerow as hr

WORDS = ["oak", "elm", "ash", "fir"]


def made_index() -> hr.Index:
    index = hr.Index.in_memory()
    index.upsert(hr.Chunk(f"c{n}", f"p{n}", " ".join(WORDS[: n % 4 + 1])) for n in range(12))
    return index


INDEX = made_index()
RETRIEVER = hr.Retriever(INDEX)


def test_what_is_not_given_is_10_and_60() -> None:
    found = RETRIEVER.search("oak")
    assert (len(found), found.trace.candidates) == (10, 60)
    assert RETRIEVER.search("oak", limit=None) == found


@pytest.mark.parametrize("name", ["limit", "candidates"])
def test_an_error_has_the_name_that_was_given(name: str) -> None:
    with pytest.raises(hr.InvalidInputError) as raised:
        RETRIEVER.search("oak", **{name: 0})  # type: ignore[arg-type]
    assert str(raised.value) == f"{name} must be an integer of at least 1, not 0"


@pytest.mark.parametrize("name", ["top_k", "candidate_k"])
def test_there_is_no_second_name(name: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        RETRIEVER.search("oak", **{name: 5})  # type: ignore[arg-type]


OPERATORS: list[Callable[..., Any]] = [
    lambda **options: hr.compile_fts("oak elm", **options),
    lambda **options: hr.compile_match("oak elm", **options),
    lambda **options: hr.compile_many(["oak elm"], **options),
    lambda **options: hr.explain_query("oak elm", **options),
    lambda **options: INDEX.search_bm25("oak elm", **options),
    lambda **options: hr.Retriever(INDEX, ranking=hr.Ranking("spec", **options)).search("oak elm"),
]


@pytest.mark.parametrize("call", OPERATORS)
def test_the_operator_joins_words(call: Callable[..., Any]) -> None:
    assert call(operator="AND") != call()
    assert call() == call(operator="OR") == call(operator=None)
    with pytest.raises(hr.InvalidInputError) as raised:
        call(operator="NOT")
    assert str(raised.value).startswith('operator must be "OR" or "AND", not ')
    with pytest.raises(TypeError, match="default_operator"):
        call(default_operator="AND")


class TestRanking:
    def test_a_profile_stands_for_options(self) -> None:
        assert hr.Ranking() == hr.Ranking("best") == hr.Ranking.best()
        assert hr.Ranking.spec()._options["fusion"] == "rrf"
        assert hr.Ranking("spec", fusion="score")._options["fusion"] == "score"
        assert repr(hr.Ranking("spec", neighbors=True)) == "Ranking('spec', neighbors=True)"

    def test_a_retriever_has_that_of_the_specification(self) -> None:
        assert hr.Retriever(INDEX).search("oak").trace.profile == "spec"
        best = hr.Retriever(INDEX, ranking=hr.Ranking("best"))
        assert best.search("oak").trace.profile == "best"
        assert "ranking=Ranking('best')" in repr(best)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"profile": "most"}, 'profile must be "spec" or "best", not \'most\''),
            ({"matching": "all"}, 'matching must be "spec" or "extended", not \'all\''),
            ({"fusion": "sum"}, 'fusion must be "rrf" or "score", not \'sum\''),
            ({"neighbors": 1}, "neighbors must be True, False or None, not 1"),
            ({"reweight": "no"}, "reweight must be True, False or None, not 'no'"),
        ],
    )
    def test_a_wrong_option_is_named(self, options: dict[str, Any], message: str) -> None:
        kind = TypeError if "True, False or None" in message else hr.InvalidInputError
        with pytest.raises(kind) as raised:
            hr.Ranking(**options)
        assert str(raised.value) == message

    def test_a_ranking_is_no_text(self) -> None:
        with pytest.raises(hr.InvalidInputError, match="ranking must be a Ranking, as in"):
            hr.Retriever(INDEX, ranking="best")  # type: ignore[arg-type]

    def test_it_pickles(self, tmp_path: Any) -> None:
        with hr.Index.open(tmp_path / "i.db") as index:
            retriever = hr.Retriever(index, ranking=hr.Ranking("spec", operator="AND"))
            assert "operator='AND'" in repr(retriever)
            assert repr(pickle.loads(pickle.dumps(retriever))) == repr(retriever)
