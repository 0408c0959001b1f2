"""Every error of the query language and of the ranking functions."""

from __future__ import annotations

import pickle

import pytest

import hedgerow as hr
from hedgerow import _engine

HALF = "winter \ud83d garden"
EXPANDED = hr.expand_aliases(hr.parse_query("oak"), {})
CANDIDATE = {"id": "a", "path": "a.md"}
MANY_ALIASES = {"oak": [f"tree{n}" for n in range(100)]}


@pytest.mark.parametrize(
    ("call", "error", "code", "message"),
    [
        (
            lambda: hr.parse_query(HALF),
            hr.InvalidInputError,
            "lone_surrogate",
            "text has half of a surrogate pair at character 7; decode its source as UTF-8 "
            'with errors="replace", or remove the character',
        ),
        (
            lambda: hr.parse_query("é" * 32769),
            hr.QueryTooLargeError,
            "query_text_too_large",
            "the query has 65538 bytes of UTF-8 and the limit is 65536; shorten it",
        ),
        (
            lambda: hr.parse_query("oak " * 4097),
            hr.QueryTooLargeError,
            "too_many_tokens",
            "the query has 4097 tokens and the limit is 4096; shorten it",
        ),
        (
            lambda: hr.parse_query('oak "' + "elm " * 4096 + '"'),
            hr.QueryTooLargeError,
            "too_many_tokens",
            "the query has 4097 tokens and the limit is 4096; shorten it",
        ),
        (
            lambda: hr.compile_fts("oak_" * 4097),
            hr.QueryTooLargeError,
            "too_many_tokens",
            "the query has 4097 tokens and the limit is 4096; shorten it",
        ),
        (
            lambda: hr.compile_match("oak", date_hints="2024-05-05"),
            hr.InvalidInputError,
            "invalid_option",
            "date_hints is one str; give a list of strings",
        ),
        (
            lambda: hr.compile_fts("oak " * 100, MANY_ALIASES),
            hr.QueryTooLargeError,
            "too_many_alias_tokens",
            "the query has 10000 tokens after alias expansion and the limit is 8192; shorten it "
            "or the lists of alternatives",
        ),
        (
            lambda: hr.compile_match("oak " * 100, MANY_ALIASES),
            hr.QueryTooLargeError,
            "too_many_alias_tokens",
            "the query has 10000 tokens after alias expansion and the limit is 8192; shorten it "
            "or the lists of alternatives",
        ),
        (
            lambda: hr.compile_match(
                " ".join(f"x{n}-y{n}" for n in range(2000)), matching="extended"
            ),
            hr.QueryTooLargeError,
            "too_many_tokens",
            "the query has 6000 tokens and the limit is 4096; shorten it",
        ),
        (
            lambda: hr.expand_aliases(EXPANDED, {}),
            hr.InvalidInputError,
            "already_expanded",
            "aliases were expanded in this query and do not chain; pass the text or the query "
            "that parse_query returned",
        ),
        (
            lambda: hr.compile_fts(EXPANDED, {}),
            hr.InvalidInputError,
            "already_expanded",
            "aliases were expanded in this query and do not chain; pass the text or the query "
            "that parse_query returned",
        ),
        (
            lambda: hr.compile_match(EXPANDED, matching="extended"),
            hr.InvalidInputError,
            "already_expanded",
            'matching="extended" reads the words of the text, which alias expansion replaced; '
            "pass the text or the query that parse_query returned",
        ),
        (
            lambda: hr.compile_match("oak", matching="extended", operator="AND"),
            hr.InvalidInputError,
            "incompatible_options",
            'matching="extended" joins words with OR and excludes operator="AND"; use '
            'matching="spec" for AND',
        ),
        (
            lambda: hr.compile_fts("oak", operator="and"),
            hr.InvalidInputError,
            "invalid_option",
            'operator must be "OR" or "AND", not "and"',
        ),
        (
            lambda: hr.compile_match("oak", matching="fuzzy"),
            hr.InvalidInputError,
            "invalid_option",
            'matching must be "spec" or "extended", not "fuzzy"',
        ),
        (
            lambda: hr.compile_many(["oak"], target="sql"),
            hr.InvalidInputError,
            "invalid_option",
            'target must be "fts" or "match", not "sql"',
        ),
        (
            lambda: hr.compile_many(["oak", "elm", "oak " * 4097], target="fts"),
            hr.QueryTooLargeError,
            "too_many_tokens",
            "texts[2]: the query has 4097 tokens and the limit is 4096; shorten it",
        ),
        (
            lambda: hr.compile_many(["oak", HALF], target="fts"),
            hr.InvalidInputError,
            "lone_surrogate",
            "texts[1] has half of a surrogate pair at character 7; decode its source as UTF-8 "
            'with errors="replace", or remove the character',
        ),
        (
            lambda: hr.Token("word", "oak"),
            hr.InvalidInputError,
            "invalid_token",
            'kind must be "term", "phrase" or "prefix", not "word"',
        ),
        (
            lambda: hr.Token("term", "oak", "XOR"),
            hr.InvalidInputError,
            "invalid_token",
            'operator must be "AND", "OR", "NOT" or None, not "XOR"',
        ),
        (
            lambda: hr.compile_fts("oak", {"oak": "elm"}),
            hr.InvalidInputError,
            "invalid_aliases",
            'the alternatives of alias "oak" are one str; give a list of strings',
        ),
        (
            lambda: hr.AliasTable({"oak": 3}),
            hr.InvalidInputError,
            "invalid_aliases",
            'the alternatives of alias "oak" must be a list of strings, not int',
        ),
        (
            lambda: hr.AliasTable({"oak": ["elm", None]}),
            hr.InvalidInputError,
            "invalid_aliases",
            'the alternatives of alias "oak" must be strings, not NoneType',
        ),
        (
            lambda: hr.AliasTable({3: ["elm"]}),
            hr.InvalidInputError,
            "invalid_aliases",
            "alias keys must be str, not int",
        ),
        (
            lambda: hr.AliasTable([("oak", ["elm"])]),
            hr.InvalidInputError,
            "invalid_aliases",
            "aliases must be a mapping, not list",
        ),
        (
            lambda: hr.AliasTable({"oak": [HALF]}),
            hr.InvalidInputError,
            "lone_surrogate",
            "text has half of a surrogate pair at character 7; decode its source as UTF-8 "
            'with errors="replace", or remove the character',
        ),
        (
            lambda: hr.explain_query("oak", tokenizer="snowball"),
            hr.InvalidInputError,
            "unknown_tokenizer",
            'tokenizer must be "words", "porter unicode61", "unicode61" or "trigram", not "snowball"',
        ),
        (
            lambda: hr.Candidate("a", "b", title=3),
            hr.InvalidInputError,
            "invalid_candidate",
            "title must be str, not int",
        ),
        (
            lambda: hr.Candidate("a", "b", bm25_rank=-1),
            hr.InvalidInputError,
            "invalid_candidate",
            "bm25_rank must be an int from 0",
        ),
        (
            lambda: hr.Candidate("a", "b", vector_similarity=float("nan")),
            hr.InvalidInputError,
            "invalid_candidate",
            "vector_similarity is not a number (nan), which has no place in an order",
        ),
        (
            lambda: hr.Candidate("a", HALF),
            hr.InvalidInputError,
            "lone_surrogate",
            "path has half of a surrogate pair at character 7; decode its source as UTF-8 "
            'with errors="replace", or remove the character',
        ),
        (
            lambda: hr.reciprocal_rank_fusion([[CANDIDATE], [CANDIDATE, "oak"]]),
            hr.InvalidInputError,
            "invalid_candidate",
            "lists[1][1] must be a Candidate, a Hit or a mapping, not str",
        ),
        (
            lambda: hr.reciprocal_rank_fusion([CANDIDATE]),
            hr.InvalidInputError,
            "invalid_candidate",
            "lists[0] is one mapping; give a list",
        ),
        (
            lambda: hr.reciprocal_rank_fusion("oak"),
            hr.InvalidInputError,
            "invalid_candidate",
            "lists is one str; give a list",
        ),
        (
            lambda: hr.reciprocal_rank_fusion(3),
            hr.InvalidInputError,
            "invalid_candidate",
            "lists must be a list, not int",
        ),
        (
            lambda: hr.reciprocal_rank_fusion([[{"id": "a"}]]),
            hr.InvalidInputError,
            "invalid_candidate",
            "lists[0][0] has no 'path'; give it one",
        ),
        (
            lambda: hr.reciprocal_rank_fusion([[{**CANDIDATE, "title": b"oak"}]]),
            hr.InvalidInputError,
            "invalid_candidate",
            'lists[0][0]["title"] must be str, not bytes',
        ),
        (
            lambda: hr.reciprocal_rank_fusion([[{**CANDIDATE, "bm25Rank": 1}]]),
            hr.InvalidInputError,
            "invalid_candidate",
            "lists[0][0] has no key 'bm25Rank' (did you mean 'bm25_rank'?); the keys are 'id', 'path', "
            "'title', 'summary', 'content', 'bm25_rank', 'vector_similarity', 'score', "
            "'rerank_score', 'metadata', 'tags', 'ordinal', 'embedding', 'explanation'",
        ),
        (
            lambda: hr.reciprocal_rank_fusion([], k="60"),
            hr.InvalidInputError,
            "invalid_number",
            "k must be a number, not str",
        ),
        (
            lambda: hr.unanimity([], [], agree_min=True),
            hr.InvalidInputError,
            "invalid_number",
            "agree_min must be a number, not bool",
        ),
        (
            lambda: hr.unanimity(["a"], "abc"),
            hr.InvalidInputError,
            "invalid_id",
            "vector_ids is one str; give a list of strings",
        ),
        (
            lambda: hr.reweight("oak", [hr.Candidate("a", "b")]),
            hr.InvalidInputError,
            "invalid_candidate",
            "hits[0] has no score; give a Hit, or a mapping with the key 'score'",
        ),
        (
            lambda: hr.reweight("oak", [{**CANDIDATE, "score": "1"}]),
            hr.InvalidInputError,
            "invalid_candidate",
            'hits[0]["score"] must be a number, not str',
        ),
        (
            lambda: hr.rerank_text(None),
            hr.InvalidInputError,
            "invalid_candidate",
            "hit must be a Candidate, a Hit or a mapping, not NoneType",
        ),
        (
            lambda: hr.TrigramIndex([CANDIDATE, 3]),
            hr.InvalidInputError,
            "invalid_chunk",
            "chunks[1] must be a Chunk, a Candidate, a Hit or a mapping, not int",
        ),
        (
            lambda: hr.TrigramIndex(3),
            hr.InvalidInputError,
            "invalid_chunk",
            "chunks must be an iterable of Chunk, not int",
        ),
        (
            lambda: hr.TrigramIndex([]).search("oak", 1),
            hr.InvalidInputError,
            "invalid_token",
            "tokens is one str; give a list of strings",
        ),
        (
            lambda: hr.TrigramIndex([]).search(["oak", 3], 1),
            hr.InvalidInputError,
            "invalid_token",
            "tokens[1] must be str, not int",
        ),
        (
            lambda: hr.TrigramIndex([]).search(["oak"], 0),
            hr.InvalidInputError,
            "invalid_limit",
            "limit must be at least 1, not 0",
        ),
        (
            lambda: hr.TrigramIndex([]).search(["oak"], 1.5),
            hr.InvalidInputError,
            "invalid_limit",
            "limit must be an int of at least 1, not float",
        ),
        (
            lambda: _engine._panic("a test"),
            hr.EngineError,
            "engine_panic",
            "the engine failed unexpectedly (a test); please report this with the input",
        ),
    ],
)
def test_an_error_names_the_fix(call, error, code, message):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert raised.value.code == code
    assert str(raised.value) == raised.value.message == message
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), again.code, str(again)) == (error, code, message)


def test_a_phrase_is_one_token_of_at_most_4096_words() -> None:
    assert len(hr.parse_query('"' + "oak " * 4096).tokens) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hr.compile_fts(3), "expected a str or a Query, not int"),
        (lambda: hr.compile_match(b"oak"), "expected a str or a Query, not bytes"),
        (lambda: hr.parse_query(None), "str"),
        (lambda: hr.compile_many("oak", target="fts"), "expected a sequence of str, not one str"),
        (lambda: hr.expand_aliases("oak", {}), "Query"),
    ],
)
def test_a_wrong_type_is_a_type_error(call, message):
    with pytest.raises(TypeError, match=message):
        call()
