"""The fields of a hit, and its representations."""

from __future__ import annotations

import copy
import json
import pickle
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from index_doubles import FULL, chunk

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


class Tags(HTMLParser):
    """The tags of an HTML page, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[object] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def hit() -> hr.Hit:
    with hr.Index.in_memory() as index:
        index.upsert([FULL, chunk("b", "oak"), chunk("c", "elm")])
        (found,) = hr.Retriever(index).search("hedgehog")
    return found


def test_tags_and_ordinal_are_those_of_the_chunk(hit):
    assert (hit.tags, hit.ordinal) == (FULL.tags, 3) == (("garden animals", "winter"), 3)


def test_they_follow_a_change_of_nothing_else(tmp_path):
    with hr.Index.open(tmp_path / "i.db") as index, hr.Index.open(tmp_path / "i.db") as other:
        index.upsert([chunk("a", "oak", tags=["x"]), chunk("b", "oak")])

        def found() -> list[tuple[object, ...]]:
            return sorted((hit.tags, hit.ordinal) for hit in index.search_bm25("oak"))

        assert found() == [((), 0), (("x",), 0)]
        other.upsert([chunk("a", "oak", tags=["y", "z"]), chunk("b", "oak", ordinal=7)])
        assert found() == [((), 7), (("y", "z"), 0)]


def test_search_by_vector_has_them_too():
    with hr.Index.in_memory() as index:
        index.upsert([hr.Chunk("a", "p", "oak", tags=["x"], ordinal=2, embedding=[1, 0])])
        (hit,) = index.search_vector([1, 0])
    assert (hit.tags, hit.ordinal) == (("x",), 2)


def test_chunks_and_candidates_that_are_given_bring_their_own():
    given_chunk = {"id": "a", "path": "hedgehogs.md", "tags": ["x"], "ordinal": 4}
    with hr.Index.in_memory() as index:
        (hit,) = hr.Retriever(index, trigram_chunks=[given_chunk]).search("hedgehgs")
    assert (hit.tags, hit.ordinal) == (("x",), 4)
    candidate = hr.Candidate("a", "p", tags=["y"], ordinal=5)
    assert (candidate.tags, candidate.ordinal) == (("y",), 5)
    assert pickle.loads(pickle.dumps(candidate)) == candidate
    (fused,) = hr.reciprocal_rank_fusion([[{"id": "a", "path": "p"}], [candidate]])
    assert (fused.tags, fused.ordinal) == (("y",), 5)
    (fused,) = hr.reciprocal_rank_fusion([[given_chunk], [candidate]])
    assert (fused.tags, fused.ordinal) == (("x",), 4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tags": "oak"}, "must be a list or tuple of str|is one str"),
        ({"tags": [1]}, r"\[0\] must be str, not int"),
        ({"ordinal": -1}, "must be an int from 0"),
        ({"ordinal": "1"}, "must be an int from 0"),
    ],
)
def test_tags_and_ordinals_of_candidates_are_checked(fields, message):
    for make in [
        lambda: hr.Candidate("a", "p", **fields),
        lambda: hr.rerank_text({"id": "a", "path": "p", **fields}),
    ]:
        with pytest.raises(hr.InvalidInputError, match=message) as caught:
            make()
        assert caught.value.code == "invalid_candidate"


def test_a_dictionary_has_every_field(hit):
    fields = hit.to_dict()
    assert list(fields) == hit.keys() == [
        "id", "path", "ordinal", "title", "summary", "tags", "content", "metadata", "score",
        "bm25_rank", "vector_similarity", "rerank_score", "explanation",
    ]  # fmt: skip
    assert fields["tags"] == ["garden animals", "winter"]
    assert fields["metadata"] == FULL.metadata
    assert (fields["bm25_rank"], fields["vector_similarity"]) == (0, None)
    assert fields["explanation"] == hit.explanation
    assert json.loads(json.dumps(fields)) == fields
    assert dict(hit) == fields
    assert {**hit} == fields
    fields["tags"].append("changed")
    assert hit["tags"] == ["garden animals", "winter"]


def test_a_hit_of_a_plain_search_has_no_explanation(index):
    index.upsert([FULL])
    (hit,) = index.search_bm25("hedgehog")
    assert hit["explanation"] is None
    assert hit["path"] == FULL.path


@pytest.mark.parametrize("key", ["text", 0, None, "\ud800"])
def test_a_hit_has_no_other_keys(hit, key):
    with pytest.raises(KeyError, match=r"a hit has no .*its fields are id, path, ordinal, title"):
        hit[key]


def test_a_hit_is_no_sequence(hit):
    with pytest.raises(TypeError):
        iter(hit)
    assert hit


def test_a_dictionary_is_taken_where_hits_are(hit):
    (same,) = hr.reweight("oak", [hit.to_dict()])
    assert same.to_dict() == {**hit.to_dict(), "explanation": None}


def test_repr_has_the_beginning_of_the_text(index):
    index.upsert([chunk("a'b", "oak\n\x1b[31m" + "word " * 50, title="The oak")])
    (hit,) = index.search_bm25("oak")
    assert repr(hit) == (
        f"Hit(id=\"a'b\", path=\"notes/a'b.md\", score={hit.score!r}, title='The oak', "
        "content='oak\\n\\x1b[31m" + ("word " * 50)[:51] + "…')"
    )
    assert str(hit) == repr(hit)


def test_a_hit_is_pickled_and_copied(hit):
    for same in [pickle.loads(pickle.dumps(hit)), copy.copy(hit), copy.deepcopy(hit)]:
        assert same == hit
        assert same.to_dict() == hit.to_dict()


def test_html_has_what_the_hit_says(hit):
    page = Tags(hit._repr_html_())
    assert page.tags == {"table", "tbody", "tr", "th", "td", "br"}
    assert FULL.content in page.text
    assert hit.explain() in page.text
    assert "vector_similarity" not in page.text


@given(text=TEXTS, tag=TEXTS)
def test_html_is_of_the_text_alone(text, tag):
    hostile = f'<script src="//x">{text}</td>&amp;'
    with hr.Index.in_memory() as index:
        given_chunk = hr.Chunk(
            hostile, hostile, f"oak {hostile}", title=hostile, tags=[tag, hostile],
            metadata={hostile: hostile},
        )  # fmt: skip
        index.upsert([given_chunk])
        response = hr.Retriever(index).search("oak")
    for page in (response._repr_html_(), response[0]._repr_html_(), response.trace._repr_html_()):
        found = Tags(page)
        assert found.tags <= {"table", "thead", "tbody", "tr", "th", "td", "br", "p"}
        assert found.attributes == []
    assert Tags(response._repr_html_()).text.count("<script") == 3


def test_html_shows_the_beginning_of_a_long_text(index):
    index.upsert([chunk("a", "oak " * 1000)])
    page = hr.Retriever(index).search("oak")._repr_html_()
    assert "oak …" in page or "oak…" in page
    assert len(page) < 1_000
