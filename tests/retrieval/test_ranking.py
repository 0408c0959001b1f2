"""Fusion, unanimity, intents, rerank text and fuzzy matching (spec/retrieval.md)."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from spec_fixtures import jsonl

CAMEL = {"bm25Rank": "bm25_rank", "vectorSimilarity": "vector_similarity"}
TIPS = "any tips for dinner"


def by_id(case):
    return case["id"]


def snake(candidate):
    return {CAMEL.get(key, key): value for key, value in candidate.items()}


def mappings(candidates):
    return [snake(candidate) for candidate in candidates]


def hits(*ids, **fields):
    """Return real hits, which only a ranking can create."""
    return hr.reciprocal_rank_fusion([[{"id": one, "path": f"{one}.md", **fields} for one in ids]])


@pytest.mark.parametrize("case", jsonl("rrf"), ids=by_id)
def test_rrf_case(case):
    lists = [mappings(candidates) for candidates in case["lists"]]
    arguments = {} if case["k"] is None else {"k": case["k"]}
    fused = hr.reciprocal_rank_fusion(lists, **arguments)
    keys = ["id", "path", "title", "summary", "content", "score", *CAMEL.values()]
    actual = [{key: getattr(hit, key) for key in keys} for hit in fused]
    blank = dict.fromkeys(CAMEL.values())
    assert actual == [{**blank, **snake(expected)} for expected in case["expected"]]
    candidates = [[hr.Candidate(**one) for one in candidates] for candidates in lists]
    assert hr.reciprocal_rank_fusion(candidates, **arguments) == fused


@pytest.mark.parametrize("case", jsonl("unanimity"), ids=by_id)
def test_unanimity_case(case):
    arguments = {} if case["agreeMin"] is None else {"agree_min": case["agreeMin"]}
    found = hr.unanimity(case["bm25"], case["vector"], **arguments)
    assert (found and {"ids": list(found.ids), "agreements": found.agreements}) == case["expected"]


@pytest.mark.parametrize("case", jsonl("intent"), ids=by_id)
def test_intent_case(case):
    intent = hr.detect_intent(case["query"])
    assert {
        "preferenceQuery": intent.preference,
        "concreteFactQuery": intent.concrete_fact,
    } == case["expected"]


@pytest.mark.parametrize("case", jsonl("reweight"), ids=by_id)
def test_reweight_case(case):
    expected = case["expected"]
    ranked = hr.reweight(case["query"], case["results"])
    assert [{"id": hit.id, "score": hit.score} for hit in ranked] == expected["ranked"]
    assert [hr.rerank_text(hit) for hit in case["results"]] == expected["rerankTexts"]
    ones = [{**hit, "id": str(place), "score": 1} for place, hit in enumerate(case["results"])]
    multipliers = {hit.id: hit.score for hit in hr.reweight(case["query"], ones)}
    assert [multipliers[one["id"]] for one in ones] == expected["multipliers"]


@pytest.mark.parametrize("case", jsonl("trigram"), ids=by_id)
def test_trigram_index_case(case):
    index = hr.TrigramIndex(case["chunks"])
    for query, expected in zip(case["queries"], case["expected"], strict=True):
        found = index.search(query["tokens"], query["limit"])
        assert [
            {"id": hit.id, "path": hit.path, "similarity": hit.similarity} for hit in found
        ] == expected


def test_any_shape_of_candidate_is_ranked_alike():
    fields = {"id": "a", "path": "a.md", "title": "T", "metadata": {"n": 1}, "bm25_rank": 2}
    [hit] = hr.reciprocal_rank_fusion([[hr.Candidate(**fields)]])
    assert (hit.id, hit.title, hit.metadata, hit.bm25_rank) == ("a", "T", {"n": 1}, 2)
    for shape in (fields, MappingProxyType(fields), {**fields, "summary": None, "score": 3}, hit):
        assert hr.reciprocal_rank_fusion([[shape]]) == [hit]
        assert hr.reciprocal_rank_fusion(iter([iter([shape])])) == [hit]
        assert hr.rerank_text(shape) == "T"


def test_blanks_are_filled_once_and_zero_is_no_blank():
    [hit] = hr.reciprocal_rank_fusion(
        [
            [hr.Candidate("a", "first.md", summary=" ", bm25_rank=0, vector_similarity=0.0)],
            [hr.Candidate("a", "later.md", "Title", "Summary", "", 5, 0.5, {"from": "later"})],
            [hr.Candidate("a", "last.md", "No", "No", "Content", 6, 0.6, {"from": "last"})],
        ]
    )
    assert (hit.path, hit.title, hit.summary) == ("first.md", "Title", " ")
    assert (hit.content, hit.metadata) == ("Content", {"from": "later"})
    assert (hit.bm25_rank, hit.vector_similarity) == (0, 0.0)


@pytest.mark.parametrize(
    "k", [None, 60.0, Decimal(60), Fraction(120, 2), 0, -0.0, -3, -(10**400), -math.inf, math.nan]
)
def test_a_k_that_is_not_above_zero_is_the_default(k):
    lists = [[{"id": "a", "path": "a"}, {"id": "b", "path": "b"}]]
    assert [hit.score for hit in hr.reciprocal_rank_fusion(lists, k)] == [1 / 61, 1 / 62]


def test_an_endless_k_leaves_the_order_of_paths():
    for k in (math.inf, 10**400):
        fused = hr.reciprocal_rank_fusion([[{"id": "1", "path": "z"}, {"id": "2", "path": "a"}]], k)
        assert [(hit.path, hit.score) for hit in fused] == [("a", 0.0), ("z", 0.0)]


def test_any_number_is_a_minimum():
    legs = (["a", "b", "c", "d"], ("a", "c", "c"))
    for agree_min in (-1, 0, 1.5, 2, Decimal(2), math.nan, -math.inf):
        assert hr.unanimity(*legs, agree_min) == hr.Unanimity(("a", "b", "c"), 2)
    for agree_min in (2.1, 3, math.inf, 10**400):
        assert hr.unanimity(*legs, agree_min) is None


def test_without_an_intent_the_hits_come_back_as_they_are():
    given = [*hits("c", "a"), {"id": "b", "path": "b", "score": 9}]
    back = hr.reweight("wat zijn pruimen", given)
    assert back[:2] == given[:2]
    assert (back[2].id, back[2].score) == ("b", 9.0)


def test_what_a_hit_has_stays_when_it_is_reweighted():
    given = {
        "id": "a",
        "path": "memory/global/user-preference-tea.md",
        "title": "T",
        "score": 1,
        "bm25_rank": 1,
        "vector_similarity": 0.5,
        "rerank_score": 7,
        "metadata": {"n": [1]},
    }
    [hit] = hr.reweight(TIPS, [given])
    assert {key: getattr(hit, key) for key in given} == {**given, "score": 2.35}


def test_scores_of_any_size_have_an_order():
    given = [
        {"id": str(place), "path": "p", "score": score}
        for place, score in enumerate([-0.0, 0.0, -math.inf, 2, math.inf, -1, 10**400])
    ]
    assert [hit.id for hit in hr.reweight(TIPS, given)] == ["4", "6", "3", "0", "1", "5", "2"]


def test_a_fuzzy_index_takes_any_shape_and_keeps_little():
    index = hr.TrigramIndex(
        [
            hr.Chunk("a", "notes/espresso.md", "long content"),
            hr.Chunk("", "notes/espresso.md", ""),
            hr.Candidate("b", "espresso.md"),
            *hits("c"),
            {"id": "a", "path": "notes/espresso-again.md"},
            {"id": "d", "path": "x/Espresso.md", "tags": ["t"], "ordinal": 0},
        ]
    )
    assert len(index) == 4
    assert repr(index) == "<TrigramIndex of 4 chunks>"
    found = index.search(["expresso"], 2)
    assert [(hit.id, hit.path) for hit in found] == [
        ("b", "espresso.md"),
        ("a", "notes/espresso.md"),
    ]
    assert index.search([], 5) == index.search(["", "…"], 5) == []
    again = pickle.loads(pickle.dumps(index))
    assert again.search(("expresso",), 9) == index.search(("expresso",), 9)


def test_threads_share_a_fuzzy_index():
    index = hr.TrigramIndex({"id": str(n), "path": f"{n % 7}/espresso-{n}.md"} for n in range(300))
    expected = index.search(["espresso", "22"], 50)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: index.search(["espresso", "22"], 50), range(64)))
    assert results == [expected] * 64


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (hr.Intent(True), "Intent(preference=True, concrete_fact=False)"),
        (hr.Unanimity(("a", "b", "c"), 3), "Unanimity(ids=('a', 'b', 'c'), agreements=3)"),
        (hr.TrigramHit("a", "a.md", 0.5), "TrigramHit(id='a', path='a.md', similarity=0.5)"),
        (
            hr.Candidate("a", "a.md", vector_similarity=1),
            "Candidate(id='a', path='a.md', title='', bm25_rank=None, vector_similarity=1.0)",
        ),
    ],
)
def test_results_are_plain_data(value, shown):
    assert repr(value) == shown
    assert eval(shown, vars(hr)) == value  # noqa: S307
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert value != hits("b")[0]
    with pytest.raises(AttributeError):
        setattr(value, shown.partition("(")[2].partition("=")[0], "other")


def test_a_candidate_keeps_everything_through_pickle():
    candidate = hr.Candidate("a", "p", "T", "S", "C", 3, -0.5, {"n": [1, {"x": None}]})
    again = pickle.loads(pickle.dumps(candidate))
    assert again == candidate
    assert again.metadata == {"n": [1, {"x": None}]}
    assert hr.reciprocal_rank_fusion([[again]]) == hr.reciprocal_rank_fusion([[candidate]])
    assert candidate != hr.Candidate("a", "p", "T", "S", "C", 3, -0.5)


IDS = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(st.lists(IDS, max_size=5).flatmap(lambda ids: st.tuples(st.just(ids), st.permutations(ids))))
def test_lists_commute_to_the_bit(both):
    def scores(lists):
        lists = [[hr.Candidate(one, "p") for one in ids] for ids in lists]
        return [(hit.id, hit.score) for hit in hr.reciprocal_rank_fusion(lists, 7.3)]

    one, other = map(scores, both)
    assert one == other
    assert {name for name, _ in one} == {name for ids in both[0] for name in ids}


@given(st.text(max_size=400), st.text(max_size=20))
def test_a_rerank_text_is_short_and_whole(content, title):
    text = hr.rerank_text({"id": "a", "path": "a", "content": content, "title": title})
    text.encode()
    if not title.strip("\ufeff \t\n\v\f\r\xa0"):
        assert len(text.encode("utf-16-le")) // 2 <= 283
