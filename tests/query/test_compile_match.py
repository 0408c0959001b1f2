"""Compiled expressions, run by the FTS5 of Python's own SQLite (spec/compile.md)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hedgerow as hr

ALIASES = {"k8s": ["kubernetes", "cluster manager"], "pest": ["urban", "hedgehog"]}


@pytest.fixture(scope="module")
def table() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE d USING fts5(t, tokenize='porter unicode61')")
    documents = ["winter hedgehog", "urban winter hedgehog", "kubernetes deployment"]
    connection.executemany("INSERT INTO d VALUES (?)", [(text,) for text in documents])
    yield connection
    connection.close()


def run(table: sqlite3.Connection, expression: str) -> list[int]:
    rows = table.execute("SELECT rowid FROM d WHERE d MATCH ? ORDER BY rowid", [expression])
    return [row for (row,) in rows]


@pytest.mark.parametrize(
    ("text", "expression", "found"),
    [
        ("winter hedgehog NOT urban", '("winter" OR "hedgehog") NOT ("urban")', [1]),
        ("NOT winter", '"winter"', [1, 2]),
        ("winter AND pest", '"winter" AND ("urban" OR "hedgehog")', [1, 2]),
        ("winter NOT pest", '("winter") NOT ("urban" OR "hedgehog")', []),
        ("kube*", '"kube" *', [3]),
        ("runn*", '"runn" *', []),
        ('say "NEAR(winter)', '"say" OR "near(winter)"', []),
        ("t:winter AND …", '"twinter"', []),
        ("multi-agent", '"multiagent"', []),
    ],
)
def test_the_text_and_what_it_finds(table, text, expression, found):
    assert hr.compile_match(text, ALIASES) == expression
    assert run(table, expression) == found


@pytest.mark.parametrize("text", ["", "   ", "to do list", "…", '"…" NOT winter', '""', "***"])
def test_nothing_searchable_is_an_empty_text(text):
    assert hr.compile_match(text) == ""


@pytest.mark.parametrize(
    ("date_hints", "expression"),
    [
        ((), '"winter"'),
        (("2026/04/18",), '"winter" OR "2026 04 18"'),
        (["2026/04/18", "2026-04-18", "2026/04/11"], '"winter" OR "2026 04 18" OR "2026 04 11"'),
        (["…"], '"winter"'),
    ],
)
def test_date_hints_are_phrases(date_hints, expression):
    assert hr.compile_match("winter", date_hints=date_hints) == expression


def test_what_temporal_expansion_gives_can_be_searched(table):
    question = "what winter notes did I write 2 weeks ago?"
    expansion = hr.expand_temporal(question, "2026-04-18")
    augmented = hr.augment_query(question, "2026-04-18")
    expression = hr.compile_match(augmented, date_hints=expansion.date_hints)
    assert expression.endswith('OR "2026 04 04"')
    assert run(table, expression) == [1, 2]


PIECES = st.one_of(
    st.sampled_from(
        [*'"*()^:-+{}[]\\\0…\x85', "AND", "OR", "NOT", "NEAR", "k8s", "pest", "t:", "T-cell", "'s"]
    ),
    st.text(max_size=8),
)
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " "]))).map(
    lambda pieces: "".join(piece + gap for piece, gap in pieces)
)


@settings(max_examples=500)
@given(
    text=TEXTS,
    matching=st.sampled_from(["spec", "extended"]),
    aliases=st.sampled_from([None, ALIASES]),
    date_hints=st.lists(PIECES, max_size=2),
)
def test_fts5_accepts_whatever_is_compiled(table, text, matching, aliases, date_hints):
    expression = hr.compile_match(text, aliases, matching=matching, date_hints=date_hints)
    if expression:
        run(table, expression)


@given(TEXTS)
def test_tokens_are_found_again_in_the_normative_text(text):
    fts = hr.compile_fts(text)
    for token in hr.parse_query(text).tokens:
        assert token.text in fts


@given(TEXTS)
def test_everything_about_a_query_pickles_and_explains(text):
    # These are read as plain signs, but not in the normative form.
    assume(not set(text) & set("\u2212–«»「」『』＂“”„‟"))
    explanation = hr.explain_query(text, ALIASES)
    query = hr.expand_aliases(hr.parse_query(text), ALIASES)
    kept = [token for word in explanation.words for token in word.tokens]
    assert kept == list(query.tokens)
    assert explanation.fts == hr.compile_fts(text, ALIASES)
    assert explanation.match == hr.compile_match(text, ALIASES)
    assert explanation.filtered is not query.has_operators
    assert explanation.normalised == query.raw
    assert str(explanation)


def test_words_splits_runs_of_scripts_without_spaces() -> None:
    for text, expected in [
        ("树篱下", '"树篱" OR "篱下" OR "树篱下"'),
        ("庁", '"庁" *'),
        ("программа", '"программа"'),
        ("überwintert", '"uberwintert"'),
        ("hedgehogs winter", '"hedgehogs" OR "winter"'),
    ]:
        for matching in ("spec", "extended"):
            assert hr.compile_match(text, tokenizer="words", matching=matching) == expected
    assert hr.compile_match("树篱下") == '"树篱下"'
    told = hr.explain_query("树篱下", tokenizer="words")
    assert [(word.source, word.outcome, len(word.tokens)) for word in told.words] == [
        ("树篱下", "kept", 1)
    ]
    assert told.match == '"树篱" OR "篱下" OR "树篱下"'


def test_no_mark_of_a_phrase_is_ever_shown() -> None:
    texts = ["Ежи спят под программными кустами", "Die Hecken im Garten überwintern häufig."]
    with hr.Index.from_texts(texts, paths=["ru", "de"]) as index:
        retriever = hr.Retriever(index)
        for query in ("программа", "überwintert", "which überwintert", "viet nguyen"):
            found = retriever.search(query)
            assert found.trace.match_query.isprintable(), query
            told = retriever.why_not(query, index.search_bm25("под OR Hecken", 1)[0].id)
            assert all(character >= " " for character in str(told) if character != "\n")
