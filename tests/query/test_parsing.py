"""Normalization, parsing, aliases and the normative text (spec/query.md, spec/normalise.md)."""

from __future__ import annotations

import copy
import pickle

import pytest

import hedgerow as hr
from spec_fixtures import jsonl, parser_cases, stopwords

ALIASES = {"k8s": ["kubernetes", "Container Orchestration"], "ts": ["typescript"]}


def by_id(case: dict) -> str:
    return case["id"]


@pytest.mark.parametrize("case", jsonl("normalise"), ids=by_id)
def test_normalise_case(case):
    assert hr.normalise(case["raw"]) == case["expected"]


@pytest.mark.parametrize("case", parser_cases(), ids=by_id)
def test_parse_case(case):
    query = hr.parse_query(case["input"])
    assert {**query.to_dict(), "fts": hr.compile_fts(query)} == case["expected"]
    assert hr.compile_fts(case["input"]) == case["expected"]["fts"]


def test_compile_many_agrees_with_one_by_one():
    texts = [case["input"] for case in parser_cases()]
    expected = [hr.compile_fts(text) for text in texts]
    assert hr.compile_many(texts) == hr.compile_many(texts, target="fts") == expected
    for matching in ("spec", "extended"):
        assert hr.compile_many(texts, ALIASES, target="match", matching=matching) == [
            hr.compile_match(text, ALIASES, matching=matching) for text in texts
        ]
    assert hr.compile_many(["a b"], target="fts", operator="AND") == [""]
    assert hr.compile_many([], target="fts") == []


@pytest.mark.parametrize("case", jsonl("alias"), ids=by_id)
def test_alias_case(case):
    expanded = hr.expand_aliases(hr.parse_query(case["input"]), case["table"])
    actual = {**expanded.to_dict(), "fts": hr.compile_fts(expanded)}
    del actual["raw"]
    assert actual == case["expected"]
    table = hr.AliasTable(case["table"])
    assert hr.compile_fts(case["input"], table) == case["expected"]["fts"]


def test_stop_words_are_the_fixtures():
    assert frozenset(stopwords("en")) == hr.EN_STOPWORDS
    assert frozenset(stopwords("nl")) == hr.NL_STOPWORDS
    assert all(map(hr.is_stopword, hr.EN_STOPWORDS | hr.NL_STOPWORDS))
    assert not hr.is_stopword("hedgehog")
    assert not hr.is_stopword("The"), "stop words are compared in lower case"


@pytest.mark.parametrize("word", ["ab", "x", "é", "🦔", "or", "not", "the", "oak", "🦔🦔", "k8s"])
def test_a_stop_word_is_what_bare_queries_drop(word):
    assert hr.is_stopword(word) == (not hr.parse_query(word).tokens)


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        ("hedgehog winter", "OR", "hedgehog OR winter"),
        ("hedgehog winter", "AND", "hedgehog AND winter"),
        ("hedgehog OR winter garden", "AND", "hedgehog OR winter AND garden"),
        ("hedgehog NOT winter", "AND", "hedgehog AND NOT winter"),
    ],
)
def test_the_default_operator_joins_what_has_none(text, operator, expected):
    assert hr.compile_fts(text, operator=operator) == expected


def test_a_query_is_plain_data():
    query = hr.parse_query('"Old Mill" NOT kube*')
    assert query.raw == '"Old Mill" NOT kube*'
    assert query.tokens == (hr.Token("phrase", "old mill"), hr.Token("prefix", "kube", "NOT"))
    assert query.has_operators
    assert query == hr.parse_query('  "Old Mill"  NOT kube* ')
    assert query != hr.parse_query('"Old Mill" OR kube*')
    assert len({query, hr.parse_query(query.raw)}) == 1
    assert repr(query) == (
        "Query(raw='\"Old Mill\" NOT kube*', tokens=(Token('phrase', 'old mill'), "
        "Token('prefix', 'kube', 'NOT')), has_operators=True)"
    )
    for again in (pickle.loads(pickle.dumps(query)), copy.deepcopy(query)):
        assert again == query
        assert hr.compile_match(again) == hr.compile_match(query)


def test_a_pickled_query_remembers_its_alias_groups():
    expanded = hr.expand_aliases(hr.parse_query("garden AND k8s"), ALIASES)
    again = pickle.loads(pickle.dumps(expanded))
    assert again == expanded
    assert hr.compile_match(again) == '"garden" AND ("kubernetes" OR "container orchestration")'


def test_a_token_is_plain_data():
    token = hr.Token("term", "oak", "AND")
    assert (token.kind, token.text, token.operator) == ("term", "oak", "AND")
    assert token.to_dict() == {"kind": "term", "text": "oak", "operator": "AND"}
    assert hr.Token("term", "oak").to_dict() == {"kind": "term", "text": "oak"}
    assert eval(repr(token), {"Token": hr.Token}) == token  # noqa: S307
    assert pickle.loads(pickle.dumps(token)) == token
    assert len({token, hr.Token("term", "oak", "AND"), hr.Token("term", "oak")}) == 2


def test_an_alias_table_is_an_immutable_mapping():
    source = {"k8s": ["kubernetes"], "empty": []}
    table = hr.AliasTable(source)
    source["k8s"].append("later")
    source["new"] = ["later"]
    assert dict(table) == {"k8s": ("kubernetes",), "empty": ()}
    assert len(table) == 2
    assert "k8s" in table
    assert table.get("new") is None
    assert table == {"k8s": ("kubernetes",), "empty": ()}
    assert pickle.loads(pickle.dumps(table)) == table
    assert hash(table) == hash(hr.AliasTable(dict(table)))
    assert repr(table) == "AliasTable({'k8s': ('kubernetes',), 'empty': ()})"
    assert hr.compile_fts("k8s", table) == hr.compile_fts("k8s", {"k8s": ["kubernetes"]})
    with pytest.raises(AttributeError, match="cannot be changed"):
        table.anything = 1


def test_keys_are_taken_as_given():
    assert hr.compile_fts("Bike walnut", {"Bike": ["velo"]}) == "bike OR walnut"
    assert hr.compile_fts("Bike walnut", {"bike": ["velo"]}) == "velo OR walnut"


def test_short_words_are_dropped_before_aliases():
    assert hr.compile_fts("ts", ALIASES) == ""
    assert hr.compile_fts("ts AND walnut", ALIASES) == "typescript AND walnut"
    assert hr.compile_match("ts", ALIASES, matching="extended") == '"typescript"'


@pytest.mark.parametrize("case", jsonl("retry"), ids=by_id)
def test_retry_case(case):
    assert {
        "sanitised": hr.sanitise_query(case["query"]),
        "strongest": hr.strongest_term(case["query"]),
        "tokens": hr.query_tokens(case["query"]),
    } == case["expected"]


@pytest.mark.parametrize("case", jsonl("slug"), ids=by_id)
def test_slug_case(case):
    assert hr.slug_text(case["path"]) == case["expected"]


@pytest.mark.parametrize("case", jsonl("trigram_grams"), ids=by_id)
def test_trigram_case(case):
    grams = hr.trigrams(case["text"])
    assert isinstance(grams, frozenset)
    assert sorted(grams, key=lambda gram: gram.encode("utf-16-be")) == case["expected"]
