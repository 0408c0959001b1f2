"""`hedgerow query` on a store file: its output, and usage errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from command_line import as_json, failed, failed_as_json, ok, run

DAY = 86_400
NOW = 1_800_000_000


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.fixture
def three_nodes(tmp_path: Path) -> str:
    """A store with three nodes: btree - lock - lock/order."""
    file = str(tmp_path / "memory.db")
    with hr.Store.open(file) as store:
        store.upsert(
            [
                hr.Node("btree", content="keeps hot nodes pinned", updated_at=NOW - 3 * DAY),
                hr.Node("lock", type="episodic", weight=0.25, updated_at=NOW - 90),
                hr.Node("lock/order", content="always in order", updated_at=NOW + 2 * DAY),
            ]
        )
        store.link("btree", "lock", 0.8)
        store.link("lock", "lock/order", 0.5)
    return file


def query(db: str, *args: str) -> Any:
    return as_json("query", *args, "--db", db, "--now", str(NOW))


def test_a_table_shows_key_score_type_weight_and_age(three_nodes: str) -> None:
    assert lines(ok("query", "all", "--db", three_nodes, "--now", str(NOW))) == [
        "key          score  type      weight  age",
        "btree       1.0000  semantic     0.7   3d",
        "lock        1.0000  episodic    0.25   1m",
        "lock/order  1.0000  semantic     0.7  -2d",
        "3 nodes.",
    ]


def test_count_is_a_number_and_select_a_table_of_its_columns(three_nodes: str) -> None:
    assert ok("query", "all | type:episodic | count", "--db", three_nodes) == "1\n"
    text = ok(
        "query", "all | limit:1 | select:degree,key,timestamp,provenance", "--db", three_nodes
    )
    assert lines(text) == [
        "degree  key    timestamp         provenance",
        "     1  btree  2027-01-12 08:00  manual",
        "1 node.",
    ]


def test_finding_nothing_is_said_and_no_error(three_nodes: str) -> None:
    assert ok("query", "all | weight:>0.9", "--db", three_nodes) == "No nodes, of 3.\n"
    assert ok("query", "all | weight:>0.9", "--db", three_nodes, "--keys") == ""


def test_keys_alone_are_for_pipes(three_nodes: str) -> None:
    assert (
        ok("query", "all | sort:key desc", "--db", three_nodes, "--keys")
        == "lock/order\nlock\nbtree\n"
    )


def test_stages_and_terms(three_nodes: str) -> None:
    by_stages = query(three_nodes, "-p", "spread", "-p", "limit:2", "lock")
    assert by_stages == query(three_nodes, "spread | limit:2", "lock")
    assert by_stages["pipeline"] == "match:lock | spread | limit:2"
    assert [one["key"] for one in by_stages["results"]] == ["lock/order", "btree"]


def test_json_has_all_there_is(three_nodes: str) -> None:
    value = query(three_nodes, "all | type:episodic | limit:1", "--explain")
    stages = value.pop("stages")
    assert value == {
        "pipeline": "all | type:episodic | limit:1",
        "db": three_nodes,
        "now": NOW,
        "count": 1,
        "results": [
            {
                "key": "lock",
                "score": 1.0,
                "type": "episodic",
                "weight": 0.25,
                "timestamp": NOW - 90,
            }
        ],
        "columns": None,
        "pairs": [],
        "warnings": [],
        "stale": False,
    }
    assert [stage["name"] for stage in stages] == ["all", "type:episodic", "limit:1"]
    assert {"rowsIn", "rowsOut", "candidates", "ms"} < set(stages[0])
    selected = query(three_nodes, "all | limit:1 | select:degree")
    assert selected["columns"] == ["degree"]
    assert selected["results"] == [{"key": "btree", "score": 1.0, "degree": 1}]
    assert query(three_nodes, "all | count")["count"] == 3


def test_explain_shows_every_stage_and_none_that_was_not_asked_for(three_nodes: str) -> None:
    told = lines(ok("query", "all | limit:2", "--db", three_nodes, "--explain"))
    assert [line.split()[0] for line in told[told.index("") + 1 :]] == ["stage", "all", "limit:2"]


def test_a_pipeline_at_its_limit_still_runs(three_nodes: str) -> None:
    whole = " | ".join(["all", *["limit:9"] * 31])
    assert ok("query", whole, "--db", three_nodes).splitlines()[0].split() == ["key", "score"]


def test_what_is_missing_is_said_on_stderr(three_nodes: str) -> None:
    result = run("query", "search:order", "--db", three_nodes, "--keys")
    assert (result.exit_code, result.stdout) == (0, "lock/order\n")
    assert result.stderr == (
        "Warning: search: mode=auto has no embedder and searches by words alone\n"
    )


def test_a_pipeline_that_cannot_be_read_is_wrong_usage_and_shows_the_place(
    three_nodes: str,
) -> None:
    assert failed(2, "query", "all | tpye:episodic", "--db", three_nodes) == (
        'Error: there is no stage "tpye"; did you mean "type"?\n'
        "  all | tpye:episodic\n"
        "        ^^^^\n"
    )
    told = failed(2, "query", "slugs", "--db", three_nodes)
    first, rest = told.split("\n", 1)
    assert first.startswith('Error: there is no stage "slugs"; known are age, all, category, ')
    assert rest == (
        "  slugs\n"
        "  ^^^^^\n"
        "Texts with words are found by `hedgerow recall WORDS` in a root, by `hedgerow search "
        "WORDS` in an index, or by the stage search:WORD.\n"
    )
    told = failed_as_json(2, "query", "all | tpye:episodic", "--db", three_nodes)
    assert told.pop("message").startswith('there is no stage "tpye"')
    assert told == {
        "code": "invalid_pipeline",
        "kind": "UnknownStage",
        "stage": 1,
        "start": 6,
        "end": 10,
        "suggestion": "type",
    }


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Give a pipeline, as in 'all | limit:10', or its stages with -p."),
        (["all", "--keys", "--json"], "--keys writes keys alone; leave --json and --explain out."),
        (["all | count", "--keys"], "--keys has no keys after `count`; leave one of them out."),
        (["all", "--now", "20260418"], "'20260418' is no time; write a date as in 2026-04-18"),
        (["all", "--now", "soon"], "'soon' is no time; write a date as in 2026-04-18"),
        (["all", "a"], "terms make a set, and so does this"),
    ],
)
def test_wrong_usage(three_nodes: str, args: list[str], message: str) -> None:
    assert message in failed(2, "query", *args, "--db", three_nodes)


def test_there_must_be_a_store(tmp_path: Path) -> None:
    message = failed(1, "query", "all", "--db", str(tmp_path / "none.db"))
    assert "there is no store at" in message
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("time", "seconds"), [("1970-01-02", DAY), ("1970-01-01T01:00Z", 3600), ("-5", -5)]
)
def test_now_takes_dates_and_seconds(three_nodes: str, time: str, seconds: int) -> None:
    assert as_json("query", "all", "--db", three_nodes, f"--now={time}")["now"] == seconds
