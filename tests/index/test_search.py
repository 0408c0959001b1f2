"""Keyword search: hits, their order, and tokenizers (spec/index.md)."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from index_doubles import FULL, chunk, ids

TOKENIZERS = ["words", "porter unicode61", "unicode61", "trigram"]
SCRIPTS = {
    "latin": ("Crème brûlée in Zürich", "creme"),
    "greek": ("Ο ΣΚΑΝΤΖΟΧΟΙΡΟΣ κοιμάται", "σκαντζοχοιροσ"),
    "cyrillic": ("Ёжик спит зимой", "спит"),
    "arabic": ("القنفذ ينام في الشتاء", "ينام"),
    "devanagari": ("हेजहोग सर्दियों में सोता है", "सोता"),
    "hangul": ("고슴도치는 겨울에 잔다", "겨울에"),
}


class TestSearching:
    @pytest.mark.parametrize("script", SCRIPTS)
    def test_scripts(self, index, script):
        content, query = SCRIPTS[script]
        index.upsert([chunk("other", "nothing of the kind"), chunk(script, content)])
        assert ids(index.search_bm25(query)) == [script]

    def test_every_text_column_is_searched_with_its_weight(self, index):
        columns = ["content", "path", "tags", "summary", "title"]
        for column in columns:
            # Each chunk has one additional word, so that all are equally long.
            fields: dict[str, Any] = {"content": "oak", "path": ""}
            if column == "content":
                fields["path"] = "oak"
            fields[column] = ["badger"] if column == "tags" else "badger"
            index.upsert([chunk(column, **fields)])
        index.upsert(chunk(f"filler{n}", "oak") for n in range(20))
        hits = index.search_bm25("badger")
        assert ids(hits) == ["title", "summary", "tags", "path", "content"]
        assert [hit.bm25_rank for hit in hits] == [0, 1, 2, 3, 4]
        assert all(hit.score > 0 for hit in hits)

    def test_equal_scores_stand_in_row_order(self, index):
        index.upsert(chunk(name, "winter garden", path="same") for name in "zmaq")
        hits = index.search_bm25("winter")
        assert ids(hits) == list("zmaq")
        assert len({hit.score for hit in hits}) == 1

    def test_porter_prefixes_match_stems(self, index):
        index.upsert([chunk("k", "kubernetes"), chunk("r", "running")])
        assert ids(index.search_bm25("kube*")) == ["k"]
        assert index.search_bm25("runn*") == []
        assert ids(index.search_bm25("run*")) == ["r"]
        assert ids(index.search_bm25("runs")) == ["r"]

    def test_queries_are_taken_parsed_or_as_text(self, index):
        index.upsert(
            [chunk("a", "hedgehog"), chunk("b", "hedgehog urban"), chunk("c", "kubernetes")]
        )
        text = "hedgehog NOT urban"
        assert ids(index.search_bm25(text)) == ["a"]
        assert index.search_bm25(hr.parse_query(text)) == index.search_bm25(text)
        assert ids(index.search_bm25("k8s", aliases={"k8s": ["kubernetes"]})) == ["c"]
        table = hr.AliasTable({"k8s": ["kubernetes", "urban"]})
        assert ids(index.search_bm25("k8s", aliases=table)) == ["c", "b"]
        assert ids(index.search_bm25("hedgehog urban", operator="AND")) == ["b"]
        assert ids(index.search_bm25("hedgehogs' urbanity?", matching="extended"))

    def test_nothing_searchable_finds_nothing(self, index):
        index.upsert([FULL])
        for text in ["", "  ", "the", "…", '"…"', 'NOT "…"', "\0", "AND OR"]:
            assert index.search_bm25(text) == []

    def test_a_hit_says_what_it_is(self, index):
        index.upsert([FULL, chunk("b", "oak"), chunk("c", "elm")])
        (hit,) = index.search_bm25("hedgehog")
        assert (hit.id, hit.path, hit.title) == (FULL.id, FULL.path, FULL.title)
        assert (hit.summary, hit.content) == (FULL.summary, FULL.content)
        assert hit.metadata == FULL.metadata
        assert (hit.bm25_rank, hit.vector_similarity, hit.rerank_score) == (0, None, None)
        assert hit.explain() == f"score {hit.score:.4f}: number 1 by BM25"
        assert repr(hit) == (
            f"Hit(id='hedgehog-1', path='notes/hedgehog.md', score={hit.score!r}, "
            f"title='The hedgehog', content={FULL.content!r})"
        )
        assert pickle.loads(pickle.dumps(hit)) == hit

    def test_top_k_is_a_prefix_of_top_k_plus_1(self, index):
        index.upsert(
            chunk(f"c{n}", "winter " * (n % 3 + 1) + "garden " * (n % 5)) for n in range(60)
        )
        full = index.search_bm25("winter garden", 100)
        assert len(full) == 60
        for k in [1, 2, 10, 59, 60, 10**30]:
            assert index.search_bm25("winter garden", k) == full[:k]

    def test_order_and_scores_are_those_of_a_plain_fts5_table(self, index):
        words = ["oak", "elm", "ash", "winter", "garden", "hedgehog", "running", "runner"]
        with closing(sqlite3.connect(":memory:")) as plain:
            plain.execute(
                "CREATE VIRTUAL TABLE t USING fts5(path, title, summary, tags, content, "
                "tokenize='porter unicode61')"
            )
            for n in range(200):
                pick = [words[(n * step + n // 7) % len(words)] for step in range(1, 12)]
                tags, content = pick[3:5], " ".join(pick)
                fields = (f"{pick[0]}/{n}.md", pick[1], pick[2], " ".join(tags), content)
                plain.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", fields)
                index.upsert([hr.Chunk(str(n + 1), fields[0], content, *pick[1:3], tags)])
            for text in [
                *words,
                "oak elm",
                "winter AND garden",
                '"oak elm"',
                "kube*",
                "elm NOT oak",
            ]:
                # Rounded, because the interpreter's SQLite may be compiled to round less often when
                # adding, and then equal scores differ in the last bit.
                expected = plain.execute(
                    "SELECT rowid, round(-bm25(t, 3, 10, 5, 4, 1), 12) AS score FROM t "
                    "WHERE t MATCH ? ORDER BY score DESC, rowid",
                    [hr.compile_match(text)],
                ).fetchall()
                found = index.search_bm25(text, 1000)
                assert [int(hit.id) for hit in found] == [row for row, _ in expected]
                assert [hit.score for hit in found] == pytest.approx(
                    [score for _, score in expected]
                )


NASTY = st.text(
    st.sampled_from(list("ab*\"'()-^:+{}[]\\\0 \t\n,;.|&!~`东京é́ßİ😀\u200b\ufeff\u2028"))
    | st.characters(exclude_categories=["Cs"]),
    max_size=40,
)
NASTY_QUERIES = NASTY | st.lists(
    NASTY | st.sampled_from(["AND", "OR", "NOT", "NEAR", "title:", "a*", '"']), max_size=8
).map(" ".join)


@pytest.fixture(scope="module", params=TOKENIZERS)
def nasty_index(request: pytest.FixtureRequest):
    with hr.Index.in_memory(tokenizer=request.param) as index:
        index.upsert([FULL, chunk("a", "ab a b 東京都 😀"), chunk("b", '(near) and "or" not*')])
        yield index


@given(text=NASTY_QUERIES, operator=st.sampled_from(["OR", "AND"]))
@settings(max_examples=300)
def test_every_text_searches(nasty_index, text, operator):
    found = nasty_index.search_bm25(text, operator=operator)
    assert all(isinstance(hit, hr.Hit) for hit in found)
    nasty_index.search_bm25(text, matching="extended")


class TestTokenizers:
    JAPANESE = chunk("ja", "ハリネズミは冬に東京都の庭で眠る")
    THAI = chunk("th", "เม่นแคระจำศีลในฤดูหนาว")

    def test_trigram_finds_words_inside_text_without_spaces(self):
        with hr.Index.in_memory(tokenizer="trigram") as index:
            index.upsert([self.JAPANESE, self.THAI])
            assert ids(index.search_bm25("東京都")) == ["ja"]
            assert ids(index.search_bm25("ハリネズミ")) == ["ja"]
            assert ids(index.search_bm25("จำศีล")) == ["th"]
            assert index.search_bm25("東京") == [], "less than three characters"
            assert index.check() == []

    def test_porter_takes_such_a_text_for_one_word(self, caplog):
        caplog.set_level("INFO", logger="hedgerow.index")
        with hr.Index.in_memory(tokenizer="porter unicode61") as index:
            index.upsert([self.JAPANESE])
            assert index.search_bm25("東京都") == []
            assert index.search_bm25("東京") == []
            said = [line for line in caplog.messages if "finds no words within" in line]
            assert len(said) == 1
            assert 'has the tokenizer "porter unicode61"' in said[0]
            assert index.retokenize("words") is True
            assert ids(index.search_bm25("東京")) == ["ja"]

    def test_the_default_finds_words_of_every_script(self):
        texts = {
            "ja": self.JAPANESE.content,
            "th": self.THAI.content,
            "ko": "고슴도치는 울타리 아래에서 겨울잠을 잔다",
            "ru": "Ежи спят под кустами",
            "ar": "القنفذ ينام في المكتبة",
            "hi": "सर्दियों में किताबें",
            "de": "Die Igel überwintern unter dürren Hecken",
            "vi": "Nguyễn văn A ở Việt Nam",
        }
        with hr.Index.in_memory() as index:
            index.upsert([chunk(name, text) for name, text in texts.items()])
            for query, name in [
                ("東京", "ja"),
                ("庭", "ja"),
                ("จำศีล", "th"),
                ("울타리", "ko"),
                ("кустарник", "ru"),
                ("قنفذ", "ar"),
                ("किताब", "hi"),
                ("überwintert", "de"),
                ("nguyen", "vi"),
                ("viet", "vi"),
            ]:
                for matching in ("spec", "extended"):
                    assert ids(index.search_bm25(query, matching=matching)) == [name], query
            assert index.check() == []

    def test_retokenize_reports_and_can_be_stopped(self, tmp_path):
        class StopError(Exception):
            pass

        def stop(*_: int) -> None:
            raise StopError

        path = tmp_path / "index.db"
        with hr.Index.open(path, tokenizer="trigram") as index:
            index.upsert([self.JAPANESE, self.THAI])
            with pytest.raises(StopError):
                index.retokenize(progress=stop)
            assert index.tokenizer == "trigram"
            assert ids(index.search_bm25("東京都")) == ["ja"]
            seen: list[tuple[int, int]] = []
            assert index.retokenize(progress=lambda done, total: seen.append((done, total)))
            assert seen[-1] == (2, 2)
            assert index.tokenizer == "words"
            assert not index.retokenize("words")
            with pytest.raises(hr.InvalidInputError, match="tokenizer must be"):
                index.retokenize("snowball")
        with hr.Index.open(path, read_only=True) as index:
            assert ids(index.search_bm25("東京")) == ["ja"]

    def test_unicode61_does_not_stem(self):
        with hr.Index.in_memory(tokenizer="unicode61") as index:
            index.upsert([chunk("a", "running")])
            assert index.search_bm25("runs") == []
            assert ids(index.search_bm25("runn*")) == ["a"]

    @pytest.mark.parametrize("tokenizer", TOKENIZERS)
    def test_a_file_keeps_its_tokenizer(self, tmp_path, tokenizer):
        path = tmp_path / "index.db"
        hr.Index.open(path, tokenizer=tokenizer).close()
        with hr.Index.open(path) as index:
            assert index.tokenizer == tokenizer
            assert index.stats().tokenizer == tokenizer
        hr.Index.open(path, tokenizer=tokenizer).close()
