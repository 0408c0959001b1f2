"""Turns by the speaker that a question names weigh more (spec/retrieval.md, "Speakers")."""

from __future__ import annotations

import json

import pytest

import hedgerow as hr

TALK = [
    hr.Chunk("1", "talk", "Ann: I planted a lake of roses", ordinal=1),
    hr.Chunk("2", "talk", "Bob: roses, roses, roses", ordinal=2),
    hr.Chunk("3", "talk", "Ann: it was a long day, and cold, and I thought of roses", ordinal=3),
    hr.Chunk("4", "talk", "Ann: and the rest of it is history", ordinal=4),
    hr.Chunk("5", "diary", "what was said of roses", metadata={"role": "user"}),
]


@pytest.fixture
def talk() -> hr.Index:
    index = hr.Index.in_memory()
    index.upsert(TALK)
    return index


def _explained(hit: hr.Hit) -> dict:
    assert hit.explanation is not None
    return dict(hit.explanation)


def test_the_profile_best_raises_what_a_named_speaker_said(talk: hr.Index) -> None:
    found = hr.Retriever(talk, ranking=hr.Ranking("best")).search("what roses did Ann plant")
    assert {hit.id for hit in found[:3]} == {"1", "3", "4"}
    assert found.trace.speakers
    assert found.trace.profile == "best"
    by = {hit.id: _explained(hit)["speaker"] for hit in found}
    assert by["1"] == {"name": "Ann", "because": "named", "contribution": 0.6}
    assert by["2"] is None
    explanation = _explained(found[0])
    given = [explanation["fused"], *(one["contribution"] for one in explanation["neighbors"])]
    assert found[0].score == pytest.approx(sum(given) + 0.6)
    assert "said by Ann, whom the question names: +0.60" in found[0].explain()
    assert json.loads(json.dumps(found.to_dict()))["trace"]["speakers"] is True


def test_the_first_person_means_the_user_or_the_asker(talk: hr.Index) -> None:
    retriever = hr.Retriever(talk, ranking=hr.Ranking("best"))
    speakers = {hit.id: _explained(hit)["speaker"] for hit in retriever.search("my roses")}
    assert [name for name, speaker in speakers.items() if speaker] == ["5"]
    found = retriever.search("my roses", asker="ann")
    speakers = {hit.id: _explained(hit)["speaker"] for hit in found}
    assert speakers["1"]["because"] == speakers["5"]["because"] == "first_person"
    assert speakers["5"]["name"] == "user"
    of_user = next(hit for hit in found if hit.id == "5")
    assert "said by the user, and the question says I" in of_user.explain()
    assert speakers["2"] is None


def test_without_speakers_nothing_is_raised(talk: hr.Index) -> None:
    query = "what roses did Ann plant"
    for ranking in [hr.Ranking.spec(), hr.Ranking("best", speakers=False)]:
        found = hr.Retriever(talk, ranking=ranking).search(query)
        assert not found.trace.speakers
        assert "speakers" not in found.trace.to_dict()
        assert all(_explained(hit)["speaker"] is None for hit in found)
    assert (
        not hr.Retriever(talk, ranking=hr.Ranking("best", fusion="rrf"))
        .search(query)
        .trace.speakers
    )


def test_a_batch_answers_as_single_searches_do(talk: hr.Index) -> None:
    retriever = hr.Retriever(talk, ranking=hr.Ranking("best"))
    queries = ["what roses did Ann plant", "my roses", "Bob", "roses"]
    many = retriever.search_many(queries, group_by="path", asker="Bob")
    for query, response in zip(queries, many, strict=True):
        single = retriever.search(query, group_by="path", asker="Bob")
        assert [(hit.id, hit.score) for hit in response] == [(hit.id, hit.score) for hit in single]


def test_why_not_explains_the_speaker(talk: hr.Index) -> None:
    retriever = hr.Retriever(talk, ranking=hr.Ranking("best"))
    why = retriever.why_not("what roses did Ann plant", "4", limit=1)
    assert why.explanation is not None
    assert why.explanation["speaker"]["name"] == "Ann"


def test_a_change_of_the_index_changes_the_speaker(talk: hr.Index) -> None:
    retriever = hr.Retriever(talk, ranking=hr.Ranking("best"))
    query = "what roses did Ann plant"
    assert _explained(retriever.search(query)[0])["speaker"] is not None
    talk.delete(["4"])
    assert all(_explained(hit)["speaker"] is None for hit in retriever.search(query))
    talk.upsert([hr.Chunk("2", "talk", "roses", metadata={"speaker": "Ann"}, ordinal=2)])
    speakers = {hit.id: _explained(hit)["speaker"] for hit in retriever.search(query)}
    assert speakers["2"]["name"] == "Ann"


def test_speakers_need_scores(talk: hr.Index) -> None:
    with pytest.raises(hr.InvalidInputError, match="speakers=True adds to scores") as error:
        hr.Ranking("spec", speakers=True)
    assert error.value.code == "incompatible_options"
    with pytest.raises(TypeError, match="speakers must be True, False or None"):
        hr.Ranking("spec", speakers=1)  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidInputError, match="asker must be a text, not 1"):
        hr.Retriever(talk, ranking=hr.Ranking("best")).search("my", asker=1)  # type: ignore[arg-type]
