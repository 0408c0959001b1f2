"""Agents over time: ticks, backoff after failures, and serving until stopped."""

from __future__ import annotations

import logging
import threading

from agents_doubles import DAY, NOON, agents, block, garden, put_agent, states
from hedgerow import _engine
from hedgerow.agents import (
    FailingModel,
    ModelPermanent,
    ModelRequest,
    ModelTransient,
    serve,
)


def test_failures_back_off_and_pause_until_the_file_changes_or_it_is_resumed(agents_folder):
    path = put_agent(agents_folder)
    store = garden("ab")
    model = FailingModel()
    working = agents(store, agents_folder, model=model)
    now = NOON
    for wait in (60, 120, 240, 480):
        assert working.tick(now).report is not None
        assert states(working, now + wait - 1) == {"linker": "backoff"}
        assert working.tick(now + wait - 1).report is None
        now += wait
    working.tick(now)
    assert len(model.requests) == 5
    assert states(working, now + 30 * DAY) == {"linker": "paused"}
    working.resume("linker")
    assert states(working, now + 1) == {"linker": "due"}
    for _ in range(5):
        working.run("linker", now)
    [status] = working.statuses(now + DAY)
    assert status.verdict.word == "paused"
    assert status.verdict.sentence.startswith("it failed 5 times in a row: ")
    assert status.to_dict()["state"] == "paused"
    path.write_text(path.read_text().replace("timeout_s = 120", "timeout_s = 60"))
    assert states(working, now + 1) == {"linker": "paused"}, "not read yet"
    working.reload()
    assert states(working, now + 1) == {"linker": "due"}


def test_what_will_not_pass_by_itself_pauses_at_once(agents_folder):
    put_agent(agents_folder)
    store = garden("ab")
    working = agents(store, agents_folder, model=FailingModel(ModelPermanent("no such model")))
    working.tick(NOON)
    [status] = working.statuses(NOON + DAY)
    assert status.verdict.word == "paused"
    assert status.verdict.sentence == "its last run failed permanently: no such model"
    again = agents(store, agents_folder, "ok")
    assert states(again, NOON + DAY) == {"linker": "paused"}, "it survives a restart"
    assert again.run("linker", NOON + DAY).status == "ok", "by hand it may"
    assert states(again, NOON + 3 * DAY) == {"linker": "due"}


def test_ticks_take_turns_the_longest_waiting_first_and_then_by_name(agents_folder):
    for name in ("beta", "alpha", "gamma"):
        put_agent(agents_folder, name, schedule="hourly", pipeline="all")
    put_agent(agents_folder, "never", schedule="on-demand")
    store = garden("ab")
    working = agents(store, agents_folder, *["ok"] * 9)
    working.run("alpha", NOON - 2 * DAY)
    ran = []
    for tick in range(5):
        report = working.tick(NOON + tick).report
        ran.append(report and report.agent)
    assert ran == ["beta", "gamma", "alpha", None, None]
    assert states(working, NOON + 5)["never"] == "on-demand"
    later = [working.tick(NOON + 3600 + tick).report for tick in range(4)]
    assert [report and report.agent for report in later] == ["beta", "gamma", "alpha", None]


def test_several_batches_in_a_period(agents_folder):
    put_agent(agents_folder, max_runs=2, pipeline="all | sort:recency(linker) | limit:1")
    store = garden("abc")
    working = agents(store, agents_folder, *["ok"] * 9)
    for _ in range(4):
        working.tick(NOON)
    assert store.query("visited:linker | sort:key").keys == ["a", "b"]
    working.tick(NOON + DAY)
    assert store.query("visited:linker | sort:key").keys == ["a", "b", "c"]


def test_a_stop_gives_the_call_up_and_counts_for_nothing(agents_folder, monkeypatch):
    monkeypatch.setattr("hedgerow.agents.models.STOP_GRACE_S", 0.05)
    put_agent(agents_folder)
    store = garden("ab")
    forever = threading.Event()

    def answer(_: ModelRequest) -> str:
        working.stop()
        forever.wait(30)
        return "late"

    working = agents(store, agents_folder, answer)
    reports = []
    serve(working, on_tick=lambda tick: reports.append(tick.report))
    forever.set()
    assert [report and report.status for report in reports] == ["stopped"]
    [run] = working.history("linker")
    assert run.status == "stopped"
    assert states(working, NOON + 1) == {"linker": "due"}
    assert _engine._unclaimed(store, "all", NOON).keys == ["a", "b"]


def test_serving_waits_between_ticks_and_survives_a_store_that_fails(agents_folder, caplog):
    put_agent(agents_folder)
    store = garden("ab")
    working = agents(store, agents_folder, "ok")
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            store.close()
        if len(waits) == 4:
            working.stop()

    with caplog.at_level(logging.WARNING, "hedgerow"):
        serve(working, tick_s=7, sleep=sleep)
    assert waits == [7] * 4
    assert caplog.text.count("a tick failed and will be retried") == 2


def test_serving_logs_what_was_done(agents_folder, caplog):
    put_agent(agents_folder, "good")
    put_agent(agents_folder, "poor")
    working = agents(garden("ab"), agents_folder, block("WEIGHT a 1"), ModelTransient("busy"))
    (agents_folder / "bad.toml").write_text("schema = 2")
    with caplog.at_level(logging.INFO, "hedgerow"):
        serve(working, sleep=lambda _: working.stop())
    problem, *_, good, poor = (record.getMessage() for record in caplog.records)
    assert problem.startswith(f"{agents_folder / 'bad.toml'}:1:")
    assert good == "the agent good: ok, 1 actions applied"
    assert poor == "the agent poor failed: busy"
