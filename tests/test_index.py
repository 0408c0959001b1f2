"""The index: storing, reading back, searching, copying (spec/index.md)."""

from __future__ import annotations

import gc
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr

TOKENIZERS = ["porter unicode61", "unicode61", "trigram"]


@pytest.fixture(params=["file", "memory"])
def index(request: pytest.FixtureRequest, tmp_path: Path):
    opened = (
        hr.Index.open(tmp_path / "index.db") if request.param == "file" else hr.Index.in_memory()
    )
    with opened:
        yield opened
        assert opened.check() == []


def chunk(name: str, content: str = "", **fields: Any) -> hr.Chunk:
    return hr.Chunk(name, fields.pop("path", f"notes/{name}.md"), content, **fields)


def ids(hits: list[hr.Hit]) -> list[str]:
    return [hit.id for hit in hits]


FULL = hr.Chunk(
    "hedgehog-1",
    "notes/hedgehog.md",
    "Hedgehogs sleep in winter.",
    title="The hedgehog",
    summary="On hibernation",
    tags=("garden animals", "winter"),
    metadata={
        "big": 2**64 - 1,
        "low": -(2**63),
        "third": 0.1 + 0.2,
        "whole": 1.0,
        "none": None,
        "yes": True,
        "list": [1, [2, {"deep": "é"}]],
        "nul": "a\0b",
    },
    ordinal=3,
)


class TestStoring:
    def test_an_empty_index(self, index):
        assert len(index) == 0
        assert index.search_bm25("hedgehog") == []
        assert index.get("hedgehog-1") is None
        assert list(index.chunks()) == []
        assert index.delete(["hedgehog-1"]) == 0
        assert index.delete_path("notes/hedgehog.md") == 0
        assert index.upsert([]) == 0
        assert index.stats().chunks == 0

    def test_a_chunk_comes_back_as_it_was(self, index):
        assert index.upsert([FULL]) == 1
        assert index.get("hedgehog-1") == FULL
        assert list(index.chunks()) == [FULL]
        again = index.get("hedgehog-1")
        assert repr(again.metadata) == repr(FULL.metadata), "types and key order survive"

    @given(
        texts=st.lists(st.text(), min_size=5, max_size=5),
        tags=st.lists(st.text(), max_size=4),
        metadata=st.dictionaries(
            st.text(),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers(-(2**63), 2**64 - 1)
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(),
                lambda values: st.lists(values) | st.dictionaries(st.text(), values),
                max_leaves=8,
            ),
            max_size=4,
        ),
        ordinal=st.integers(0, 2**63 - 1),
    )
    @settings(max_examples=150)
    def test_every_value_survives(self, texts, tags, metadata, ordinal):
        path, content, title, summary, identity = texts
        stored = hr.Chunk(
            identity or "id", path, content, title, summary, tags, metadata, ordinal=ordinal
        )
        with hr.Index.in_memory() as index:
            index.upsert([stored])
            found = index.get(stored.id)
            assert found == stored
            assert repr(found.metadata) == repr(metadata)
            assert found.tags == tuple(tags)
            assert index.upsert([chunk(stored.id, "another")]) == 1
            assert index.check() == []

    def test_nul_characters_survive_and_are_searched_past(self, index):
        index.upsert([chunk("a\0b", "winter\0hedgehog", title="\0", tags=["\0", "x\0y"])])
        assert index.get("a\0b").content == "winter\0hedgehog"
        assert ids(index.search_bm25("hedgehog")) == ["a\0b"]
        assert index.delete(["a\0b"]) == 1

    def test_a_path_may_have_many_chunks(self, index):
        index.upsert(chunk(f"c{n}", "text", path=f"p{n % 2}", ordinal=n) for n in range(10))
        assert index.delete_path("p1") == 5
        assert [stored.ordinal for stored in index.chunks()] == [0, 2, 4, 6, 8]
        assert index.delete(["c0", "c0", "c2", "c1"]) == 2
        assert index.delete(stored.id for stored in index.chunks()) == 3

    def test_the_same_id_twice_in_a_batch_the_last_wins(self, index):
        batch = [chunk("a", "first"), chunk("b", "other"), chunk("a", "last")]
        assert index.upsert(batch) == 2
        assert [(stored.id, stored.content) for stored in index.chunks()] == [
            ("a", "last"),
            ("b", "other"),
        ]

    def test_one_bad_chunk_and_nothing_is_written(self, index):
        index.upsert([chunk("kept", "text")])
        for bad in [chunk("", "no id"), {"id": "a"}, None]:
            with pytest.raises(hr.InvalidInputError, match=r"chunks\[1\]") as caught:
                index.upsert([chunk("a", "text"), bad, chunk("b", "text")])
            assert caught.value.code == "invalid_chunk"
        assert [stored.id for stored in index.chunks()] == ["kept"]

    def test_a_generator_that_fails_writes_nothing(self, index):
        def failing():
            yield chunk("a", "text")
            raise LookupError("lost")

        with pytest.raises(LookupError, match="lost"):
            index.upsert(failing())
        assert len(index) == 0

    def test_many_ids_meet_no_limit(self, index):
        index.upsert(chunk(f"c{n}", "text") for n in range(100))
        assert index.delete([f"c{n}" for n in range(40_000)]) == 100

    def test_chunks_may_be_deleted_while_iterating(self, index):
        index.upsert(chunk(f"c{n:03}", "text") for n in range(600))
        seen = []
        for stored in index.chunks():
            seen.append(stored.id)
            index.delete([stored.id])
        assert seen == [f"c{n:03}" for n in range(600)]
        assert len(index) == 0


class TestReplacing:
    def test_a_replaced_chunk_keeps_its_row(self, index):
        index.upsert(chunk(name, "winter garden", path="same") for name in "abc")
        index.upsert([chunk("a", "summer", path="same")])
        assert ids(index.search_bm25("winter")) == ["b", "c"]
        index.upsert([chunk("a", "winter garden", path="same")])
        assert ids(index.search_bm25("winter")) == ["a", "b", "c"]

    def test_old_texts_are_no_longer_found(self, index):
        index.upsert([FULL])
        index.upsert([chunk("hedgehog-1", "Foxes hunt at night.", path="a.md", tags=["forest"])])
        for gone in ["hedgehog", "hibernation", "garden", "winter"]:
            assert index.search_bm25(gone) == []
        for found in ["foxes", "forest"]:
            assert ids(index.search_bm25(found)) == ["hedgehog-1"]

    def test_metadata_alone_can_change(self, index):
        index.upsert([chunk("a", "winter", metadata={"n": 1})])
        for metadata in [{"n": 1.0}, {"n": 1, "m": 2}, {"m": 2, "n": 1}, {}]:
            assert index.upsert([chunk("a", "winter", metadata=metadata)]) == 1
            assert repr(index.get("a").metadata) == repr(metadata)
            assert ids(index.search_bm25("winter")) == ["a"]

    def test_an_unchanged_chunk_is_counted_but_not_rewritten(self, tmp_path):
        with hr.Index.open(tmp_path / "index.db") as index:
            index.upsert([FULL])
        before = (tmp_path / "index.db").read_bytes()
        with hr.Index.open(tmp_path / "index.db") as index:
            assert index.upsert([FULL, FULL]) == 1
        assert (tmp_path / "index.db").read_bytes() == before


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
            # One more word each, so that all are equally long.
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
        assert ids(index.search_bm25("hedgehog urban", default_operator="AND")) == ["b"]
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
        assert repr(hit).startswith("Hit(id='hedgehog-1', path='notes/hedgehog.md', title=")
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
        plain = sqlite3.connect(":memory:")
        plain.execute(
            "CREATE VIRTUAL TABLE t USING fts5(path, title, summary, tags, content, "
            "tokenize='porter unicode61')"
        )
        for n in range(200):
            pick = [words[(n * step + n // 7) % len(words)] for step in range(1, 12)]
            fields = (f"{pick[0]}/{n}.md", pick[1], pick[2], f"{pick[3]} {pick[4]}", " ".join(pick))
            plain.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", fields)
            index.upsert([hr.Chunk(str(n + 1), fields[0], fields[4], *fields[1:3], pick[3:5])])
        for text in [*words, "oak elm", "winter AND garden", '"oak elm"', "kube*", "elm NOT oak"]:
            expected = plain.execute(
                "SELECT rowid, -bm25(t, 3, 10, 5, 4, 1) AS score FROM t WHERE t MATCH ? "
                "ORDER BY -score, rowid",
                [hr.compile_match(text)],
            ).fetchall()
            found = index.search_bm25(text, 1000)
            assert [int(hit.id) for hit in found] == [row for row, _ in expected]
            assert [hit.score for hit in found] == pytest.approx([score for _, score in expected])
        plain.close()


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


@given(text=NASTY_QUERIES, default_operator=st.sampled_from(["OR", "AND"]))
@settings(max_examples=300)
def test_every_text_searches(nasty_index, text, default_operator):
    found = nasty_index.search_bm25(text, default_operator=default_operator)
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

    def test_the_default_takes_such_a_text_for_one_word(self):
        with hr.Index.in_memory() as index:
            index.upsert([self.JAPANESE])
            assert index.search_bm25("東京都") == []

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


class TestHandles:
    def test_what_was_written_is_there_when_opened_again(self, tmp_path):
        path = tmp_path / "index.db"
        with hr.Index.open(str(path)) as index:
            index.upsert([FULL])
            assert index.path == path
        with hr.Index.open(path, read_only=True) as index:
            assert index.get(FULL.id) == FULL
            assert index.read_only
            assert index.check() == []
        assert [entry.name for entry in tmp_path.iterdir()] == ["index.db"]

    def test_an_empty_file_becomes_an_index(self, tmp_path):
        (tmp_path / "index.db").touch()
        with hr.Index.open(tmp_path / "index.db") as index:
            assert index.upsert([FULL]) == 1

    def test_a_path_that_looks_like_a_uri_is_a_path(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with hr.Index.open("file:index?mode=memory#%20") as index:
            index.upsert([FULL])
        assert [entry.name for entry in tmp_path.iterdir()] == ["file:index?mode=memory#%20"]

    def test_repr(self, tmp_path):
        path = tmp_path / "index.db"
        with hr.Index.open(path) as index:
            assert (
                repr(index)
                == f"Index.open('{path}', tokenizer='porter unicode61', read_only=False)"
            )
        with hr.Index.in_memory(tokenizer="trigram") as index:
            assert repr(index) == "Index.in_memory(tokenizer='trigram')"
            assert index.path is None
            assert not index.read_only

    def test_stats(self, index):
        index.upsert(chunk(f"c{n}", "text", path=f"p{n % 3}") for n in range(7))
        stats = index.stats()
        assert (stats.chunks, stats.paths, stats.tokenizer) == (7, 3, "porter unicode61")
        assert stats.schema_version == 4
        assert stats.size_bytes > 0
        assert stats.size_bytes % 4096 == 0
        assert stats.sqlite_version.startswith("3.")
        assert pickle.loads(pickle.dumps(stats)) == stats
        assert "chunks=7" in repr(stats)

    def test_pickling_opens_the_file_again(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with hr.Index.open("index.db", tokenizer="trigram") as index:
            index.upsert([FULL])
            monkeypatch.chdir("/")
            with pickle.loads(pickle.dumps(index)) as again:
                assert again.get(FULL.id) == FULL
                assert repr(again) == repr(index)

    def test_an_iterator_keeps_no_file_open_by_itself(self, index):
        index.upsert([FULL])
        iterator = index.chunks()
        assert next(iterator) == FULL
        gc.collect()
        assert list(iterator) == []

    def test_optimize_changes_no_result(self, index):
        for n in range(30):
            index.upsert([chunk(f"c{n}", f"winter garden {n}")])
        before = index.search_bm25("winter 7", 30)
        index.optimize()
        assert index.search_bm25("winter 7", 30) == before


class TestBackup:
    def test_a_backup_is_an_index_of_its_own(self, index, tmp_path):
        index.upsert([chunk("c", "gone"), FULL, chunk("b", "winter")])
        index.delete(["c"])
        index.backup(tmp_path / "backup.db")
        index.upsert([chunk("later", "winter")])
        with hr.Index.open(tmp_path / "backup.db") as backup:
            assert [stored.id for stored in backup.chunks()] == [FULL.id, "b"]
            assert backup.check() == []
            assert backup.upsert([chunk("later", "hedgehog")]) == 1
            assert ids(backup.search_bm25("winter")) == [FULL.id, "b"]

    def test_only_the_backup_is_left_behind(self, index, tmp_path):
        folder = tmp_path / "backups"
        folder.mkdir()
        index.backup(str(folder / "one.db"))
        with pytest.raises(hr.IndexFileError):
            index.backup(folder / "one.db")
        assert [entry.name for entry in folder.iterdir()] == ["one.db"]


class TestChunks:
    def test_fields_and_defaults(self):
        small = hr.Chunk("", "p", "c")
        assert (small.id, small.path, small.content) == ("", "p", "c")
        assert (small.title, small.summary, small.tags) == ("", "", ())
        assert (small.metadata, small.ordinal) == ({}, 0)

    def test_chunks_and_filters_compare_pickle_and_print(self):
        filters = hr.Filters(["a"], "b", ["c"], {"d": [1, None]})
        for value in [FULL, filters, hr.Filters(), chunk("a")]:
            assert pickle.loads(pickle.dumps(value)) == value
        assert chunk("a") != chunk("b")
        assert chunk("a", metadata={"x": 1, "y": 2}) == chunk("a", metadata={"y": 2, "x": 1})
        assert repr(chunk("a", "x" * 100)) == (
            "Chunk(id='a', path='notes/a.md', ordinal=0, title='', content='" + "x" * 60 + "…')"
        )
        assert repr(filters) == (
            "Filters(paths=('a',), path_prefix='b', tags=('c',), metadata={'d': [1, None]})"
        )

    def test_they_cannot_be_changed(self):
        with pytest.raises(AttributeError):
            FULL.content = "x"
        FULL.metadata["added"] = 1
        assert "added" not in FULL.metadata
