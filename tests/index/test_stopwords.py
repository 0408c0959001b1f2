"""Stop words of an index (spec/query.md, "Filtering")."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import hedgerow as hr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


def found(index: hr.Index, query: str) -> list[str]:
    return [hit.id for hit in hr.Retriever(index).search(query, skip_retry_ladder=True)]


CHUNKS = [
    hr.Chunk("dns", "dns.md", "The DNS record of the garden"),
    hr.Chunk("vinyl", "vinyl.md", "A record by the band"),
    hr.Chunk("door", "door.md", "The door is green"),
]


@pytest.mark.parametrize(
    ("stopwords", "door", "record"),
    [
        ("en+nl", [], []),
        ("en", ["door"], []),
        ("nl", [], ["dns", "vinyl"]),
        ("none", ["door"], ["dns", "vinyl"]),
        (["record"], ["door"], []),
        ({"RECORD", "door"}, [], []),
    ],
)
def test_they_are_kept_in_the_file(path, stopwords, door, record):
    with hr.Index.open(path, stopwords=stopwords) as index:
        index.upsert(CHUNKS)
    with hr.Index.open(path) as index:
        kept = index.stopwords
        assert kept == (
            stopwords if isinstance(stopwords, str) else {word.lower() for word in stopwords}
        )
        assert found(index, "door") == door
        assert sorted(hit.id for hit in index.search_bm25("door")) == door
        assert sorted(found(index, "record")) == record
        again = pickle.loads(pickle.dumps(index))
        assert again.stopwords == kept
        again.close()


def test_a_read_only_handle_has_its_own(path):
    with hr.Index.open(path) as index:
        index.upsert(CHUNKS)
    with hr.Index.open(path, read_only=True, stopwords="none") as index:
        assert found(index, "door") == ["door"]
        again = pickle.loads(pickle.dumps(index))
        assert again.stopwords == "none"
        again.close()
        assert "stopwords='none'" in repr(index)
    with hr.Index.open(path) as index:
        assert index.stopwords == "en+nl"
        assert "stopwords" not in repr(index)


def test_results_say_what_was_not_searched_for():
    with hr.Index.in_memory() as index:
        index.upsert(CHUNKS)
        # Extended matching drops only function words.
        for matching, dropped in [
            ("spec", ["What", "is", "the", "door?"]),
            ("extended", ["What", "is", "the"]),
        ]:
            retriever = hr.Retriever(index, ranking=hr.Ranking("spec", matching=matching))
            response = retriever.search("What is the green door?")
            assert response.not_searched_for == dropped
            assert response.trace.to_dict()["notSearchedFor"] == dropped
            assert f"Not searched for: {', '.join(dropped)}." in response.explain()
        quoted = hr.Retriever(index).search('"the door"')
        assert quoted.not_searched_for == []
        assert "notSearchedFor" not in quoted.trace.to_dict()
    with hr.Index.in_memory(stopwords="none") as index:
        index.upsert(CHUNKS)
        response = hr.Retriever(index, ranking=hr.Ranking("spec", matching="extended")).search(
            "What is the green door?"
        )
        assert response.not_searched_for == ["is"]
        assert response.results[0].id == "door"


def test_queries_are_explained_with_the_words_of_an_index():
    explained = hr.explain_query("the dns record", stopwords=["record"])
    assert [(word.source, word.reason, word.detail) for word in explained.words] == [
        ("the", "term", ""),
        ("dns", "term", ""),
        ("record", "stop_word", "a stop word of this index"),
    ]
    assert hr.compile_match("the door", stopwords="none") == '"the" OR "door"'
    assert [token.text for token in hr.parse_query("the door", stopwords="en").tokens] == ["door"]


@pytest.mark.parametrize(
    ("stopwords", "error", "message"),
    [
        ("de", hr.InvalidInputError, 'stopwords must be "en+nl", "en", "nl", "none" or a list'),
        (["two words"], hr.InvalidInputError, "stopwords must be single words"),
        ([""], hr.InvalidInputError, "stopwords must be single words"),
        ([7], hr.InvalidInputError, "stopwords[0] must be str, not int"),
        (7, hr.InvalidInputError, "stopwords must be a list or tuple of str, not int"),
    ],
)
def test_what_is_no_list_is_refused(path, stopwords, error, message):
    with pytest.raises(error, match=re.escape(message)):
        hr.Index.open(path, stopwords=stopwords)
    with pytest.raises(error, match=re.escape(message)):
        hr.explain_query("oak", stopwords=stopwords)
