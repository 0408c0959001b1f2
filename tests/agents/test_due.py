"""When an agent is due (spec/agents.md, "When an agent is due")."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents_doubles import DAY, NOON, definition
from hedgerow.agents.run import AgentRun, RunHistory, backoff_until, due, pause_reason

HOUR = 3600


def run_that(status: str, *, ago: int, **fields) -> AgentRun:
    at = NOON - ago
    ended = None if status == "started" else at
    run = AgentRun(
        7, "linker", "1" * 64, at, at + 180, ended, status,
        permanent=False, nodes=3, applied=0, rejected=0, error=None, tokens_in=0, tokens_out=0,
    )  # fmt: skip
    return replace(run, **fields)


def failed(times: int, ago: int, **fields) -> RunHistory:
    failure = run_that("failed", ago=ago, error="no answer", **fields)
    return RunHistory(failure, 0, times, failure)


NEVER = [None, None, None]


@pytest.mark.parametrize(
    ("case", "standing", "visits", "word"),
    [
        ("the query is empty", RunHistory(), [], "few"),
        ("none visited, no run in 24 h", RunHistory(), NEVER, "due"),
        ("all visited 2 h ago", RunHistory(), [NOON - 2 * HOUR] * 3, "visited"),
        (
            "one visited exactly 24 h ago, last ok run 25 h ago",
            RunHistory(run_that("ok", ago=25 * HOUR)),
            [NOON - DAY, NOON - HOUR, NOON - HOUR],
            "due",
        ),
        ("ok run 1 h ago", RunHistory(run_that("ok", ago=HOUR), ok_runs=1), NEVER, "budget"),
        ("failed 30 s ago", failed(1, 30), NEVER, "backoff"),
        ("failed 60 s ago", failed(1, 60), NEVER, "due"),
        ("second failure 119 s ago", failed(2, 119), NEVER, "backoff"),
        ("second failure 120 s ago", failed(2, 120), NEVER, "due"),
        ("fourth failure 8 min ago", failed(4, 480), NEVER, "due"),
        ("fifth failure", failed(5, 30 * DAY), NEVER, "paused"),
        ("failed for good", failed(1, 30 * DAY, permanent=True), NEVER, "paused"),
        ("under way", RunHistory(run_that("started", ago=60)), NEVER, "running"),
        ("one visited a second too late", RunHistory(), [NOON - DAY + 1], "visited"),
    ],
)
def test_the_rule(case, standing, visits, word):
    verdict = due(definition(), standing, NOON, lambda: visits)
    assert (verdict.word, verdict.due) == (word, word == "due"), case


def test_what_needs_no_look_at_the_nodes_is_said_without():
    def visits():
        raise AssertionError

    for fields, word in [({"enabled": False}, "disabled"), ({"period_s": None}, "on-demand")]:
        assert due(definition(**fields), RunHistory(), NOON, visits).word == word
    assert due(definition(), failed(5, 0), NOON, visits).word == "paused"


def test_min_results_and_budget_are_those_of_the_definition():
    assert due(definition(min_results=4), RunHistory(), NOON, lambda: NEVER).sentence == (
        "its query finds 3 nodes, and it needs 4"
    )
    twice = RunHistory(run_that("ok", ago=HOUR), ok_runs=2)
    assert due(definition(max_runs_per_period=3), twice, NOON, lambda: NEVER).due
    assert due(definition(max_runs_per_period=2), twice, NOON, lambda: NEVER).sentence == (
        "it has had all the runs of its period"
    )
    assert not due(definition(min_results=0), RunHistory(), NOON, list).due


def test_waits_double_up_to_an_hour():
    waits = [backoff_until(failed(times, 0)) for times in (1, 2, 3, 4, 6, 7, 90)]
    assert [at and at - NOON for at in waits] == [60, 120, 240, 480, 1920, 3600, 3600]
    assert backoff_until(RunHistory()) is None


def test_sentences_say_what_is_the_matter():
    assert pause_reason(failed(5, 0)) == "it failed 5 times in a row: no answer"
    assert (
        pause_reason(failed(1, 0, permanent=True)) == "its last run failed permanently: no answer"
    )
    assert pause_reason(failed(4, 0)) is None
    waiting = due(definition(), failed(1, 0), NOON, lambda: NEVER)
    assert waiting.sentence == "it failed and waits until 2001-09-09T01:47:40Z"
