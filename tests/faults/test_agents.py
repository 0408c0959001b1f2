"""Agents in concurrent processes, and in processes that are killed at any step."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from agents_doubles import NOON, agents, put_agent
from consistency import Claim, overlaps
from faults import Rounds, finish, killed, python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

KEYS = [f"node-{number:02}" for number in range(12)]

WORKER = """
import itertools, sys, time
import hedgerow as hr
from hedgerow.agents import Agents, ModelReply, fenced
path, folder, name, now = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
class Model:
    def complete(self, request):
        begin = time.monotonic_ns()
        keys = [line[5:] for line in request.prompt.splitlines() if line.startswith("key: ")]
        time.sleep(0.002)
        lines = [f"WEIGHT {key} 0.{count % 9}" for key in keys]
        lines += [f"WRITE_NODE sum-{name}-{now}-{count}", "COVERS: " + ", ".join(keys), "sum", "END_NODE"]
        print(name, begin, time.monotonic_ns(), *keys, flush=True)
        return ModelReply(fenced("\\n".join(lines), request.metadata["token"]))
with hr.Store.open(path) as store:
    agents = Agents(store, folder, Model(), clock=lambda: now)
    print("ready", flush=True)
    for count in itertools.count():
        if count == int(sys.argv[5]):
            break
        report = agents.run(name)
        if report.status == "failed":
            raise SystemExit(report.error)
"""


@pytest.fixture
def shared_folder(tmp_path: Path) -> Path:
    """A folder with a store and two agents, for several processes."""
    with hr.Store.open(tmp_path / "memory.db") as store:
        store.upsert([hr.Node(key, content="oak") for key in KEYS])
    for name in ("one", "two"):
        put_agent(
            tmp_path / "agents", name, pipeline=f"key:node-* | sort:recency({name}) | limit:3"
        )
    return tmp_path


def start(shared_folder: Path, name: str, now: int, runs: int = -1) -> subprocess.Popen[str]:
    path, folder = str(shared_folder / "memory.db"), str(shared_folder / "agents")
    return python("-c", WORKER, path, folder, name, now, runs)


def test_two_processes_never_work_on_the_same_nodes(shared_folder):
    workers = [start(shared_folder, name, NOON, 80) for name in ("one", "two")]
    claims = []
    for out in finish(*workers):
        for line in out.splitlines()[1:]:
            name, begin, end, *keys = line.split()
            claims.append(Claim(name, int(begin), int(end), frozenset(keys)))
    assert len(claims) > 80
    assert overlaps(claims) == []
    check_whole(shared_folder)


def test_two_processes_of_one_agent_take_turns(shared_folder):
    finish(*[start(shared_folder, "one", NOON, 40) for _ in range(2)])
    check_whole(shared_folder)


def test_a_killed_process_leaves_all_of_a_run_or_nothing(shared_folder, rounds: Rounds):
    for chance in rounds.at_least(25):
        worker = start(shared_folder, "one", NOON + rounds.done * 1000)
        assert killed(worker, chance, longest=0.15)[0] == "ready"
        if rounds.done % 5 == 4:
            check_whole(shared_folder)
    now = NOON + rounds.done * 1000
    with hr.Store.open(shared_folder / "memory.db") as store:
        again = agents(store, shared_folder / "agents", "ok", now=now)
        ended = {run.status for run in again.history("one", 1_000_000)}
        assert ended == {"ok", "failed"}, "of those that were killed the time is up"
        assert again.run("one").status == "ok", "and nothing is claimed for ever"
    check_whole(shared_folder)


def rows(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def check_whole(shared_folder: Path) -> None:
    """Check that every ok run is stored completely, and no other run at all."""
    connection = sqlite3.connect(shared_folder / "memory.db")
    ok = {run for (run,) in rows(connection, "SELECT id FROM agent_runs WHERE status = 'ok'")}
    others = rows(connection, "SELECT id, applied FROM agent_runs WHERE status <> 'ok'")
    assert all(applied == 0 for _, applied in others)
    visits = rows(
        connection, "SELECT run, count(*), count(DISTINCT outcome) FROM visits GROUP BY run"
    )
    assert {run for run, _, _ in visits} <= ok
    assert {(count, outcomes) for _, count, outcomes in visits} <= {(3, 1)}
    done = rows(connection, "SELECT run, action, reason FROM agent_actions ORDER BY run, place")
    assert {run for run, _, _ in done} <= ok
    assert {reason for _, _, reason in done} <= {None}
    asked = [json.loads(action) for _, action, _ in done]
    written = {action["key"] for action in asked if action["op"] == "write-node"}
    weights = {action["key"]: action["value"] for action in asked if action["op"] == "weight"}
    nodes = dict(rows(connection, "SELECT key, weight FROM nodes"))
    assert {key for key in nodes if key.startswith("sum-")} == written
    assert {key: nodes[key] for key in weights} == weights
    [(edges,)] = rows(connection, "SELECT count(*) FROM edges WHERE relation = 'derived'")
    assert edges == 3 * len(written)
    stray = (
        "SELECT count(*) FROM agent_claims WHERE run IN (SELECT id FROM agent_runs WHERE ended > 0)"
    )
    assert rows(connection, stray) == [(0,)]
    connection.close()
    with hr.Index.open(shared_folder / "memory.db") as index:
        assert index.check() == []
