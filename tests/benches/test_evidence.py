"""`benches/evidence.py`: figures by type of question, comparisons, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidence import main
from local_server import LocalServer, Reply
from retrieval_doubles import fnv64

GIVEN = "talks.json"


def talk(**qa: Any) -> dict[str, Any]:
    return {
        "sample_id": "garden",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I planted a quince."},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "The pond froze."},
            ],
            "session_2_date_time": "1:56 pm on 9 May, 2023",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "The medlar flowers."}],
        },
        "qa": [
            {"question": "What did Ann plant?", "category": 4, "evidence": ["D1:1"]},
            {"question": "What flowers?", "category": 1, "evidence": ["D2:1", "D9:9"]},
            {"question": "Which car?", "category": 5, "evidence": ["D1:2"], **qa},
        ],
    }


def ok(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(ok(capsys, *arguments, "--json"))


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    return capsys.readouterr().err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talks.json").write_text(json.dumps([talk()]))


def test_a_table_by_type_of_question(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ok(capsys, GIVEN).splitlines()
    assert lines[:2] == [
        "2 questions about 1 conversation of 3 turns; evidence as turns, ranking best.",
        "Left out: 1 question meant to have no answer, 1 piece of evidence that is no turn of its conversation.",
    ]
    assert lines[3].split() == [
        "mode", "type", "questions", "Recall@10", "All@10", "Any@10", "MRR@10", "nDCG@10"
    ]  # fmt: skip
    assert lines[5].split() == ["bm25", "multi-hop", "1", *["1.000"] * 5]
    assert lines[6].split() == ["1.000…1.000"] * 5
    assert lines[9].split() == ["bm25", "all", "2", *["1.000"] * 5]
    assert lines[-1].startswith("Recall is the share of all evidence among the first results")


def test_json_by_sessions(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, GIVEN, "--by", "path", "--depth", "1")
    assert found["by"] == "path"
    assert found["leftOut"] == {"unanswerable": 1, "withoutEvidence": 0, "unknownEvidence": 1}
    assert [row["type"] for row in found["results"]] == ["multi-hop", "single-hop", None]
    assert found["results"][2]["measures"]["All@1"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert "differences" not in found


def test_two_runs_are_compared_question_by_question(capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys, GIVEN, "--per-query", "run.tsv")
    lines = ok(capsys, GIVEN, "--compare", "run.tsv").splitlines()
    at = lines.index("Difference to run.tsv, question by question:")
    assert lines[at + 4].split() == ["bm25", "multi-hop", "1", *["+0.000"] * 5]
    found = as_json(capsys, GIVEN, "--compare", "run.tsv")
    assert [row["questions"] for row in found["differences"]] == [1, 1, 2]
    assert "of the same depth" in failed(capsys, GIVEN, "--depth", "3", "--compare", "run.tsv")
    assert "talks.json is no run" in failed(capsys, GIVEN, "--compare", "talks.json")


def test_an_embedder_adds_the_hybrid_mode(
    server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = lambda request: Reply(
        {"embeddings": [fnv64(text) for text in request.body["input"]]}
    )
    found = as_json(capsys, GIVEN, "--embedder", f"ollama:fnv64@{server.url}")
    assert [row["mode"] for row in found["results"] if row["type"] is None] == ["bm25", "hybrid"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--modes", "hybrid"], "semantic and hybrid need --embedder NAME"),
        (["--modes", "fuzzy"], "invalid choice: 'fuzzy'"),
        (["--depth", "0"], "from 1 to 1,000, not 0"),
        (["--matching", "spec"], "unrecognized arguments: --matching"),
    ],
)
def test_refusals(given: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refused(capsys, GIVEN, *given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["none.json"], "none.json: no such file or folder"),
        ([GIVEN, "--per-query", "none/run.tsv"], "none/run.tsv"),
    ],
)
def test_files_that_cannot_be_used_are_named(
    given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in failed(capsys, *given)


def test_conversations_without_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    bare = talk()
    bare["qa"] = bare["qa"][2:]
    Path("talks.json").write_text(json.dumps([bare]))
    said = refused(capsys, GIVEN)
    assert "has no question with evidence as turns; 1 question meant to have no answer" in said
