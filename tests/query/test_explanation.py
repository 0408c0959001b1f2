"""Why a word is searched for or dropped (spec/query.md, "Explanation")."""

from __future__ import annotations

import pickle

import pytest

import hedgerow as hr

ALIASES = {"k8s": ["kubernetes", "container orchestration"], "ts": ["typescript"]}


@pytest.mark.parametrize(
    ("text", "source", "outcome", "reason", "detail"),
    [
        ("hedgehog", "hedgehog", "kept", "term", ""),
        ('"old mill"', "old mill", "kept", "phrase", ""),
        ("hedge*", "hedge*", "kept", "prefix", ""),
        ("K8s", "K8s", "kept", "alias", "k8s is an alias"),
        (
            "oak AND …",
            "…",
            "kept",
            "unsearchable",
            "the porter unicode61 tokenizer finds nothing to search in it",
        ),
        ("the oak", "the", "dropped", "stop_word", "a stop word: English"),
        ("het oak", "het", "dropped", "stop_word", "a stop word: Dutch"),
        ("ab oak", "ab", "dropped", "too_short", "too short: at most 2 UTF-16 units"),
        (
            "ts oak",
            "ts",
            "dropped",
            "too_short",
            "dropped before aliases: too short: at most 2 UTF-16 units",
        ),
        ("oak and elm", "and", "dropped", "filler", "operators count in upper case only"),
        ("oak - elm", "-", "dropped", "only_punctuation", "only punctuation"),
        ('oak "" elm', "", "dropped", "empty_phrase", "a phrase without text"),
        ("oak AND elm", "AND", "operator", "attached", "applies to the next token"),
        ("oak AND OR elm", "AND", "dropped", "replaced", "a later operator takes its place"),
        (
            "oak AND - elm",
            "AND",
            "dropped",
            "cleared",
            "the next word is only punctuation and takes it along",
        ),
        ("oak AND", "AND", "dropped", "dangling", "no token follows"),
        ("AND oak", "AND", "dropped", "leading_operator", "nothing stands before it to join"),
        (
            "NOT oak",
            "NOT",
            "dropped",
            "leading_not",
            "a NOT before the first token has nothing to exclude from",
        ),
    ],
)
def test_each_word_says_why(text, source, outcome, reason, detail):
    words = hr.explain_query(text, ALIASES).words
    word = next(word for word in words if word.source == source)
    assert (word.outcome, word.reason, word.detail) == (outcome, reason, detail)


def test_it_prints_well():
    explanation = hr.explain_query("What is the K8s rollout?", ALIASES)
    assert str(explanation) == "\n".join(
        [
            "text        What is the K8s rollout?",
            "normalised  What is the K8s rollout?",
            "filtering   a bare query: short words and stop words are dropped",
            "  What dropped: a stop word: English",
            "  is dropped: too short: at most 2 UTF-16 units",
            "  the dropped: a stop word: English",
            '  K8s kept as kubernetes or "container orchestration": k8s is an alias',
            "  rollout? kept as rollout",
            'normative   kubernetes OR "container orchestration" OR rollout',
            'executed    "kubernetes" OR "container orchestration" OR "rollout"',
        ]
    )
    nothing = str(hr.explain_query("to do"))
    assert "(nothing)" in nothing
    assert "(nothing searchable: no search is run)" in nothing


def test_it_is_plain_data():
    explanation = hr.explain_query("oak AND elm*")
    assert pickle.loads(pickle.dumps(explanation)) == explanation
    assert explanation == hr.explain_query("oak AND elm*")
    assert explanation.text == "oak AND elm*"


def test_the_tokenizer_decides_what_is_searchable():
    words = hr.explain_query("東京 AND 東京都", tokenizer="trigram").words
    assert [word.reason for word in words] == ["unsearchable", "attached", "term"]


@pytest.mark.parametrize(
    ("text", "source", "outcome", "became", "because"),
    [
        ("T-cell rest", "T-cell", "kept", ["cell", "t cell"], ("parts", "")),
        ("TV", "TV", "kept", ["tv"], ("parts", "")),
        ("ts oak", "ts", "kept", ["typescript"], ("parts", "")),
        (
            "oak, what's",
            "what's",
            "dropped",
            [],
            ("stop_word", "a stop word: function words of English"),
        ),
        ("oak of", "of", "dropped", [], ("stop_word", "a stop word: function words of English")),
        ("oak ash zz", "zz", "dropped", [], ("too_short", "too short: at most 2 UTF-16 units")),
        ("oak …", "…", "dropped", [], ("only_punctuation", "only punctuation")),
        ("oak oak oak Oak", "Oak", "dropped", [], ("repeated", "counted three times already")),
        ("how is", "is", "kept", ["is"], ("last_resort", "noise, but the query is nothing else")),
        ("oak zz", "zz", "kept", ["zz"], ("parts", "")),
        ("did Bo phone", "Bo", "kept", ["bo"], ("parts", "")),
        ("oak -T-cell", "-T-cell", "kept", ["t cell"], ("excluded", "results must not have it")),
        ("oak AND (ash)", "(", "operator", [], ("group", "begins a group")),
        ("oak AND -ash", "-", "operator", [], ("minus", "results must not have the next token")),
        (
            "oak AND ash)",
            ")",
            "dropped",
            [],
            ("parenthesis", "it has no counterpart, or is too deep"),
        ),
        ("T-cell AND oak", "T-cell", "kept", ["t cell"], ("parts", "")),
        (
            "oak AND k8s",
            "k8s",
            "kept",
            ["kubernetes", "container orchestration"],
            ("alias", "k8s is an alias"),
        ),
    ],
)
def test_extended_matching_is_explained_as_it_runs(text, source, outcome, became, because):
    explanation = hr.explain_query(text, ALIASES, matching="extended")
    word = next(word for word in explanation.words if word.source == source)
    assert word.outcome == outcome
    assert (word.reason, word.detail) == because
    assert [token.text for token in word.tokens] == became
    assert explanation.match == hr.compile_match(text, ALIASES, matching="extended")


def test_the_default_operator_is_explained_as_it_runs():
    explanation = hr.explain_query("oak elm", operator="AND")
    assert explanation.fts == "oak AND elm"
    assert explanation.match == '"oak" AND "elm"'
