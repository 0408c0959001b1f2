"""The index: storing, replacing, reading back, opening, copying (spec/index.md)."""

from __future__ import annotations

import gc
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from index_doubles import FULL, chunk, ids


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
            assert repr(index) == f"Index.open('{path}', tokenizer='words', read_only=False)"
        with hr.Index.in_memory(tokenizer="trigram") as index:
            assert repr(index) == "Index.in_memory(tokenizer='trigram')"
            assert index.path is None
            assert not index.read_only

    def test_stats(self, index):
        index.upsert(chunk(f"c{n}", "text", path=f"p{n % 3}") for n in range(7))
        stats = index.stats()
        assert (stats.chunks, stats.paths, stats.tokenizer) == (7, 3, "words")
        assert stats.schema_version == 7
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
