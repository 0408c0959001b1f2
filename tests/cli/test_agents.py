"""`hedgerow agents`: list, run, resume, and a daemon in a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import command_line
import hedgerow as hr
from agents_doubles import chat_block, put_agent
from command_line import failed, ok
from hedgerow import _engine
from local_server import LocalServer, Reply
from waiting import LONGEST, until

ENVIRONMENT = {
    "HEDGEROW_MODEL_URL": "",
    "HEDGEROW_MODEL_KEY": "",
    "OPENAI_API_KEY": "",
    "NO_COLOR": "1",
    "COLUMNS": "200",
}

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture
def store_folder(tmp_path: Path) -> Path:
    """A folder with a store of two nodes and an agent."""
    with hr.Store.open(tmp_path / "memory.db") as store:
        store.upsert([hr.Node(key, content=f"about {key}") for key in "ab"])
    put_agent(tmp_path / "agents")
    return tmp_path


def run(
    store_folder: Path, *arguments: str, code: int = 0, env: dict[str, str] | None = None
) -> Any:
    command = ["agents", *arguments, "--db", str(store_folder / "memory.db")]
    result = command_line.run(*command, env=ENVIRONMENT | (env or {}))
    assert result.exit_code == code, result.output
    return result


def runs(store_folder: Path) -> list[str]:
    with hr.Store.open(store_folder / "memory.db") as store:
        found = _engine._agent_runs(store, "linker", int(time.time()), 99)
    return [run["status"] for run in reversed(found)]


def test_list_says_who_is_due_and_why_not(store_folder):
    put_agent(store_folder / "agents", "asked", schedule="on-demand")
    lines = run(store_folder, "list").stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["agent", "schedule", "state"],
        ["asked", "on-demand", "on-demand"],
        ["linker", "daily", "due"],
    ]
    assert "it only runs on demand" in lines[1]
    assert "never" in lines[2]
    [asked, linker] = json.loads(run(store_folder, "list", "--json").stdout)["agents"]
    assert (asked["name"], asked["state"], asked["last"]) == ("asked", "on-demand", None)
    assert linker["pipeline"] == "all | not-visited:linker,1d | sort:key"


def test_list_without_agents_and_with_problems(store_folder):
    (store_folder / "agents" / "linker.toml").write_text("schema = 2\n")
    result = run(store_folder, "list")
    assert result.stdout == f"No agents in {store_folder / 'agents'}.\n"
    assert f"{store_folder / 'agents' / 'linker.toml'}:1:" in result.stderr
    assert "linker.toml:1:" in run(store_folder, "run", "linker", code=1).stderr, (
        "before the missing key"
    )


def test_run_asks_the_server_and_shows_what_was_done(store_folder, server: LocalServer):
    server.answer = chat_block("LINK a b 0.5\nWEIGHT x 1\nFROB a")
    key = {"HEDGEROW_MODEL_URL": server.url, "HEDGEROW_MODEL_KEY": "sesame"}
    result = run(store_folder, "run", "linker", env=key)
    assert result.stdout == (
        "linker ok: run 1, 2 nodes, 1 applied, 2 rejected\n"
        "  yes LINK a b 0.5\n"
        "  no  WEIGHT x 1.0\n"
        '      there is no node "x"\n'
        "  no  FROB a\n"
        f"      {result.stdout.splitlines()[-1].strip()}\n"
    )
    [request] = server.requests
    assert request.headers["Authorization"] == "Bearer sesame"
    assert request.body["model"] == "small"
    assert "linker" in run(store_folder, "list").stdout
    server.answer = chat_block("NOTE again")
    as_json = run(store_folder, "run", "linker", "--json", "--model-url", server.url, code=0)
    assert json.loads(as_json.stdout)["status"] == "idle", "all was visited"


def test_a_failed_run_is_exit_code_1_and_can_be_resumed(store_folder, server: LocalServer):
    server.answer = lambda _: Reply({"error": {"message": "no such model"}}, 404)
    result = run(store_folder, "run", "linker", "--model-url", server.url, code=1)
    assert result.stdout.startswith("linker failed: ")
    assert "no such model" in result.stdout
    assert "paused" in run(store_folder, "list").stdout
    assert run(store_folder, "resume", "linker").stdout == "linker runs again when it is due.\n"
    assert " due " in run(store_folder, "list").stdout
    resumed = json.loads(run(store_folder, "resume", "linker", "--json").stdout)
    assert resumed == {"agent": "linker", "resumed": True}


def test_a_dry_run_shows_the_prompt_and_asks_only_when_told(store_folder, server: LocalServer):
    result = run(store_folder, "run", "linker", "--dry-run")
    assert "--- prompt\n" in result.stdout
    assert "about a" in result.stdout
    assert result.stdout.endswith(
        "Not asked; add --model-url to ask a model too. Nothing was stored.\n"
    )
    server.answer = chat_block("REFINE a\nshort\nand good\nEND_REFINE\nDELETE x")
    asked = run(store_folder, "run", "linker", "--dry-run", "--model-url", server.url)
    assert asked.stdout.endswith(
        "--- what would be done\n  yes REFINE a …\n  no  DELETE x\n"
        '      there is no node "x"\nNothing was stored.\n'
    )
    as_json = run(store_folder, "run", "linker", "--dry-run", "--json", "--model-url", server.url)
    assert json.loads(as_json.stdout)["actions"][1]["rejected"] == 'there is no node "x"'
    assert runs(store_folder) == []
    put_agent(store_folder / "agents", min_results=3)
    few = run(store_folder, "run", "linker", "--dry-run")
    assert few.stdout == "linker would not run: its query finds 2 nodes, too few.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "nobody", "--dry-run"], 1, "Error: there is no agent 'nobody'; there are: linker\n"),
        (["run", "linker"], 1, "OPENAI_API_KEY holds no key; set it, or pass api_key\n"),
        (["run", "nobody"], 1, "Error: there is no agent 'nobody'; there are: linker\n"),
        (["resume", "nobody"], 1, "Error: there is no agent 'nobody'; there are: linker\n"),
        (["list", "--agents", "none"], 1, "Error: there is no folder none; make it, or name the one"),
        (["daemon", "--tick", "0"], 2, "Invalid value for '--tick'"),
        (["frob"], 2, "No such command 'frob'"),
    ],
)  # fmt: skip
def test_wrong_use_is_reported(store_folder, arguments, code, message):
    assert message in run(store_folder, *arguments, code=code).stderr


def test_the_store_must_be_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "Missing option '--db' or '--root'" in failed(2, "agents", "list")
    put_agent(tmp_path / "agents")
    told = failed(1, "agents", "list", "--db", str(tmp_path / "none.db"))
    assert "there is no store at" in told
    assert not (tmp_path / "none.db").exists()


def test_check_is_one_of_the_commands(store_folder):
    listed = ok("agents", "--help")
    for name in ("check", "daemon", "list", "resume", "run"):
        assert f"\n  {name} " in listed
    assert ok("agents") == listed
    ok("agents", "check", str(store_folder / "agents"))


COMMAND = """
import logging
from hedgerow.agents import models
from hedgerow.cli import main
models.STOP_GRACE_S = {grace}
logging.basicConfig(level="INFO")
logging.getLogger("httpx").setLevel("WARNING")
main()
"""


@contextmanager
def daemon(
    store_folder: Path,
    server: LocalServer,
    *options: str,
    name: str = "daemon",
    grace: float = LONGEST,
) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a separate process with its log on stderr."""
    command = [sys.executable, "-c", COMMAND.format(grace=grace), "agents", name]
    process = subprocess.Popen(
        [*command, "--db", str(store_folder / "memory.db"), "--model-url", server.url, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT, "HEDGEROW_MODEL_URL": server.url},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def told_to_stop(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal, and wait until the process logs it."""
    process.send_signal(number)
    assert process.stderr is not None
    while (line := process.stderr.readline()) != f"INFO:hedgerow.agents:stopping: {number.name}\n":
        assert line, "it ended without a word of the signal"


@posix
def test_the_daemon_runs_what_is_due_and_stops_on_sigterm(store_folder, server: LocalServer):
    server.answer = chat_block("LINK a b")
    with daemon(store_folder, server, "--tick", "0.1", "--json") as process:
        assert process.stdout is not None
        done = json.loads(process.stdout.readline())
        assert (done["agent"], done["status"], done["run"]) == ("linker", "ok", 1)
        put_agent(store_folder / "agents", "late")
        assert json.loads(process.stdout.readline())["agent"] == "late", "a file came"
        (store_folder / "agents" / "bad.toml").write_text("schema = 2")
        assert process.stderr is not None
        assert "Watching 1 agent in" in process.stderr.readline()
        assert "bad.toml:1:" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=LONGEST)
    assert (process.returncode, out) == (0, "")
    assert error.endswith("Stopped.\n")


@posix
def test_told_to_stop_the_daemon_lets_a_model_finish_that_is_answering(
    store_folder, server: LocalServer
):
    server.answer = chat_block("LINK a b", held=True)
    with daemon(store_folder, server) as process:
        until(lambda: server.requests)
        told_to_stop(process, signal.SIGINT)
        server.release()
        out, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 0
    assert out.startswith("linker ok: run 1, 2 nodes, 1 applied")
    assert runs(store_folder) == ["ok"]


@posix
def test_told_to_stop_the_daemon_gives_up_a_model_that_hangs(store_folder, server: LocalServer):
    server.answer = chat_block("LINK a b", held=True)
    with daemon(store_folder, server, grace=0.3) as process:
        until(lambda: server.requests)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=LONGEST)
    assert (process.returncode, out) == (0, "linker stopped\n")
    assert runs(store_folder) == ["stopped"]
    with hr.Store.open(store_folder / "memory.db") as store:
        assert _engine._unclaimed(store, "all", int(time.time())).keys == ["a", "b"]


@posix
def test_a_second_signal_ends_the_daemon_at_once(store_folder, server: LocalServer):
    server.answer = chat_block("LINK a b", held=True)
    with daemon(store_folder, server) as process:
        until(lambda: server.requests)
        told_to_stop(process, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONGEST)
    assert process.returncode == 130
    assert runs(store_folder) == ["stopped"]


@posix
def test_a_run_by_hand_that_is_told_to_stop_leaves_nothing_claimed(
    store_folder, server: LocalServer
):
    server.answer = chat_block("LINK a b", held=True)
    with daemon(store_folder, server, "linker", name="run", grace=0.3) as process:
        until(lambda: server.requests)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=LONGEST)
    assert (process.returncode, out) == (130, "linker stopped\n")
    assert runs(store_folder) == ["stopped"]
