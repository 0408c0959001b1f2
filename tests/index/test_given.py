"""Chunks from mappings, an index from plain texts, and `Index(path)`."""

from __future__ import annotations

import inspect
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from index_doubles import FULL, embedded

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def test_a_chunk_is_written_and_read_as_a_dictionary():
    fields = FULL.to_dict()
    assert list(fields) == [
        "id", "path", "ordinal", "title", "summary", "tags", "content", "metadata", "embedding",
    ]  # fmt: skip
    assert json.loads(json.dumps(fields)) == fields
    assert hr.Chunk.from_dict(fields) == FULL
    assert hr.Chunk(**fields) == FULL
    whole = embedded("a", [0.5, 1.0])
    assert whole.to_dict()["embedding"] == [0.5, 1.0]
    assert hr.Chunk.from_dict(whole.to_dict()) == whole


@given(
    st.builds(
        hr.Chunk, TEXT, TEXT, TEXT, title=TEXT, summary=TEXT, tags=st.lists(TEXT),
        metadata=st.dictionaries(TEXT, st.none() | st.integers(-9, 9) | TEXT),
        ordinal=st.integers(0, 2**63 - 1), embedding=st.none() | st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)),
    )
)  # fmt: skip
def test_every_chunk_is(chunk):
    assert hr.Chunk.from_dict(chunk.to_dict()) == chunk


def test_mappings_are_stored_like_chunks(index):
    stored = index.upsert(
        [
            {"id": "a", "path": "p.md", "content": "oak", "tags": ("x",), "ordinal": 2},
            hr.Chunk(id="b", path="p.md", content="elm"),
            {"id": "c", "content": "ash", "path": None, "metadata": {"year": 2026}},
        ]
    )
    assert stored == 3
    assert index.get("a") == hr.Chunk("a", "p.md", "oak", tags=["x"], ordinal=2)
    assert index.get("c") == hr.Chunk("c", "c", "ash", metadata={"year": 2026})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"id": "a", "text": "oak"},
            r"chunks\[1\] has no key 'text' \(did you mean 'content'\?\); the keys are 'id', 'path'",
        ),
        ({"id": "a", "contnet": "oak"}, r"no key 'contnet' \(did you mean 'content'\?\)"),
        ({"id": "a", "zzzzzz": "oak"}, r"chunks\[1\] has no key 'zzzzzz'; the keys"),
        ({"id": "a", 1: "oak"}, r"chunks\[1\] has no key 1; the keys"),
        ({"content": "oak"}, r"chunks\[1\] has no 'id'; give it one"),
        ({"id": "a"}, r"chunks\[1\] has no 'content'; give it one"),
        ({"id": "a", "content": 5}, r'chunks\[1\]\["content"\] must be str, not int'),
        ({"id": "a", "content": "", "tags": "x"}, r'chunks\[1\]\["tags"\] .*str'),
        ({"id": "a", "content": "", "ordinal": -1}, r'chunks\[1\]\["ordinal"\] must be an int'),
        ({"id": "a", "content": "", "embedding": "x"}, r'chunks\[1\]\["embedding"\]'),
        (["id"], r"chunks\[1\] must be a Chunk or a mapping, not list"),
    ],
)
def test_what_is_no_chunk_is_named_with_what_was_meant(index, item, message):
    for retriever in [hr.Retriever(index), hr.Retriever(index, embedder=lambda _: [[1.0]])]:
        for upsert in [index.upsert, retriever.upsert]:
            with pytest.raises(hr.InvalidInputError, match=message) as caught:
                upsert([FULL, item])
            assert caught.value.code == "invalid_chunk"
    assert len(index) == 0


def test_one_mapping_and_one_text_are_no_list(index):
    with pytest.raises(hr.InvalidInputError, match="chunks is one mapping; give a list of them"):
        index.upsert({"id": "a", "content": "oak"})
    with pytest.raises(hr.InvalidInputError, match="chunks must be an iterable of Chunk or map"):
        index.upsert("oak")
    with pytest.raises(hr.InvalidInputError, match="fields must be a mapping, not str"):
        hr.Chunk.from_dict("oak")


def test_a_retriever_takes_lists_and_says_what_is_missing(index):
    retriever = hr.Retriever(index)
    for one in (FULL, {"id": "a", "content": "oak"}):
        with pytest.raises(hr.InvalidInputError, match="chunks is one chunk; give a list of them"):
            retriever.upsert(one)
    for one in ("oak", None):
        with pytest.raises(hr.InvalidInputError, match=f"a list of chunks, not {one!r}"):
            retriever.upsert(one)
    with pytest.raises(hr.InvalidInputError, match="say what to delete: ids, paths, or where"):
        retriever.delete()
    assert retriever.delete([]).removed == 0


def test_an_empty_path_is_refused_with_that_reason():
    for opened in (hr.Index.open, hr.Retriever, hr.Store.open):
        with pytest.raises(hr.IndexFileError, match="the path is empty; give the path of a file"):
            opened("")


def test_a_retriever_embeds_mappings(index):
    retriever = hr.Retriever(index, embedder=lambda texts: [[1.0, len(text)] for text in texts])
    retriever.upsert([{"id": "a", "content": "oak"}, {"id": "b", "content": "elm"}])
    assert index.stats().vectors == 2


class TestFromTexts:
    def test_in_memory(self):
        with hr.Index.from_texts(["Hedgehogs sleep.", "Oaks grow."]) as index:
            (hit,) = index.search_bm25("hedgehog")
            assert hit.content == "Hedgehogs sleep."
            assert hit.path == hit.id
            assert index.path is None

    def test_everything_that_can_be_given(self, tmp_path):
        with hr.Index.from_texts(
            (text for text in ["a", "b", "c"]),
            ids=["1", "2", "3"],
            paths=["p", "q", "p"],
            metadatas=[{"n": 1}, None, {}],
            embeddings=[[1, 0], [0, 1], None],
            path=tmp_path / "texts.db",
            dimensions=2,
            tokenizer="unicode61",
        ) as index:
            assert list(index.chunks()) == [
                hr.Chunk("1", "p", "a", metadata={"n": 1}, embedding=[1, 0]),
                hr.Chunk("2", "q", "b", embedding=[0, 1]),
                hr.Chunk("3", "p", "c", ordinal=1),
            ]
            assert index.tokenizer == "unicode61"
            assert index.path == tmp_path / "texts.db"

    @given(st.lists(TEXT, max_size=8))
    def test_ids_are_distinct_and_the_same_each_time(self, texts):
        ids = []
        for _ in range(2):
            with hr.Index.from_texts(texts) as index:
                ids.append([chunk.id for chunk in index.chunks()])
                assert [chunk.content for chunk in index.chunks()] == texts
        assert ids[0] == ids[1]

    def test_ids_do_not_change_between_versions(self):
        with hr.Index.from_texts(["oak", "oak", "elm"], paths=["p", "p", "q"]) as index:
            ids = [chunk.id for chunk in index.chunks()]
        assert ids == ["f00b849c5aa725d2", "f00b849c5aa725d2-2", "2af199b1bbd1c6c8"]

    def test_a_file_that_exists_keeps_its_chunks(self, tmp_path):
        for texts in (["oak", "elm"], ["elm", "ash"]):
            hr.Index.from_texts(texts, path=tmp_path / "i.db").close()
        with hr.Index.open(tmp_path / "i.db") as index:
            assert sorted(chunk.content for chunk in index.chunks()) == ["ash", "elm", "oak"]

    @pytest.mark.parametrize(
        ("texts", "options", "error", "message"),
        [
            ("oak", {}, TypeError, "texts must be a sequence of str, not one str"),
            (5, {}, TypeError, "texts must be an iterable of str, not int"),
            ([5], {}, TypeError, r"texts\[0\] must be a str, not int"),
            (["oak"], {"ids": ["a", "b"]}, ValueError, "ids has 2 values for 1 texts; give one"),
            (["oak"], {"metadatas": []}, ValueError, "metadatas has 0 values for 1 texts"),
            (["oak"], {"metadatas": {"a": 1}}, TypeError, "metadatas must be a list with one for"),
            (["a", "b"], {"ids": ["x", "x"]}, ValueError, "ids has 'x' 2 times; every text needs"),
            (["oak"], {"metadatas": [5]}, ValueError, "metadata must be a mapping"),
            (["oak"], {"colour": 1}, TypeError, "colour"),
        ],
    )
    def test_what_is_wrong_leaves_no_file(self, tmp_path, texts, options, error, message):
        with pytest.raises(error, match=message):
            hr.Index.from_texts(texts, path=tmp_path / "i.db", **options)
        assert list(tmp_path.iterdir()) == []


class TestIndexOfAPath:
    def test_it_opens(self, tmp_path):
        with hr.Index(tmp_path / "i.db", tokenizer="trigram") as index:
            index.upsert([FULL])
            assert index.tokenizer == "trigram"
        with hr.Index(str(tmp_path / "i.db"), read_only=True) as index:
            assert index.get(FULL.id) == FULL
            assert index.read_only

    def test_its_errors_are_those_of_open(self, tmp_path):
        for make in (hr.Index, hr.Index.open):
            with pytest.raises(hr.IndexFileError):
                make(tmp_path / "none.db", read_only=True)
            with pytest.raises(hr.InvalidInputError, match=r"use Index.in_memory\(\)"):
                make(":memory:")
            with pytest.raises(TypeError, match="missing 1 required positional argument: 'path'"):
                make()
            with pytest.raises(TypeError, match="colour"):
                make(tmp_path / "i.db", colour=1)

    def test_the_stub_has_the_options_of_open(self):
        assert "path" in inspect.signature(hr.Index).parameters
