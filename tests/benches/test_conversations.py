"""Readers of conversations with questions, and the measures of their evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.evaluation import measure
from talks import readers
from talks.measures import (
    QuestionMeasures,
    ask,
    compare,
    measures,
    names_of,
    read,
    summarize,
    write,
)
from talks.readers import Conversation, Question, read_conversations

LOCOMO = {
    "sample_id": "garden",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I planted a quince."},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red shed"},
        ],
        "session_2_date_time": "on some day",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:01", "text": "The medlar flowers."}],
        "session_10_date_time": "9:00 am on 3 June, 2023",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Frost at night."}],
    },
    "qa": [
        {"question": "What did Ann plant?", "category": 4, "evidence": ["D1:1"]},
        {"question": "What flowers?", "category": 1, "evidence": ["D2:1; D:10:1 D9:9"]},
        {"question": "What color is the car?", "category": 5, "evidence": ["D1:2"]},
        {"question": "Why?", "category": 3, "evidence": []},
        {"question": "Which?", "category": 7, "evidence": "D1:2"},
    ],
}
REALTALK = {
    "name": {"speaker_1": "Ann", "speaker_2": "Bo"},
    "session_1_date_time": "29.12.2023, 14:00:00",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "clean_text": "Hello, the pond froze."},
        {"speaker": "Bo", "dia_id": "D1:2", "clean_text": "Mine too."},
    ],
    "events_session_1": {},
    "qa": [{"question": "What froze?", "category": 1, "evidence": ["D1:1", "D1:2"]}],
}
LONGMEMEVAL = {
    "question_id": "q7",
    "question_type": "single-session-user",
    "question": "Which tree did I plant?",
    "question_date": "2023/06/02 (Fri) 10:00",
    "haystack_session_ids": ["s_b", "s_a"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "I planted a quince.", "has_answer": True},
            {"role": "assistant", "content": "Well done."},
        ],
        [{"role": "user", "content": "It rains.", "has_answer": False}],
    ],
    "answer_session_ids": ["s_b"],
}
BEAM_CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {
                    "role": "user",
                    "id": 0,
                    "time_anchor": "March-15-2024",
                    "content": "I planted a quince. ->-> 1,1",
                },
                {"role": "assistant", "id": 1, "content": "Well done."},
            ]
        ],
    },
    {"batch_number": 2, "turns": [[{"role": "user", "id": 2, "content": "It rains."}]]},
]
BEAM_QUESTIONS = {
    "abstention": [{"question": "Who am I?"}],
    "knowledge_update": [
        {
            "question": "What did I plant?",
            "source_chat_ids": {"first": [0], "second": [2, 2, 9]},
        }
    ],
    "summarization": [{"question": "What happened?", "source_chat_ids": []}],
}


def found_in(path: Path) -> list[Conversation]:
    return list(read_conversations(str(path)))


def saved(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def beam(folder: Path, *, questions: str = "probing_questions/probing_questions.json") -> Path:
    saved(folder / "chat.json", BEAM_CHAT)
    saved(folder / questions, BEAM_QUESTIONS)
    return folder


def test_a_file_of_locomo(tmp_path: Path) -> None:
    (found,) = found_in(saved(tmp_path / "locomo10.json", [LOCOMO]))
    assert [(c.id, c.path, c.content, c.title, c.ordinal) for c in found.chunks] == [
        ("D1:1", "session-01", "Ann: I planted a quince.", "session-01, 2023-05-08", 1),
        ("D1:2", "session-01", "Bo: Look! [shared an image: a red shed]",
         "session-01, 2023-05-08", 2),
        ("D2:1", "session-02", "Bo: The medlar flowers.", "session-02, 2023-05-08", 3),
        ("D10:1", "session-10", "Ann: Frost at night.", "session-10, 2023-06-03", 4),
    ]  # fmt: skip
    assert found.chunks[0].metadata == {"speaker": "Ann", "date": "2023-05-08"}
    assert found.questions == [
        Question("garden/q1", "What did Ann plant?", "single-hop", "2023-06-03",
                 ("D1:1",), ("session-01",)),
        Question("garden/q2", "What flowers?", "multi-hop", "2023-06-03",
                 ("D2:1", "D10:1"), ("session-02", "session-10")),
        Question("garden/q5", "Which?", "category 7", "2023-06-03", ("D1:2",), ("session-01",)),
    ]  # fmt: skip
    assert (found.unanswerable, found.without_evidence, found.unknown) == (1, 1, 1)


def test_a_folder_of_realtalk_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    for number in (10, 2):
        saved(tmp_path / f"Chat_{number}.json", REALTALK)
    found = found_in(tmp_path)
    assert [one.id for one in found] == ["Chat_2", "Chat_10"]
    assert found[0].chunks[1].content == "Bo: Mine too."
    assert found[0].chunks[1].metadata == {"speaker": "Bo", "date": "2023-12-29"}
    (question,) = found[0].questions
    assert (question.type, question.turns) == ("multi-hop", ("D1:1", "D1:2"))


def test_a_file_of_longmemeval(tmp_path: Path) -> None:
    abstention = LONGMEMEVAL | {"question_id": "q8_abs"}
    found, other = found_in(saved(tmp_path / "s.json", [LONGMEMEVAL, abstention]))
    assert [(c.id, c.path, c.content) for c in found.chunks] == [
        ("0:0", "s_b", "I planted a quince."),
        ("0:1", "s_b", "Well done."),
        ("1:0", "s_a", "It rains."),
    ]
    assert found.chunks[1].metadata == {"role": "assistant", "date": "2023-05-20"}
    (question,) = found.questions
    assert question == Question(
        "q7", "Which tree did I plant?", "single-session-user", "2023-06-02", ("0:0",), ("s_b",)
    )
    assert (other.questions, other.unanswerable) == ([], 1)


@pytest.mark.parametrize(
    "questions", ["probing_questions/probing_questions.json", "probing_questions.json"]
)
def test_a_folder_of_beam(tmp_path: Path, questions: str) -> None:
    beam(tmp_path / "100K" / "3", questions=questions)
    (found,) = found_in(tmp_path)
    assert [(c.id, c.path, c.content) for c in found.chunks] == [
        ("0", "batch-1", "I planted a quince."),
        ("1", "batch-1", "Well done."),
        ("2", "batch-2", "It rains."),
    ]
    assert found.chunks[2].metadata == {"role": "user", "date": "2024-03-15"}
    (question,) = found.questions
    assert (question.type, question.date) == ("knowledge_update", "2024-03-15")
    assert question.turns == ("0", "2")
    assert question.sessions == ("batch-1", "batch-2")
    assert (found.unanswerable, found.without_evidence, found.unknown) == (1, 1, 1)


def test_an_array_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_BLOCK", 7)
    found = found_in(saved(tmp_path / "two.json", [LOCOMO, LOCOMO]))
    assert [len(one.chunks) for one in found] == [4, 4]
    alone = saved(tmp_path / "one.json", REALTALK)
    alone.write_text("\ufeff \n" + alone.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert [one.id for one in found_in(alone)] == ["one"]
    assert found_in(saved(tmp_path / "none.json", [])) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{", "conversation 1: not JSON"),
        ("", "conversation 1: not JSON"),
        ("[" * 100_000, "conversation 1: not JSON"),
        ("[3]", "conversation 1: is not a JSON object"),
        ('[{"a": 1}]', "is of none of LoCoMo (conversation)"),
        ('[{"conversation": 1}]', 'needs an object as "conversation", not 1'),
        ('[{"conversation": {"session_1": [{}]}, "qa": []}]', 'needs a text as "text", not None'),
        ('[{"conversation": {}, "qa": [{}]}]', 'needs a text as "question"'),
        ('[{"conversation": {}, "qa": 1}]', 'needs a list as "qa"'),
        ('[{"haystack_sessions": [], "question_id": "a"}]', '"haystack_session_ids"'),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "talk.json"
    file.write_text(text)
    with pytest.raises(hr.InvalidInputError) as error:
        found_in(file)
    assert message in error.value.message
    assert str(file) in error.value.message
    assert error.value.code == "invalid_evaluation"


def test_other_places_without_conversations(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidInputError, match="no such file or folder"):
        found_in(tmp_path / "missing")
    with pytest.raises(hr.InvalidInputError, match="has no conversations; name a JSON file"):
        found_in(tmp_path)
    saved(tmp_path / "1" / "chat.json", BEAM_CHAT)
    with pytest.raises(hr.InvalidInputError, match=r"no probing_questions/probing_questions\.json"):
        found_in(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'["\xff"]')
    with pytest.raises(hr.InvalidInputError, match="is not UTF-8"):
        found_in(tmp_path / "latin.json")
    twice = json.loads(json.dumps(LOCOMO))
    twice["conversation"]["session_2"][0]["dia_id"] = "D1:1"
    with pytest.raises(hr.InvalidInputError, match="the turn 'D1:1' is there twice"):
        found_in(saved(tmp_path / "twice.json", twice))
    uneven = LONGMEMEVAL | {"haystack_dates": []}
    with pytest.raises(hr.InvalidInputError, match="differ in length"):
        found_in(saved(tmp_path / "uneven.json", uneven))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20"),
        ("29.12.2023, 14:00:00", "2023-12-29"),
        ("March-15-2024", "2024-03-15"),
        ("3rd Sept 2024", ""),
        ("31 February 2024", ""),
        ("soon", ""),
        (None, ""),
    ],
)
def test_days_of_every_format(text: object, day: str) -> None:
    assert readers._day(text) == day


def test_measures_of_all_evidence() -> None:
    found = measures(["a", "x", "c", "y"], ["c", "a", "z"], 3)
    assert list(found) == list(names_of(3))
    assert found["Recall@3"] == pytest.approx(2 / 3)
    assert (found["All@3"], found["Any@3"], found["MRR@3"]) == (0.0, 1.0, 1.0)
    assert found["nDCG@3"] == pytest.approx((1 + 0.5) / (1 + 1 / 1.5849625 + 0.5))
    assert measures(["x", "a"], ["a"], 1) == dict.fromkeys(names_of(1), 0.0)
    assert measures(["a"], ["a"], 10) == dict.fromkeys(names_of(10), 1.0)


def test_measures_are_those_of_ir_measures() -> None:
    pytest.importorskip("ir_measures")
    ranking, evidence = [f"d{n}" for n in range(12)], ["d3", "d9", "d11", "none"]
    found = measures(ranking, evidence, 10)
    expected = measure({"q": ranking}, {"q": dict.fromkeys(evidence, 1)})["q"]
    for name, value in expected.items():
        assert found[name] == pytest.approx(value)


def test_questions_are_asked_of_their_own_conversation(tmp_path: Path) -> None:
    (found,) = found_in(saved(tmp_path / "locomo.json", [LOCOMO]))
    turns = list(ask(found, ["bm25"]))
    assert [one.question for one in turns] == ["garden/q1", "garden/q2", "garden/q5"]
    assert turns[0].values == dict.fromkeys(names_of(10), 1.0)
    sessions = list(ask(found, ["bm25"], by="path", depth=5))
    assert [one.by for one in sessions] == ["path"] * 3
    assert "Recall@5" in sessions[0].values
    assert list(ask(Conversation("empty"), ["bm25"])) == []


def measured(**values: float) -> list[QuestionMeasures]:
    return [
        QuestionMeasures("c", name, "a" if name < "m" else "b", "bm25", "id", {"Recall@10": value})
        for name, value in values.items()
    ]


def test_figures_have_intervals_by_type() -> None:
    rows = summarize(measured(b=1.0, c=0.0, d=1.0, x=0.5, y=0.5))
    assert [(row.mode, row.type, row.questions) for row in rows] == [
        ("bm25", "a", 3),
        ("bm25", "b", 2),
        ("bm25", None, 5),
    ]
    figure = rows[1].figures["Recall@10"]
    assert tuple(figure) == (0.5, 0.5, 0.5)
    figure = rows[2].figures["Recall@10"]
    assert figure.mean == pytest.approx(0.6)
    assert 0.0 < figure.low < figure.mean < figure.high <= 1.0
    assert summarize(measured(b=1.0, c=0.0, d=1.0, x=0.5, y=0.5)) == rows
    # With a single type there is no row per type.
    assert [row.type for row in summarize(measured(b=1.0))] == [None]


def test_a_comparison_is_paired() -> None:
    before, after = measured(b=0.0, c=0.5, d=0.25, e=0.0), measured(b=0.5, c=1.0, d=0.75, z=1.0)
    (row,) = compare(after, before)
    assert row.questions == 3
    # All three differ equally, so the interval is a point.
    assert tuple(row.figures["Recall@10"]) == (0.5, 0.5, 0.5)
    with pytest.raises(hr.InvalidInputError, match="no question in common"):
        compare(measured(b=1.0), measured(c=1.0))
    other = [QuestionMeasures("c", "b", "a", "bm25", "id", {"Recall@5": 1.0})]
    with pytest.raises(hr.InvalidInputError, match="other measures; compare runs of the same"):
        compare(measured(b=1.0), other)


def test_a_run_is_written_and_read(tmp_path: Path) -> None:
    file = str(tmp_path / "run.tsv")
    (found,) = found_in(saved(tmp_path / "locomo.json", [LOCOMO]))
    run = list(ask(found, ["bm25"]))
    write(run, file, 10)
    again = read(file)
    assert [one.key for one in again] == [one.key for one in run]
    assert again[1].values == pytest.approx(dict(run[1].values), abs=1e-6)
    with pytest.raises(hr.InvalidInputError, match="no such file"):
        read(str(tmp_path / "missing.tsv"))
    for text, message in [
        ("query\tmode\n", "is no run of an evaluation"),
        ("", "is no run of an evaluation"),
        (Path(file).read_text() + "a\tb\n", ":5: not a line of a run"),
        (Path(file).read_text() + "a\tb\tc\td\te\tx\t1\t1\t1\t1\n", ":5: not a line of a run"),
    ]:
        Path(file).write_text(text)
        with pytest.raises(hr.InvalidInputError, match=message):
            read(file)
