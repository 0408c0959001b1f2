"""`hedgerow agents check`: every problem of every file, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

import command_line
from command_line import failed_as_json
from hedgerow import MemoryRoot, Store

GOOD = '[query]\npipeline = "all"\n[prompt]\ninline = "Look."\n[execution]\nmodel = "sonnet"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents").mkdir()
    return tmp_path / "agents"


def run(*args: str) -> Result:
    return command_line.run("agents", "check", *args)


def test_nothing_is_wrong(folder: Path) -> None:
    (folder / "linker.toml").write_text(GOOD)
    (folder / "weaver.toml").write_text(GOOD)
    result = run()
    assert (result.exit_code, result.stdout) == (0, "2 agents in agents: nothing is wrong.\n")
    result = run("agents", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "folder": "agents",
        "agents": ["linker", "weaver"],
        "problems": [],
    }


def test_every_problem_of_every_file(folder: Path) -> None:
    (folder / "linker.toml").write_text(GOOD)
    (folder / "a.toml").write_text(GOOD.replace('"all"', '"al"') + 'schedule = "dayly"\n')
    (folder / "b.toml").write_text(GOOD.replace('inline = "Look."', 'template = "b.md"'))
    (folder / "b.md").write_text("{{NODS}} \x1b[2J")
    (folder / "c.toml").write_text(f'name = "linker"\n{GOOD}')
    result = run(str(folder))
    assert result.exit_code == 1
    lines = result.stdout.replace(f"{folder}/", "").splitlines()
    assert lines == [
        'a.toml:2:13: there is no stage "al"; did you mean "all"?',
        'a.toml:7:12: "dayly" is not a schedule; write on-demand, hourly, daily, weekly, monthly, or '
        '"every 6h" with any duration; did you mean "daily"?',
        'b.md:1:1: there is no placeholder "NODS"; there are NODES, EPISODES, TARGETS, NEIGHBORS, '
        'TOPOLOGY, PAIRS, HEALTH, COUNT, NOW, AGENT_NAME, NODE:key; did you mean "NODES"?',
        'linker.toml:1:1: the name "linker" is also used by c.toml; change one of them',
        "4 problems; 1 agent can be used.",
    ]
    result = run("agents", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["agents"] == ["linker"]
    assert found["problems"][0] == {
        "file": "agents/a.toml",
        "line": 2,
        "column": 13,
        "message": 'there is no stage "al"',
        "suggestion": "all",
    }


def test_an_empty_folder_is_no_failure() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (
        0,
        "No agents in agents: an agent is a file NAME.toml there.\n",
    )


def test_what_is_shown_cannot_act_on_the_terminal(folder: Path) -> None:
    (folder / "a.toml").write_text('"\\u001b[2J" = 1\n' + GOOD)
    result = run()
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout


def test_no_folder_is_a_failure() -> None:
    assert failed_as_json(1, "agents", "check", "elsewhere") == {
        "code": "path_not_found",
        "message": "there is no folder elsewhere; name the one that has the agents",
    }


ABOUT_DECISIONS = GOOD.replace('"all"', '"all | type:decision"')


def test_types_are_those_of_a_store(folder: Path) -> None:
    (folder / "linker.toml").write_text(ABOUT_DECISIONS)
    result = run("agents")
    assert result.exit_code == 1
    assert 'agents/linker.toml:2:24: there is no type "decision"' in result.stdout
    Store.open("memory.db", types=["decision"]).close()
    result = run("--db", "memory.db")
    assert (result.exit_code, result.stdout) == (0, "1 agent in agents: nothing is wrong.\n")


def test_types_and_actions_are_those_of_a_root() -> None:
    MemoryRoot.init("memory")
    inside = Path("memory/agents")
    inside.mkdir()
    (inside / "linker.toml").write_text(ABOUT_DECISIONS)
    (inside / "weaver.toml").write_text(f'{GOOD}actions = ["delete"]\n')
    result = run("--root", "memory")
    assert result.exit_code == 1
    assert "weaver.toml:7:12: " in result.stdout
    assert "linker.toml" not in result.stdout
    # The nearest root counts where nothing is named.
    assert run().stdout == result.stdout
    assert run("agents").stdout == "No agents in agents: an agent is a file NAME.toml there.\n"
